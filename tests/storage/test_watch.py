"""The room's wait for changes: woken by what changes, and done when it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lumen_tui.storage import watch
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.watch import Notices

pytestmark = pytest.mark.usefixtures("inotify")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(tmp_path)
    found.create()
    return found


def test_what_changes_wakes_and_what_is_written_aside_does_not(layout: Layout, monkeypatch) -> None:
    monkeypatch.setattr(watch, "CALM", 5.0)
    changes = [
        lambda: (layout.root / ".aside").write_bytes(b"x"),  # the first to tell of the two is the other
        lambda: layout.memory.write_bytes(b"{}\n"),
        lambda: layout.memory.rename(layout.root / "gone"),
        lambda: (layout.approvals / "one").mkdir(),
    ]
    stop = threading.Event()
    waiting = watch.wait_for_changes(layout, stop, lambda: False)
    threading.Timer(0.2, changes[0]).start()
    threading.Timer(0.6, changes[1]).start()
    begun = time.monotonic()
    next(waiting)
    assert 0.5 < time.monotonic() - begun < 4
    for change in changes[2:]:
        threading.Timer(0.2, change).start()
        begun = time.monotonic()
        next(waiting)
        assert time.monotonic() - begun < 4
    stop.set()
    assert list(waiting) == []


def test_no_other_way_is_begun_once_it_is_stopped(layout: Layout, monkeypatch) -> None:
    begun = []

    def other(*_: object) -> Iterator[None]:
        begun.append("watchfiles")
        yield

    monkeypatch.setattr(watch, "_by_watchfiles", other)
    stop = threading.Event()
    waiting = watch.wait_for_changes(layout, stop, lambda: True)
    next(waiting)
    stop.set()
    assert (list(waiting), begun) == ([], [])


def test_a_folder_that_is_not_there_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="inotify_add_watch"):
        Notices([tmp_path, tmp_path / "none"])
    assert os.listdir("/proc/self/fd") == before


BARE = """
import itertools, sys, threading
from pathlib import Path
from lumen_tui.storage import watch
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.watch import Notices
try:
    Notices([Path("/")])
except OSError as error:
    print(error)
print(len(list(itertools.islice(watch.wait_for_changes(Layout(Path(sys.argv[1])), threading.Event(), bool), 3))))
"""


@pytest.mark.parametrize("kind", ["instances", "watches"])
def test_where_no_notices_are_to_be_had_it_looks_at_intervals(layout: Layout, kind: str) -> None:
    """In a user namespace that may have none, as where other programs hold all of them."""
    script = f'echo 0 >/proc/sys/user/max_inotify_{kind} && exec "$0" "$@"'
    argv = ["unshare", "-Ur", "sh", "-c", script, sys.executable, "-c", BARE, str(layout.root)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in done.stderr or "max_inotify" in done.stderr:
        pytest.skip(f"no user namespace with limits of its own: {done.stderr.strip()}")
    assert "inotify" in done.stdout.splitlines()[0], done.stdout + done.stderr
    assert done.stdout.splitlines()[1] == "3"


def test_watchfiles_is_not_loaded_where_inotify_answers(tmp_path: Path) -> None:
    script = """
import sys, threading
from pathlib import Path
from lumen_tui.storage import watch
from lumen_tui.storage.layout import Layout

layout, stop = Layout(Path(sys.argv[1])), threading.Event()
layout.create()
waiting = watch.wait_for_changes(layout, stop, lambda: True)
next(waiting)
print("lumen_tui.storage.watch" in sys.modules, "watchfiles" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout == "True False\n", ran.stderr
