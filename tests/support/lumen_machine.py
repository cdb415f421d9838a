"""What this machine has of what tests can do without: the sandbox tier, and programs that let more of them run."""

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

from lumen_tui.engine.sandboxing import sentence_on
from lumen_tui.model.config import SandboxConfig
from lumen_tui.tools.sandbox import tiers

# What a person would install, and what is tested only with it.
OPTIONAL = {
    "bwrap": "the sandbox tier bubblewrap", "strace": "kills at each system call", "cc": "torn writes",
    "tmux": "the room in tmux", "sshd": "the room over SSH", "uv": "set-up and wheels with uv",
    "claude": "the real Claude Code",
}  # fmt: skip


Test = TypeVar("Test", bound=Callable[..., Any])
TIERS = ("bubblewrap", "landlock")
DRAWN = "drawn"


def on_a_tier(test: Test) -> Test:
    """Mark a sweep each of whose points starts a sandbox: each runs on one tier that holds here; `make sweeps`: all."""
    tiers_of_it = TIERS if lumen_sweeps.FULL else [DRAWN]
    return pytest.mark.sweep(pytest.mark.parametrize("machine", tiers_of_it, indirect=True)(test))


@functools.cache
def choice() -> tiers.TierChoice:
    """The tier that commands of workers get here, tested as the engine does, once per process."""
    with tempfile.TemporaryDirectory(prefix="lumen-tier-") as index:
        settings = SandboxConfig()
        return tiers.choose(settings, tiers.test_all(Path(index), os.environ.get("PATH", os.defpath), settings))


def told() -> list[str]:
    """The machine in lines for whoever reads what the tests came to."""
    there = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    named = {"claude": os.environ.get("LUMEN_CLAUDE") or "claude"}
    missing = [
        f"{name} ({what})" for name, what in OPTIONAL.items() if not shutil.which(named.get(name, name), path=there)
    ]
    tier = choice()
    return [f"sandbox tier: {tier.tier} ({sentence_on(tier)})", f"not installed: {', '.join(missing) or 'nothing'}"]
