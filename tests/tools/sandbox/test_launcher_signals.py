"""The launcher's `kill(-1)` is meant for what it started: nothing may bring it about before signals are kept in."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# A TERM comes right before the protection from signals is up. `_end_all` only tells, so that no fault can do harm here.
EARLY = """
import os, signal, sys
from lumen_tui.tools.sandbox import launcher

told, keep_in = [], launcher._only_below

def only_below(parent):
    os.kill(os.getpid(), signal.SIGTERM)
    told.append("TERM")
    keep_in(parent)
    told.append("kept in")

def end_all(*, unsandboxed):
    print(*told, "ends all", flush=True)

launcher._only_below, launcher._end_all, launcher._child = only_below, end_all, lambda order, command: os._exit(0)
launcher.main(sys.argv[1:])
"""
# Where the kernel would let a signal out, nothing is started.
OPEN = """
import sys
from lumen_tui.tools.sandbox import launcher

launcher._SIGNALS = 1  # keeps in connections instead
launcher._end_all = lambda *, unsandboxed: print("ends all", flush=True)
launcher._child = lambda order, command: print("started", flush=True)
launcher.main(sys.argv[1:])
"""


def launched(script: str) -> subprocess.CompletedProcess[str]:
    reading, status = os.pipe()
    order = {"unsandboxed": False, "parent": os.getpid(), "status": status, "writable": [], "protected": []}
    try:
        return subprocess.run(
            [sys.executable, "-c", script, json.dumps(order), "true"], pass_fds=(status,), capture_output=True,
            text=True, timeout=30, start_new_session=True, check=False,
        )  # fmt: skip
    finally:
        os.close(reading)
        os.close(status)


@pytest.fixture(autouse=True)
def _kernel(results):
    if not results.holds("landlock"):
        pytest.skip(f"landlock: {results.reason('landlock')}")


def test_a_term_waits_until_signals_are_kept_in():
    done = launched(EARLY)
    assert done.stdout.splitlines()[:1] == ["TERM kept in ends all"], done.stderr
    assert done.returncode in (0, 128 + 15)


def test_nothing_is_started_where_signals_get_out():
    done = launched(OPEN)
    assert (done.returncode, done.stdout) == (1, "")
    assert "signals are not kept in" in done.stderr
