"""Chooses the sandbox tier: the strongest that a probe inside showed to hold, within the operator's settings."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files, locks, process
from lumen_tui.tools.sandbox import bubblewrap, landlock, limits, probe, sandboxed_command
from lumen_tui.tools.sandbox.policy import Policy

if TYPE_CHECKING:
    from lumen_tui.model.config import SandboxConfig

FOLDER = "sandbox-test"  # below index/
_SECONDS = 20.0
_MODE = "change the mode of a file outside"
_KEY = b"not a real key\n"


class TierTest(Struct, frozen=True):
    """The result of one tier's self-test; `reason` says why the tier does not hold."""

    tier: str
    holds: bool
    reason: str = msgspec.field(default="", name="why")
    tried: tuple[str, ...] = ()
    through: tuple[str, ...] = ()  # of these, the attempts that succeeded


class _ProbeReport(Struct, frozen=True):
    tried: tuple[str, ...]
    through: tuple[str, ...]
    broken: str  # what must work and did not


def test(tier: str, index: Path, path: str) -> TierTest:
    """Test one tier in the folder `index`, with the programs on the PATH `path`. A failure is a result, no error."""
    if missing := _missing(tier, path):
        return TierTest(tier, holds=False, reason=missing)
    try:
        directories.make_folder(index / FOLDER)
        # One at a time: a second test in the same folder would meet the sockets of the first.
        with locks.waiting_lock(index / FOLDER / "lock"), _targets(index / FOLDER) as order:
            answer = _run(tier, order, path)
            seen = _evidence(Path(order["outside"]))
    except (files.StoreError, OSError, ValueError, subprocess.SubprocessError) as error:
        return TierTest(tier, holds=False, reason=f"the test could not be made: {one_line(str(error), 200)}")
    try:
        report = msgspec.json.decode(b"{" + answer.rpartition(b"\n{")[2], type=_ProbeReport)
    except msgspec.DecodeError:
        return TierTest(
            tier, holds=False, reason=one_line(answer.decode("utf-8", "replace"), 200) or "it gave no answer"
        )
    through = [name for name in report.through if not name.startswith(("write", _MODE))] + seen
    if through:
        reason = f"got through: {', '.join(through)}"
        return TierTest(tier, holds=False, reason=reason, tried=report.tried, through=tuple(through))
    if report.broken:
        return TierTest(
            tier, holds=False, reason=f"in a granted folder {one_line(report.broken, 200)}", tried=report.tried
        )
    return TierTest(tier, holds=True, tried=report.tried)


def _evidence(outside: Path) -> list[str]:
    """Return what the probe changed outside: a write may have succeeded in a private file system only."""
    written = ["write outside"] if outside.read_bytes() != _KEY else []
    return [*written, *([_MODE] if stat.S_IMODE(outside.stat().st_mode) != 0o600 else [])]


def _missing(tier: str, path: str) -> str:
    if tier == sandboxed_command.BUBBLEWRAP and not bubblewrap.program(path):
        return "bubblewrap is not installed (Debian, Ubuntu, Fedora, Arch: the package `bubblewrap`)"
    if tier == sandboxed_command.LANDLOCK and (version := landlock.abi()) < landlock.LEAST_ABI:
        has = f"has version {version} of it" if version else "has none"
        return f"this kernel {has}; version {landlock.LEAST_ABI} is needed (Linux 6.12)"
    return ""


@contextlib.contextmanager
def _targets(folder: Path) -> Iterator[probe.ProbeTargets]:
    """Make the files and sockets that the probe attacks, and yield its order."""
    folder = Path(os.path.realpath(folder))
    inside, secret, outside = folder / "inside", folder / "secret", folder / "outside"
    directories.make_folder(inside)
    directories.make_folder(secret)
    files.replace(secret / "key", _KEY)
    files.replace(outside, _KEY)
    paths = [inside / "made", inside / "link", inside / "setuid", folder / "service", folder / "log"]
    name = f"lumen-{os.getpid()}-{os.urandom(4).hex()}"
    with contextlib.ExitStack() as resources:
        for path in paths:
            directories.remove(path)
            resources.callback(directories.remove, path)
        port = resources.enter_context(contextlib.closing(socket.create_server(("127.0.0.1", 0))))
        abstract = resources.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)))
        abstract.bind("\0" + name)
        abstract.listen()
        for path, kind in ((folder / "service", socket.SOCK_STREAM), (folder / "log", socket.SOCK_DGRAM)):
            resources.enter_context(contextlib.closing(_service(path, kind)))
        yield {
            "folder": str(folder),
            "inside": str(inside),
            "outside": str(outside),
            "secret": str(secret / "key"),
            "abstract": name,
            "tcp": port.getsockname()[1],
            "pid": os.getpid(),
            "start": _start_ticks(),
        }


def _service(path: Path, kind: socket.SocketKind) -> socket.socket:
    """Return a UNIX socket bound at a path of any length, through a descriptor of its folder."""
    service = socket.socket(socket.AF_UNIX, kind)
    above = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
    try:
        service.bind(f"/proc/self/fd/{above}/{path.name}")
        if kind == socket.SOCK_STREAM:
            service.listen()
    except OSError:
        service.close()
        raise
    finally:
        os.close(above)
    return service


