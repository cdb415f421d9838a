"""system: the machine itself: kernel, name, processors, memory, load, uptime, ports, versions of programs."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Generator

from lumen_tui.providers.base import Reply, Step
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    output_of,
    size,
    text_of,
)
from lumen_tui.providers.offline.vocabulary import words

_PROGRAMS = {  # how each tells its version
    "python": "python3 --version", "python3": "python3 --version", "git": "git --version", "bash": "bash --version",
    "node": "node --version", "nodejs": "node --version", "npm": "npm --version", "perl": "perl --version",
    "ruby": "ruby --version", "php": "php --version", "java": "java -version", "go": "go version",
    "golang": "go version", "rust": "rustc --version", "rustc": "rustc --version", "cargo": "cargo --version",
    "gcc": "gcc --version", "clang": "clang --version", "make": "make --version", "cmake": "cmake --version",
    "docker": "docker --version", "nginx": "nginx -v", "apache": "apache2 -v", "openssl": "openssl version",
    "ssh": "ssh -V", "openssh": "ssh -V", "curl": "curl --version", "wget": "wget --version", "pip": "pip --version",
    "tmux": "tmux -V", "vim": "vim --version", "psql": "psql --version", "postgres": "psql --version",
    "postgresql": "psql --version", "mysql": "mysql --version", "sqlite": "sqlite3 --version",
    "sqlite3": "sqlite3 --version", "redis": "redis-server --version", "systemd": "systemctl --version",
    "rsync": "rsync --version", "tar": "tar --version", "sed": "sed --version", "awk": "awk --version",
    "jq": "jq --version", "ripgrep": "rg --version", "uv": "uv --version", "terraform": "terraform --version",
    "kubectl": "kubectl version --client", "helm": "helm version", "ansible": "ansible --version",
}  # fmt: skip
_TOPICS = (
    ("kernel", words("kernel uname")),
    ("hostname", words("hostname")),
    ("uptime", words("uptime rebooted booted")),
    ("processors", words("cpu cpus cores processors processor core")),
    ("memory", words("memory ram swap mem")),
    ("load", words("load")),
    ("distribution", words("os distro distribution ubuntu debian operating linux")),
    ("ports", words("port ports")),
    ("listening", words("listening listens listen")),
    ("version", words("version versions")),
)
_LISTENING = "0A"
_ANY_STATE = ("tcp", "tcp6"), ("udp", "udp6")


def _fields(ask: Asked) -> Fields | None:
    if ask.paths or ask.quoted:
        return None
    topics = [name for name, group in _TOPICS if set(ask.words) & group]
    if not topics and ask.has("up") and ask.has("long"):
        topics = ["uptime"]
    programs = [word for word in ask.words if word in _PROGRAMS and word != "make"]
    if programs and (topics == ["version"] or (not topics and ask.has("installed", "have"))):
        command = {_PROGRAMS[word] for word in programs}
        return {"view": "version", "subject": programs[0]} if len(command) == 1 else None
    if "ports" in topics or "listening" in topics:
        about = ask.has(
            "listening", "listens", "listen", "open", "use", "used", "using", "taken", "busy", "occupied", "free"
        )
        ports = [number for number in ask.numbers if number < 65536]
        if not about or len(ports) != len(ask.numbers) or ask.words[0] in ("open", "listen", "use", "free"):
            return None
        return {"view": "ports", "patterns": tuple(str(port) for port in ports)}
    topics = [name for name in topics if name != "version"] if set(topics) & {"kernel", "distribution"} else topics
    if len(topics) == 2 and "distribution" in topics and ask.has("linux"):
        topics.remove("distribution")
    if len(topics) != 1 or topics[0] in ("version", "ports") or ask.numbers:
        return None
    if ask.has("used", "use", "using", "usage", "busy", "taken", "occupied", "open") and topics[0] != "memory":
        return None
    return {"view": topics[0]}


def system(plan: PlaybookPlan) -> Play:
    """Report one fact of this machine."""
    return (yield from _PLAYS[plan.view](plan))


def _kernel(plan: PlaybookPlan) -> Play:
    output = (yield from output_of("uname -srm")).strip()
    return PlaybookReport("The kernel", f"The kernel is {code(output)} (system, release, machine).")


def _hostname(plan: PlaybookPlan) -> Play:
    name = (yield from text_of("/proc/sys/kernel/hostname")).strip()
    return PlaybookReport("The name of this machine", f"It is called {code(name)}.")


def _uptime(plan: PlaybookPlan) -> Play:
    seconds = float((yield from text_of("/proc/uptime")).split()[0])
    since = dt.datetime.fromtimestamp(time.time() - seconds)
    body = f"Up for **{_span(seconds)}**, since {since:%Y-%m-%d %H:%M}."
    return PlaybookReport("Uptime", body)


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    days, hours = minutes // 1440, minutes // 60 % 24
    return f"{days} days {hours} h {minutes % 60} min" if days else f"{hours} h {minutes % 60} min"


def _processors(plan: PlaybookPlan) -> Play:
    data = (yield from call("grep", path="/proc/cpuinfo", pattern=r"^processor\s*:", limit=1)).data
    usable = (yield from output_of("nproc")).strip()
    body = (
        f"**{data['matches']}** processors (cores or threads, as the kernel counts them); {line(usable)} may be used."
    )
    return PlaybookReport("Processors", body)


def _memory(plan: PlaybookPlan) -> Play:
    text = yield from text_of("/proc/meminfo")
    kib = {match[1]: int(match[2]) * 1024 for match in re.finditer(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    total, free, available = kib["MemTotal"], kib["MemFree"], kib.get("MemAvailable", kib["MemFree"])
    swap = f" Swap: {size(kib['SwapFree'])} free of {size(kib['SwapTotal'])}." if kib.get("SwapTotal") else " No swap."
    body = f"**{size(available)}** are available of {size(total)}, {size(total - available)} are in use; "
    body += f"{size(free)} are not used for anything, not even as a cache.{swap}"
    return PlaybookReport("Memory", body)


def _load(plan: PlaybookPlan) -> Play:
    load1, load5, load15, *_ = (yield from text_of("/proc/loadavg")).split()
    return PlaybookReport("Load", f"Load average: **{load1}** (1 minute), {load5} (5 minutes), {load15} (15 minutes).")


def _distribution(plan: PlaybookPlan) -> Play:
    match = re.search(r'^PRETTY_NAME="?(.+?)"?$', (yield from text_of("/etc/os-release")), re.MULTILINE)
    if match is None:
        raise PlaybookFailed("/etc/os-release does not name the distribution")
    return PlaybookReport("The distribution", f"It is {code(match[1])}.")


def _sockets() -> Generator[Step, Reply | None, list[tuple[str, int]]]:
    """Return what listens on TCP, and what is bound to on UDP: protocol and port."""
    sockets: list[tuple[str, int]] = []
    for name in ("tcp", "tcp6", "udp", "udp6"):
        text = yield from text_of(f"/proc/net/{name}")
        for row in text.splitlines()[1:]:
            local, remote, state = row.split()[1:4]
            bound = state == _LISTENING if name.startswith("tcp") else remote.endswith(":0000")
            sockets += [(name[:3].upper(), int(local.rsplit(":", 1)[1], 16))] * bound
    return sorted(set(sockets), key=lambda pair: (pair[1], pair[0]))


def _ports(plan: PlaybookPlan) -> Play:
    sockets = yield from _sockets()
    if not plan.patterns:
        shown = ", ".join(f"{port} ({protocol})" for protocol, port in sockets)
        return PlaybookReport(
            "Open ports", f"**{len(sockets)}** ports are listened on: {shown}." if sockets else "None is."
        )
    answers = []
    for port in plan.patterns:
        protocols = [protocol for protocol, number in sockets if number == int(port)]
        answers.append(
            f"Yes: port {port} is in use ({', '.join(protocols)}; by which program, a worker does not see)."
            if protocols
            else f"No: nothing listens on port {port}, TCP or UDP."
        )
    return PlaybookReport("Ports", "\n".join(answers))


def _version(plan: PlaybookPlan) -> Play:
    command = _PROGRAMS[plan.subject]
    program = command.split()[0]
    output = yield from output_of(f"command -v {program} && {command} 2>&1 | head -n 3 || echo absent")
    rows = [row for row in output.splitlines() if row.strip()]
    if len(rows) < 2 or rows[0] == "absent":
        return PlaybookReport(
            f"The version of {program}", f"No program called {code(program)} is found by a worker's command."
        )
    return PlaybookReport(
        f"The version of {program}", f"{code(rows[1])}, at {code(rows[0])}: what a worker's command finds."
    )


_PLAYS: dict[str, Callable[[PlaybookPlan], Play]] = {
    "kernel": _kernel, "hostname": _hostname, "uptime": _uptime, "processors": _processors, "memory": _memory,
    "load": _load, "distribution": _distribution, "ports": _ports, "listening": _ports, "version": _version,
}  # fmt: skip
SYSTEM = PlaybookKind(
    "system",
    "kernel, memory, load, uptime, ports and versions of programs of this machine",
    (frozenset().union(*(group for _, group in _TOPICS)) | {"installed", "have", "up"},),
    words(
        "kernel uname hostname name uptime up long running booted rebooted last since cpu cpus cores processors "
        "processor core memory ram swap mem load average os distro distribution ubuntu debian operating linux "
        "port ports listening listens listen open version versions installed much many number free left available "
        "total used use using taken busy occupied anything something process release run runs high big nothing by "
        "kind type physical current"
    )
    | frozenset(_PROGRAMS),
    system,
    _fields,
    words("figure"),
    anywhere=True,
)
