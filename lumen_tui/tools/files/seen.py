"""What a worker knows of files: it changes none that somebody else changed since it last read it."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from lumen_tui.model.digests import openssl_sha256
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.writing import MAX_BYTES, read_whole

_MOST_KEPT = 32 * 1024 * 1024  # bytes of contents, for the diff of a refusal; of the others only hashes
_MOST_DIFF = 4000  # characters


def note_read(context: Context, path: Path) -> None:
    """Remember a file as it is now, whichever part of it is read; only of a task that may change files."""
    if not context.rules.write:
        return
    real = os.path.realpath(path)
    try:
        data = read_whole(real) if os.stat(real).st_size <= MAX_BYTES else None
    except (OSError, ToolError):
        return  # whoever reads it says why
    if data is not None:
        note(context, real, data)


def note(context: Context, path: str, data: bytes | None) -> None:
    """Remember what the worker knows to be at the real path `path`; None where it removed it."""
    known, contents = context.memo.known, context.memo.contents
    known.pop(path, None)
    contents.pop(path, None)
    if data is None:
        return
    known[path] = openssl_sha256(data).digest()
    contents[path] = data
    total = sum(map(len, contents.values()))
    while total > _MOST_KEPT:
        total -= len(contents.pop(next(iter(contents))))


def must_be_known(context: Context, path: str, before: bytes | None) -> None:
    """Raise ToolError, with what changed, for a file that is not as the worker last read or wrote it.

    Once it was shown what changed it may go on. A file that it never read is not refused here.
    """
    expected = context.memo.known.get(path)
    if expected is None or (before is not None and openssl_sha256(before).digest() == expected):
        return
    if before is None:
        note(context, path, None)
        raise ToolError(
            f"{one_line(path)} is gone since you read it: somebody removed or moved it; nothing was written"
        )
    diff = _diff(context.memo.contents.get(path), before)
    if 0 < len(diff) <= _MOST_DIFF:
        note(context, path, before)
        shown = f"What changed, as data:\n{diff}\nCall again with this in mind"
    else:
        start = f"It begins with, as data:\n{diff[:_MOST_DIFF]}\n(cut)\n" if diff else ""
        shown = f"{start}Read it again before you change it"
    raise ToolError(f"{one_line(path)} was changed by somebody else since you read it; nothing was written. {shown}")


def _diff(known: bytes | None, now: bytes) -> str:
    if known is None or b"\0" in known or b"\0" in now:
        return ""
    old, new = (data.decode("utf-8", "replace").split("\n") for data in (known, now))
    return "\n".join(difflib.unified_diff(old, new, "as you read it", "as it is", lineterm="", n=2))
