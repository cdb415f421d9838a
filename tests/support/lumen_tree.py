"""A folder of this machine that takes a worker long to walk through, but not for seconds after a test has seen it."""

from __future__ import annotations

import functools
import itertools
import os

_ENTRIES = 40_000  # about a second of the offline playbook's walk


@functools.cache
def long_walk() -> str:
    """The first system folder with so many entries; /usr, which has most, where none has."""
    for path in ("/usr/share", "/usr/lib"):
        entries = (name for _, folders, names in os.walk(path) for name in (*folders, *names))
        if next(itertools.islice(entries, _ENTRIES, None), None) is not None:
            return path
    return "/usr"
