"""What tools return, cut to the size that is handed on; what is more, and what is no text, is kept as files."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.model.digests import openssl_sha256
from lumen_tui.model.media import Media, is_name, most_bytes, named
from lumen_tui.model.text import safe
from lumen_tui.storage import directories, files
from lumen_tui.tools.base import Context, ToolResult, size_text

OUTPUTS = "outputs"  # in the task's folder
_MAX_TEXT = 60_000  # bytes of one result that are handed on
_MOST_STORED = 50 * 1024 * 1024  # bytes of one task
_MOST_FILES = 1000


class Outputs:
    """Cuts results to size and stores the whole of what was cut."""

    def __init__(self, context: Context, most_bytes: int) -> None:
        self._context = context
        self._left = max(0, most_bytes)

    def limit(self, result: ToolResult) -> ToolResult:
        """Return the result redacted, safe and cut to size; a note says how much was cut and where it is."""
        whole = self._context.redact(safe(result.text))
        encoded = whole.encode("utf-8", "replace")
        allowed = min(_MAX_TEXT, self._left)
        cut = max(0, len(encoded) - allowed)
        self._left -= len(encoded) - cut
        if not cut:
            return msgspec.structs.replace(result, text=whole)
        text = encoded[:allowed].decode("utf-8", "ignore")
        text += f"\n[cut: {cut:,} bytes ({size_text(cut)}) left out; {self._where(encoded, allowed)}]"
        return msgspec.structs.replace(result, text=text, truncated=result.truncated + cut)

    def _where(self, encoded: bytes, shown: int) -> str:
        """Store the whole text and say where it can be read."""
        if not self._left:
            return "the output of this task is used up: write the result"
        if name := self.store(encoded):
            return f"the whole is in {name}: read_file it with byte_offset={shown}"
        return "ask for less at a time"

    def store(self, encoded: bytes) -> str:
        """Store a text that is redacted and return its name in the task's folder; empty where there is no room."""
        return keep(self._context, encoded, "txt")


def keep_media(context: Context, data: bytes, media: Media) -> Media:
    """Keep an image or a PDF once, however often it is read, and return it with its name; without one: no room."""
    stored = msgspec.structs.replace(media, name=named(media, openssl_sha256(data).hexdigest()))
    if load_media(context.folder, stored) is not None:
        return stored
    if context.memo.output_bytes + len(data) > _MOST_STORED:
        return media
    with context.guard():
        directories.make_folder(context.folder / OUTPUTS)
        files.replace(context.folder / stored.name, data)
    context.memo.output_bytes += len(data)
    return stored


def load_media(folder: Path, media: Media) -> bytes | None:
    """Return the bytes of an image or a PDF; None where they are gone, or are others than they were."""
    if not is_name(media.name):
        return None
    try:
        data = files.read(folder / media.name, most_bytes(media.type))
    except (files.StoreError, OSError):
        return None
    return data if data is not None and named(media, openssl_sha256(data).hexdigest()) == media.name else None


def keep(context: Context, data: bytes, ending: str) -> str:
    """Keep bytes as a file of the task and return its name in the task's folder; empty where there is no room."""
    memo = context.memo
    if memo.outputs >= _MOST_FILES or memo.output_bytes + len(data) > _MOST_STORED:
        return ""
    name = f"{OUTPUTS}/{memo.outputs + 1}.{ending}"
    with context.guard():
        directories.make_folder(context.folder / OUTPUTS)
        files.replace(context.folder / name, data)
    memo.outputs += 1
    memo.output_bytes += len(data)
    return name
