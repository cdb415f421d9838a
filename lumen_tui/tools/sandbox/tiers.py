"""Chooses the sandbox tier: the strongest that passed its self-test, within the operator's settings."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.config import SandboxConfig
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import files
from lumen_tui.tools.sandbox import sandboxed_command, selftest
from lumen_tui.tools.sandbox.selftest import TierTest

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
    tested = [selftest.test(tier, index, path) for tier in candidates if tier != sandboxed_command.ASK]
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
        _boot(),
        str(os.getuid()),
        *map(_stamp, (shutil.which("bwrap", path=path) or "", sys.executable, __file__)),
    ]
    return " ".join(parts)


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return boot.read().strip()
    except OSError:
        return ""


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_ino}.{status.st_mtime_ns}.{status.st_size}"
