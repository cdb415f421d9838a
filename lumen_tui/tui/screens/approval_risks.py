"""What is risky about a call, in words, and the sandbox that it would run in."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from lumen_tui.model import lookalikes
from lumen_tui.model.approvals import BROUGHT, COMMANDS, Approval, whole_call
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.roles import REQUEST_HOST
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import BETWEEN, ToolServer, parts_of
from lumen_tui.tools.files.opening import is_below

_NAMES = {"bubblewrap": "bubblewrap", "landlock": "Landlock"}
_NONE = {
    "": "unknown: no engine has reported its sandbox",
    "ask": "none: the command can do anything you can",
    "refused": "none that is strong enough, so no command runs",
}
_CONTENT = frozenset(
    {"text", "content", "old_string", "new_string", "new_memory", "patch"}
)  # arguments that are never a path
_WORD = r"(?:^|[\s;&|(`'\"/])(?:{})(?=$|[\s;&|)`'\"])"
_REMOVES = lazy_re(
    _WORD.format("rm|rmdir|unlink|shred|truncate|mkfs[.\\w]*|dd|wipefs|killall|pkill|kill|shutdown|reboot")
    + r"|\s-delete\b|\bgit\s+(?:clean|reset)\b|\bdrop\s+(?:table|database)\b|\s--(?:force|hard|purge)\b",
    re.I,
)
_NETWORK = lazy_re(
    _WORD.format(
        "curl|wget|ssh|scp|sftp|rsync|ftp|nc|ncat|netcat|telnet|socat|pip3?|pipx|uv|npm|npx|yarn|pnpm|cargo|apt|apt-get"
        "|dnf|apk|docker|podman|kubectl|gh|aws|gcloud|terraform"
    )
    + r"|\bgit\s+(?:push|pull|fetch|clone|remote)\b|[a-z]+://|/dev/(?:tcp|udp)/",
    re.I,
)
_RIGHTS = lazy_re(_WORD.format("sudo|su|doas|chmod|chown|crontab|systemctl|mount|umount|setfacl"), re.I)
_OUTSIDE = lazy_re(r"(?:^|[\s=<>'\"(`:])(?:/(?!dev/null\b)|~|\$\{?HOME|\.\.(?:/|$|\s))")
_RISKS = (
    (_REMOVES, "it may remove something or end a process"),
    (_NETWORK, "it may reach the network"),
    (_RIGHTS, "it may change permissions or the system"),
)
_OUT = "it reaches outside the task's own files, and outside the folders that its role may change"
_FILE_GONE = lazy_re(r"^(?:\+\+\+ /dev/null|deleted file mode)", re.M)


# What a command does beside what `_RISKS` says.
_SPECIAL = (
    (
        lazy_re(r"\bgit\s+push\b[^\n;&|]*?(?:\s--force|\s--mirror|\s--delete|\s-f\b|\s\+\S)"),
        "rewrites history on a remote",
    ),
    (
        lazy_re(r"\bgit\s+(?:rebase|filter-branch|filter-repo|reset\s+--hard|commit\s[^\n;&|]*--amend)"),
        "rewrites history here",
    ),
    (lazy_re(r"\bgit\s+push\b"), "sends commits to a remote"),
    (lazy_re(r"\b(?:scp|rsync|sftp)\b[^\n;&|]*\s\S+:"), "copies files to or from another machine"),
)
_SENDS = lazy_re(
    r"\b(?:curl|wget)\b[^\n;|&]*?\s(?:-d|--data|-F|--form|-T|--upload-file|--post-|--body-|-X\s*(?:POST|PUT|PATCH|DELETE))",
)
_HOST = lazy_re(r"[a-z]+://(?:[^/\s@'\"]*@)?([\w.\-]+)", re.I)
_PLAIN = lazy_re(r"[\w. -]+")
_JOINS = frozenset({";", "&&", "||", "|", "&", "|&"})
_TO_NETWORK = "it may reach the network"
_MOST_HOSTS = 5
_LONGEST = 80  # characters of a word that a worker wrote


class SandboxView(NamedTuple):
    """The sandbox around a worker's commands: the tier in force, empty where it is unknown, and its role's network.

    `roots` are the folders that the operator gave the role to change. `program` says that the tool is a program of the
    operator's own, `server` whose tool it is.
    """

    tier: str = ""
    network: bool = True
    roots: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # that its commands reach where they have no network
    program: bool = False
    server: ToolServer | None = None

    @property
    def active(self) -> bool:
        """Whether there is one."""
        return self.tier in _NAMES

    def words(self, tool: str) -> str:
        """Return one line for the page of a question."""
        if tool.startswith(BROUGHT):
            return "that of Claude Code, with the network open: its server is a program of your own set-up"
        if self.server and self.server.url:
            return "none: the call goes over the network, and its server can do anything with it"
        if tool not in COMMANDS and not self.program and not self.server:
            return "no command runs: the tool keeps to what its role may read and change"
        if not self.active:
            return _NONE.get(self.tier, _NONE[""])
        inside = f"{_NAMES[self.tier]}, {self._network_words()}"
        return f"its server runs in {inside}" if self.server else inside

    def _network_words(self) -> str:
        if self.hosts and not self.network and self.tier == "bubblewrap":
            return f"reaching {one_line(', '.join(self.hosts), 120)} alone"
        return "with the network open to this role" if self.network else "without network"


def sandbox_of(request: Approval, snapshot: Snapshot) -> SandboxView:
    """Return the sandbox as the engine and the role have it; a role that is not known may have the network."""
    beat = snapshot.engine.heartbeat
    role = next((role for role in snapshot.roles if role.name == request.role), None)
    roots = snapshot.config.sandbox.granted(role.writable) if role and role.changes_files else ()
    server = snapshot.config.mcp.servers.get(parts_of(request.tool)[0]) if BETWEEN in request.tool else None
    network = (role.network if role else True) and (server is None or server.network)
    hosts = role.command_hosts if role and server is None else ()
    own = role is not None and request.tool in role.custom_tools
    return SandboxView(beat.sandbox if beat else "", network, roots, hosts, own, server)


NO_SANDBOX = SandboxView()


def high(request: Approval, sandbox: SandboxView = NO_SANDBOX) -> str:
    """Return why a yes to this call wants a second key (network, outside its roots, delete), or the empty string.

    It goes by words, so it may ask once too often. What it misses still needs its one yes.
    """
    return ", ".join(filter(None, (_kind(request, sandbox), lookalikes.WORDS if _disguised(request) else "")))


def _disguised(request: Approval) -> bool:
    """Return whether its worker told of letters that are not what they look like."""
    return lookalikes.WORDS in request.risk


def _kind(request: Approval, sandbox: SandboxView) -> str:
    """Return the risk of a call of its kind."""
    if request.tool in COMMANDS:
        return _of_command(whole_call(request), request.folder, sandbox)
    if request.tool in ("web_fetch", REQUEST_HOST) or request.tool.startswith(BROUGHT):
        return "it reaches the network"
    if BETWEEN in request.tool:
        return _of_server(sandbox.server)
    if _FILE_GONE.search(request.diff) or _FILE_GONE.search(str(request.arguments.get("patch", ""))):
        return "it removes a file"
    if any(_leaves(value, sandbox.roots) for name, value in request.arguments.items() if name not in _CONTENT):
        return _OUT
    return "its risk is marked as high" if "risky" in request.risk else ""


def _of_server(server: ToolServer | None) -> str:
    """Return the risk of a call of an MCP tool, by what the operator said of its server; paths are up to that."""
    if server is None:
        return "nothing is known of its server"
    risks = ["it reaches the network"] if server.url or server.network else []
    return ", ".join([*risks, *(["it may change something"] if server.writes else [])])


def _of_command(command: str, folder: str, sandbox: SandboxView) -> str:
    """Return the risk of a command: one in a sandbox changes nothing outside its roots, and may have no network."""
    shut = sandbox.active and not (sandbox.network or sandbox.hosts)
    risks = [risk for pattern, risk in _RISKS if pattern.search(command) and not (shut and pattern is _NETWORK)]
    if _OUTSIDE.search(command) or _leaves(folder, sandbox.roots if sandbox.active else ()):
        risks.append("it may reach outside the task's own files")
    return ", ".join(risks)


def _leaves(value: object, roots: Sequence[str]) -> bool:
    """Return whether an argument is a path neither within the task's own files nor below one of the roots."""
    if not isinstance(value, str) or len(value) >= 4096 or not re.match(r"/|~|(?:.*/)?\.\.(?:/|$)", value):
        return False
    return not any(_below(value, root) for root in roots)


