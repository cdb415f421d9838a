"""A worker that is killed in the middle of a command leaves nothing of it behind, at whatever moment that comes."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from lumen_until import until


def alive(mark: str, session: int) -> list[str]:
    """Living processes with `mark` in their command line, or of a session: what guards a command names no mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text(errors="replace")
            state, _, _, belongs = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if state not in "ZX" and (mark in words or belongs == str(session)):
            found.append(words.replace("\0", " ")[:200])
    return found


@pytest.mark.threat("S12", "processes that outlive their command or its limits")
@pytest.mark.parametrize("tier", ["bubblewrap", "landlock", "ask"])
def test_nothing_lives_on_once_its_worker_was_killed(tier, results, tmp_path):
    if tier != "ask" and not results.holds(tier):
        pytest.skip(f"{tier}: {results.reason(tier)}")
    mark = str(time.monotonic_ns())[-9:]
    script = Path(__file__).with_name("killed_in_the_middle.py")
    words = [sys.executable, str(script), tier, str(tmp_path), mark]
    with subprocess.Popen(words, start_new_session=True) as rounds:
        assert rounds.wait(60) == 0
    left = partial(alive, f"600.{mark}", rounds.pid)
    until(lambda: not left(), left)