def _start_ticks() -> str:
    with open("/proc/self/stat", encoding="ascii", errors="replace") as stream:
        return stream.read().rpartition(")")[2].split()[19]


def _run(tier: str, order: probe.ProbeTargets, path: str) -> bytes:
    """Run the probe in the sandbox of a tier and return its output."""
    import inspect  # 4 ms, where nearly always what an earlier probe found is kept

    policy = Policy(writable=(order["inside"],), hidden=(os.path.dirname(order["secret"]),), scratch=order["inside"])
    argv = [sys.executable, "-I", "-S", "-c", inspect.getsource(probe), json.dumps(order)]
    command = sandboxed_command.start(
        tier,
        policy,
        argv,
        order["inside"],
        {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        out, _ = command.child.communicate(timeout=_SECONDS)
        sandboxed = command.began_sandboxed()
    finally:
        if command.child.returncode is None:
            limits.end([command.child.pid])
            command.child.wait()
        command.close()
    if not sandboxed:
        raise OSError(out.decode("utf-8", "replace").strip() or "the sandbox was not in place")
    return b"\n" + out


RESULTS = "sandbox.json"  # below index/: the last results, tested again on another machine
REFUSED = "refused"  # no tier that the operator wants works: no command is run
_UNREADABLE = (
    "no command is run: something under [sandbox] in the settings cannot be read; `lumen-tui doctor` names its line "
    "and what to write"
)


class SelfTestResults(Struct, frozen=True):
    """The results of the self-tests, and the machine they are valid for."""

    machine: str
    tested: tuple[TierTest, ...] = ()

    def holds(self, tier: str) -> bool:
        """Return whether that tier passed."""
        return any(test.tier == tier and test.holds for test in self.tested)

    def reason(self, tier: str) -> str:
        """Return why that tier does not hold."""
        return next((test.reason for test in self.tested if test.tier == tier), "not tested")


class TierChoice(Struct, frozen=True):
    """The tier in force, or REFUSED; with the reason where it is not the strongest."""

    tier: str
    reason: str = ""


def choose(settings: SandboxConfig, results: SelfTestResults) -> TierChoice:
    """Return the tier in force, never a weaker one than the settings require."""
    if settings.require not in ("", *sandboxed_command.TIERS):
        return TierChoice(REFUSED, _UNREADABLE)
    candidates = sandboxed_command.TIERS if settings.tier == "auto" else (settings.tier,)
    allowed = (
        sandboxed_command.TIERS[: sandboxed_command.TIERS.index(settings.require) + 1]
        if settings.require
        else sandboxed_command.TIERS
    )
    failed: list[str] = []
    for tier in candidates:
        if tier not in allowed:
            continue
        if tier == sandboxed_command.ASK or results.holds(tier):
            return TierChoice(tier, "; ".join(failed))
        failed.append(f"{tier} does not hold here: {results.reason(tier)}")
    setting = f"require = {settings.require!r}" if settings.require else f"tier = {settings.tier!r}"
    reason = "; ".join(failed) or f"tier = {settings.tier!r} is weaker than that"
    return TierChoice(
        REFUSED, f"no command is run: [sandbox] {setting} is not to be had ({reason}). See `lumen-tui doctor --sandbox`"
    )


def test_all(index: Path, path: str, settings: SandboxConfig) -> SelfTestResults:
    """Test the tiers that may be used, and store the results for the workers."""
    candidates = (
        (sandboxed_command.BUBBLEWRAP, sandboxed_command.LANDLOCK) if settings.tier == "auto" else (settings.tier,)
    )
    tested = [test(tier, index, path) for tier in candidates if tier != sandboxed_command.ASK]
    results = SelfTestResults(_machine(path), tuple(tested))
    data = msgspec.json.encode(results)
    try:
        if files.read(index / RESULTS) != data:
            files.replace(index / RESULTS, data)
    except files.StoreError:
        pass  # a copy for the workers; without it they test themselves
    return results


def current_results(index: Path, path: str, settings: SandboxConfig) -> SelfTestResults:
    """Return the stored results where they are valid, else test now."""
    return stored_results(index, path, settings) or test_all(index, path, settings)


def stored_results(index: Path, path: str, settings: SandboxConfig) -> SelfTestResults | None:
    """Return the stored results; None where they are of another machine or lack a tier that is needed."""
    try:
        results = msgspec.json.decode(files.read(index / RESULTS) or b"", type=SelfTestResults)
    except (*UNDECODABLE, files.StoreError, OSError):
        return None
    tested = {test.tier for test in results.tested} | {sandboxed_command.ASK}
    wanted = {*sandboxed_command.TIERS} if settings.tier == "auto" else {settings.tier}
    if results.machine == _machine(path) and wanted <= tested:
        return results
    return None


def _machine(path: str) -> str:
    """Return what the results depend on: this boot, user, and these programs."""
    parts = [
        process.boot_id(),
        str(os.getuid()),
        *map(_stamp, (shutil.which("bwrap", path=path) or "", sys.executable, __file__)),
    ]
    return " ".join(parts)


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_ino}.{status.st_mtime_ns}.{status.st_size}"