def _below(path: str, root: str) -> bool:
    """By words: the tool itself follows links, and refuses what they lead out to."""
    place, top = (os.path.normpath(os.path.expanduser(text)) for text in (path, root))
    return os.path.isabs(place) and os.path.isabs(top) and is_below(place, top)


def reasons(request: Approval, sandbox: SandboxView = NO_SANDBOX) -> list[str]:
    """Return in words what is risky about a call: all that `high` goes by, and how far a rule would not reach."""
    general = high(request, sandbox)
    if request.tool not in COMMANDS:
        return [general] if general else []
    command = whole_call(request)
    special = [words for pattern, words in _SPECIAL if pattern.search(command)]
    hosts = ", ".join(dict.fromkeys(_HOST.findall(command)[:_MOST_HOSTS]))
    if hosts:
        special.append(f"{'sends data to' if _SENDS.search(command) else 'reaches'} {hosts[:_LONGEST]}")
    named = [_named(risk, command) for risk in general.split(", ") if general]
    count = commands_in(command)
    many = [f"{count} commands in one line: a rule for the first does not cover the others"] if count > 1 else []
    return [*special, *(risk for risk in named if not (special and risk.startswith(_TO_NETWORK))), *many]


def _named(risk: str, command: str) -> str:
    """Return a risk with the word of the command that it goes by."""
    pattern = next((pattern for pattern, words in _RISKS if words == risk), None)
    match = pattern.search(command) if pattern else None
    word = "".join(_PLAIN.findall(match.group())).strip() if match else ""
    return f"{risk} ({word[:_LONGEST]})" if word else risk


def commands_in(command: str) -> int:
    """Return how many commands a line holds; what cannot be taken apart counts as several where it joins anything."""
    count = 0
    for part in command.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(part, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            tokens = list(lexer)
        except ValueError:
            return 2
        count += bool(tokens) + sum(token in _JOINS for token in tokens)
    return count


def fails_here(request: Approval, sandbox: SandboxView) -> str:
    """Return why the sandbox makes the call fail whatever is answered; empty where nothing says so."""
    if request.tool not in COMMANDS or not sandbox.active or sandbox.network:
        return ""
    command = whole_call(request)
    if not sandbox.hosts:
        match = _NETWORK.search(command)
        word = "".join(_PLAIN.findall(match.group())) if match else ""
        return f"the network is off: {word[:_LONGEST]} fails here" if word else ""
    barred = [host for host in dict.fromkeys(_HOST.findall(command)) if host not in sandbox.hosts]
    return f"its role may not reach {', '.join(barred)[:_LONGEST]}: that fails here" if barred else ""
