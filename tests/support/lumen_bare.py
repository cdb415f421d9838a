"""Run a command as on a machine that lacks some programs, or Landlock.

    python tests/support/lumen_bare.py --without bwrap --without strace --no-landlock -- .venv/bin/pytest

The program looks for others on PATH and asks the kernel for Landlock. Here PATH is a folder of links to every program
but those, and the kernel answers as one without Landlock does. Nothing in the program itself is changed.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

_LANDLOCK = (444, 445, 446)  # landlock_create_ruleset, _add_rule and _restrict_self; the same on every processor
_ENOSYS, _ALLOW, _ERRNO = 38, 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # classic BPF
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2


def main(words: list[str]) -> int:
    """Run the command after `--` and return its exit code."""
    options, command = _parsed(words)
    with tempfile.TemporaryDirectory(prefix="lumen-bare-") as folder:
        path = links(Path(folder), os.environ.get("PATH", os.defpath), options.without)
        child = subprocess.Popen(
            command, env={**os.environ, "PATH": path}, preexec_fn=forbid_landlock if options.no_landlock else None
        )
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the command as well
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        return child.wait()


def _parsed(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", action="append", default=[], metavar="PROGRAM")
    parser.add_argument("--no-landlock", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(words)
    return options, options.command


def links(folder: Path, path: str, without: list[str]) -> str:
    """Fill `folder` with links to every program of `path` but `without`; return it as a PATH."""
    for place in filter(os.path.isdir, path.split(os.pathsep)):
        for name in sorted(os.listdir(place)):
            if name not in without and not os.path.lexists(folder / name):
                os.symlink(os.path.join(place, name), folder / name)
    return str(folder)


def forbid_landlock() -> None:
    """Let the kernel answer from here on, in all children too, as one without Landlock. Raise OSError."""
    lines = [struct.pack("<HBBI", _LOAD, 0, 0, 0)]
    for number in _LANDLOCK:
        lines += [struct.pack("<HBBI", _EQUAL, 0, 1, number), struct.pack("<HBBI", _RETURN, 0, 0, _ERRNO | _ENOSYS)]
    code = ctypes.create_string_buffer(b"".join([*lines, struct.pack("<HBBI", _RETURN, 0, 0, _ALLOW)]))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(code)))
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or kernel.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, head):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
