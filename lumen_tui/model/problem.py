"""What is wrong with a file or a process, as a person is shown it."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True):
    """Something unreadable or out of order, named so that a person can find and fix it."""

    where: str  # a path below the state folder, with `:line` where known
    what: str
    hint: str = ""
