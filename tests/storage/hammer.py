"""The program that the store's tests start, kill and start again: one verb, then its words.

It runs under `python -S`: what a test waits for is the store, not the start of an interpreter.
An acknowledged id is written to standard output at once, the way a person would be told.
"""

import os
import resource
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]
sys.path.append(os.environ["HAMMER_SITE"])

from lumen_tui.storage import files  # noqa: E402


def say(text: str) -> None:
    """An acknowledgement; never buffered."""
    os.write(1, f"{text}\n".encode())


def record(name: str) -> bytes:
    return b'{"id":"%s","text":"%s"}\n' % (name.encode(), b"x" * 40)


def append(path: str, prefix: str, count: str = "1000000000") -> None:
    """`count` durable appends, each acknowledged."""
    for number in range(int(count)):
        name = f"{prefix}-{number}"
        files.append(path, record(name))
        say(name)


def rewrite(path: str) -> None:
    """Rewrites without an end, keeping every line."""
    from lumen_tui.storage.journal import Journal

    while True:
        Journal(Path(path)).rewrite(lambda lines: lines)
        say("rewritten")


def step(verb: str, path: str) -> None:
    """One operation between two marks that a trace finds again (getppid is called nowhere else)."""
    from lumen_tui.storage.journal import Journal

    journal = Journal(Path(path))
    os.getppid()
    if verb == "append":
        files.append(path, record("new-1"))
        say("new-1")
        files.append(path, record("new-2"))
        say("new-2")
    elif verb == "replace":
        files.replace(path, b"new " * 5000)
        say("new")
    else:
        journal.rewrite(lambda lines: [line for line in lines if b"gone" not in line])
        say("rewritten")
    os.getppid()


def follow(path: str) -> None:
    """Follow a journal to its end; tell how many lines came and how much memory that took, in MiB."""
    from lumen_tui.storage.journal import Follower

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    follower = Follower(Path(path))
    lines = 0
    while True:
        _, data = follower.poll(1024 * 1024)
        if not data:
            break
        lines += data.count(b"\n")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    say(f"{lines} {len(follower.overlong)} {grown // 1024}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
