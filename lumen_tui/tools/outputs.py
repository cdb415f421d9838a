"""What of a result is handed on, and where the whole of it can be read."""

from __future__ import annotations

import msgspec

from lumen_tui.model.text import safe
from lumen_tui.storage import directories, files
from lumen_tui.tools.base import Context, ToolResult, size_text

FOLDER = "outputs"  # in the task's folder
MAX_TEXT = 60_000  # bytes of one result that are handed on
_MOST_KEPT = 50 * 1024 * 1024  # bytes of one task
_MOST_FILES = 1000


class Outputs:
    """Cuts results to size and keeps the whole of what was cut."""

    def __init__(self, context: Context, most_bytes: int) -> None:
        self._context = context
        self._left = max(0, most_bytes)

    def limit(self, result: ToolResult) -> ToolResult:
        """The result redacted, safe and cut to what may still be handed on; says how much was cut, and where it is."""
        whole = self._context.redact(safe(result.text))
        encoded = whole.encode("utf-8", "replace")
        allowed = min(MAX_TEXT, self._left)
        cut = max(0, len(encoded) - allowed)
        self._left -= len(encoded) - cut
        if not cut:
            return msgspec.structs.replace(result, text=whole)
        text = encoded[:allowed].decode("utf-8", "ignore")
        text += f"\n[cut: {cut:,} bytes ({size_text(cut)}) left out; {self._where(encoded, allowed)}]"
        return msgspec.structs.replace(result, text=text, truncated=result.truncated + cut)

    def _where(self, encoded: bytes, shown: int) -> str:
        """Where the rest can be read, once it is there."""
        memo = self._context.memo
        if not self._left:
            return "the output of this task is used up: write the result"
        if memo.outputs >= _MOST_FILES or memo.output_bytes + len(encoded) > _MOST_KEPT:
            return "ask for less at a time"
        name = f"{FOLDER}/{memo.outputs + 1}.txt"
        with self._context.guard():
            directories.make_folder(self._context.folder / FOLDER)
            files.replace(self._context.folder / name, encoded)
        memo.outputs += 1
        memo.output_bytes += len(encoded)
        return f"the whole is in {name}: read_file it with offset={shown}"
