"""Where the system keeps something from the second tier: its test says what, and no command waits for good."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from lumen_tui.tools.sandbox import chmod_broker

X86 = os.uname().machine == "x86_64"
SECCOMP, CHMOD, TIMES = (317, (90, 91, 268, 452), (280,)) if X86 else (277, (52, 53, 452), (88,))
# A filter like that of a container: the calls in argv[2:] are refused, or, where there is none, somebody listens.
SCRIPT = """
import ctypes, os, struct, sys
from pathlib import Path
from lumen_tui.tools.sandbox import tiers

numbers = [int(word) for word in sys.argv[2:]]
lines = [struct.pack("<HBBI", 0x20, 0, 0, 0)]
for number in numbers:
    lines += [struct.pack("<HBBI", 0x15, 0, 1, number), struct.pack("<HBBI", 0x06, 0, 0, 0x50001)]
code = ctypes.create_string_buffer(b"".join([*lines, struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)]))
head = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(code)))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
set_to = libc.syscall(@seccomp@, 1, 0 if numbers else 8, head)
assert set_to >= 0, "no filter"
found = tiers.test("landlock", Path(sys.argv[1]), os.environ["PATH"])
print(found.holds, found.reason)
"""


@pytest.fixture(autouse=True)
def _kernel(results):
    if not results.holds("landlock"):
        pytest.skip(f"landlock: {results.reason('landlock')}")


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        ((438,), "pidfd_getfd: Operation not permitted (kernel.yama.ptrace_scope above 1, or a container's own filter"),
        ((434,), "nobody watches over the modes of files"), ((SECCOMP,), "takes no filter that asks: Operation not"),
        ((), "takes no filter that asks: Device or resource busy"),
        (CHMOD, "in a granted folder the mode of a file cannot be set (Operation not permitted)"),
        (TIMES, "in a granted folder the time of a file cannot be set (Operation not permitted)"),
    ],
)  # fmt: skip
def test_the_second_tier_is_refused_with_what_is_missing(tmp_path, refused, why):
    argv = [sys.executable, "-c", SCRIPT.replace("@seccomp@", str(SECCOMP)), str(tmp_path / "index")]
    done = subprocess.run([*argv, *map(str, refused)], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.startswith("False "), done.stdout + done.stderr
    assert why in done.stdout


def test_a_process_that_has_ended_is_not_read_for_ever(monkeypatch):
    answers = iter([b""] * 3)  # what older kernels say of one that is not collected yet
    monkeypatch.setattr(os, "pread", lambda *_: next(answers))
    assert error_of(lambda: chmod_broker._read_string(os.getpid(), 4096)) == errno.EFAULT


def test_who_can_answer_no_more_lets_go(monkeypatch):
    """With the listener open and nobody behind it, every command would wait for good."""
    broker = chmod_broker.ChmodBroker([], [])
    reading, listener = os.pipe()
    monkeypatch.setattr(chmod_broker, "_fetch_descriptor", lambda *_: listener)
    os.write(broker._child_out, b"9")
    one = threading.Thread(target=broker._serve, args=(os.getpid(),))
    one.start()
    one.join(10)
    assert os.read(broker._child_in, 9) == b"y"
    assert os.read(reading, 1) == b"", "the other side is closed"
    for fd in (broker._child_out, broker._child_in, reading):
        os.close(fd)


def test_errors_of_descriptors_and_addresses():
    """Asked in the command's place, and answered as the kernel does."""
    broker = chmod_broker.ChmodBroker([], [])
    name = ctypes.create_string_buffer(b"file")
    own = os.getpid()
    assert error_of(lambda: broker._open_target(own, 1 << 20, None, 0)) == errno.EBADF
    assert error_of(lambda: broker._open_target(own, 1 << 20, ctypes.addressof(name), 0)) == errno.EBADF
    assert error_of(lambda: broker._open_target(own, -100, 0, 0)) == errno.EFAULT
    for fd in (broker._launcher_in, broker._child_out, broker._child_in, broker._launcher_out):
        os.close(fd)


def error_of(act: Callable[[], object]) -> int | None:
    try:
        act()
    except OSError as error:
        return error.errno
    return None
