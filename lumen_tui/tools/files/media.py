"""read_file of an image or a PDF: its bytes are kept once with the task, and go to the model from there."""

from __future__ import annotations

import os

from lumen_tui.model import media
from lumen_tui.model.media import BadMedia
from lumen_tui.tools.base import Context, ToolError, ToolResult
from lumen_tui.tools.outputs import keep_media


def media_type(fd: int) -> str:
    """Return the media type that the content of a file says; empty for any other. ToolError for what none takes."""
    try:
        return media.type_of(os.pread(fd, media.HEAD, 0))
    except BadMedia as error:
        raise ToolError(f"this is {error}") from error


def read_media(context: Context, fd: int, kind: str, path: str) -> ToolResult:
    """Return an image or a PDF for the model; the descriptor is closed. ToolError where it is beyond the limits."""
    most = media.most_bytes(kind)
    with os.fdopen(fd, "rb") as stream:
        data = stream.read(most + 1)
    try:
        attachment = media.inspect(kind, data)
    except BadMedia as error:
        raise ToolError(f"this is {error}") from error
    stored = keep_media(context, data, attachment)
    facts = {
        "path": path,
        "type": kind,
        "bytes": attachment.size,
        "width": attachment.width,
        "height": attachment.height,
    }
    unseen = "" if stored.name else "; it cannot be shown, as the files of this task are used up"
    text = f"{attachment.words}, {attachment.size:,} bytes{unseen}"
    return ToolResult(text, data=facts, summary=attachment.words, media=() if unseen else (stored,))
