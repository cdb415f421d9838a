"""What tests use where the machine has it: the sandbox tier, and programs that let more tests run."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import lumen_sweeps
import pytest

from lumen_tui.engine.sandbox_tier import sentence_on
from lumen_tui.model.config import SandboxConfig
from lumen_tui.tools.sandbox import tiers

# Programs to install, and what is tested only with them.
OPTIONAL = {
    "bwrap": "the sandbox tier bubblewrap", "strace": "kills at each system call", "cc": "torn writes",
    "tmux": "the room in tmux", "sshd": "the room over SSH", "uv": "set-up and wheels with uv",
    "claude": "the real Claude Code",
}  # fmt: skip


Test = TypeVar("Test", bound=Callable[..., Any])
TIERS = ("bubblewrap", "landlock")
DRAWN = "drawn"


def on_a_tier(test: Test) -> Test:
    """Mark a sweep whose points start a sandbox: each runs on one tier that works here, with `make sweeps` on all."""
    tiers_of_it = TIERS if lumen_sweeps.FULL else [DRAWN]
    marked: Test = pytest.mark.sweep(pytest.mark.parametrize("machine", tiers_of_it, indirect=True)(test))
    return marked


@functools.cache
def choice() -> tiers.TierChoice:
    """Return the sandbox tier that workers get here, tested as the engine does, once per process."""
    with tempfile.TemporaryDirectory(prefix="lumen-tier-") as index:
        settings = SandboxConfig()
        return tiers.choose(settings, tiers.test_all(Path(index), os.environ.get("PATH", os.defpath), settings))


@functools.cache
def holding() -> tuple[str, ...]:
    """Return the tiers that hold here, tested as the engine does, once per process."""
    with tempfile.TemporaryDirectory(prefix="lumen-tier-") as index:
        path = os.environ.get("PATH", os.defpath)
        tested = tiers.test_all(Path(index), path, SandboxConfig()).tested
        return tuple(one.tier for one in tested if one.holds)


def claude() -> str:
    """Return the path of the real Claude Code, empty where it is not installed."""
    return shutil.which(os.environ.get("LUMEN_CLAUDE") or "claude") or ""


def summary() -> list[str]:
    """Return lines on the machine for the summary of a test run."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    programs = {"claude": os.environ.get("LUMEN_CLAUDE") or "claude"}
    missing = [
        f"{name} ({purpose})"
        for name, purpose in OPTIONAL.items()
        if not shutil.which(programs.get(name, name), path=path)
    ]
    tier = choice()
    return [f"sandbox tier: {tier.tier} ({sentence_on(tier)})", f"not installed: {', '.join(missing) or 'nothing'}"]
