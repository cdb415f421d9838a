"""What the watch sees of processes where it is no root: of some the kernel shows nothing."""

from __future__ import annotations

import codecs
import ctypes
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable

import pytest

from lumen_tui.tools.sandbox import disks, limits, usage

NOBODY = 65534
_DUMPABLE = 4  # PR_SET_DUMPABLE


def told(look: Callable[[int], object], live: Callable[[], object]) -> str:
    """What an ordinary user's `look` gives for a child of his that runs `live` and has ended, or waits."""
    codecs.lookup("ascii")  # who is nobody may not be able to load it any more
    reading, writing = os.pipe()
    if not (above := os.fork()):
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                ctypes.CDLL(None).prctl(_DUMPABLE, 1)
            os.write(writing, repr(_of_a_child(look, live)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(above, 0)
    return said


def _of_a_child(look: Callable[[int], object], live: Callable[[], object]) -> object:
    ready, begun = os.pipe()
    if not (child := os.fork()):
        os.write(begun, b"y")
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # what other tests left open would be the child's
        live()
        time.sleep(60)
    os.read(ready, 1)
    try:
        return look(child)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _end() -> None:
    os._exit(0)


def _end_first_thread() -> None:
    import _thread

    _thread.start_new_thread(time.sleep, (60,))
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)


def _hide() -> None:
    ctypes.CDLL(None).prctl(_DUMPABLE, 0)


def _paths(pid: int) -> list[str]:
    """Asked until it says the same of an end twice: a process ends, and hides, step by step."""
    before = None
    for _ in range(100):
        found = [one.path for one in usage.open_files([pid])]
        if found == before and (not found or found == [usage.OUT_OF_SIGHT]):
            break
        before = found
        time.sleep(0.02)
    return found


def test_what_has_ended_and_nobody_asked_for_keeps_nothing_out_of_sight():
    assert told(_paths, _end) == "[]"
    assert told(_paths, _hide) == repr([usage.OUT_OF_SIGHT])


def test_what_a_process_has_open_whose_first_thread_has_ended_is_seen():
    def of_threads(pid: int) -> bool:
        for _ in range(100):
            if "Z" in usage.read_lines(f"/proc/{pid}/stat")[0].rpartition(")")[2]:
                return usage.OUT_OF_SIGHT not in _paths(pid) != []
            time.sleep(0.02)
        return False

    assert told(of_threads, _end_first_thread) == "True"


@pytest.mark.parametrize("live", [_end, time.thread_time])
def test_a_whole_look_finds_no_fault_with_it(live):
    def look(pid: int) -> list[str]:
        watch = limits.ResourceWatch(limits.Caps(), ["/tmp"])
        return [watch.check([pid]) for _ in range(20) if not time.sleep(0.02)]

    assert told(look, live) == repr([""] * 20)


def test_what_stands_in_a_folder_that_was_closed_is_guessed():
    def counted(_: int) -> tuple[list[bool], int]:
        top = tempfile.mkdtemp(dir="/tmp")
        new = disks.NewFiles([top], ())
        found = []
        for few, name in ((True, "few"), (False, "many"), (True, "nested")):
            os.makedirs(f"{top}/{name}/sub" if name == "nested" else f"{top}/{name}")
            for number in range(3 if few else 3000):
                os.close(os.open(f"{top}/{name}/{number}", os.O_CREAT))
            os.chmod(f"{top}/{name}", 0)
            tally = new.advance(hurry=True)
            while not new.is_through:
                tally = new.advance(hurry=True)
            found.append(tally.files > 3000)
            os.chmod(f"{top}/{name}", 0o700)
            closed = tally.closed
            shutil.rmtree(f"{top}/{name}")
        os.rmdir(top)
        return found, closed

    assert told(counted, time.thread_time) == repr(([False, True, False], 1))


def test_children_that_are_left_uncollected_end_no_command(machine):
    """For root as for everybody else."""
    result = machine.run("@py@ 'import os,time; os.fork() or os._exit(0); time.sleep(1); print(\"works\")'")
    assert result.text == "works\n"


@pytest.mark.threat("S15", "an engine that is not the one; processes with a number used again")
def test_numbers_of_processes_that_are_used_again_are_other_processes():
    seen = usage.ResourceUsage()
    seen.sample([os.getpid()])
    before = seen.seconds
    seen.sample([os.getpid()])
    assert 0 <= seen.seconds - before < 5
