"""What a call of an MCP tool returned, as a model gets it: text; images and other bytes as files of the task."""

from __future__ import annotations

import base64
import binascii

import msgspec

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, ToolResult, plural, size_text
from lumen_tui.tools.mcp.messages import Message
from lumen_tui.tools.outputs import keep

_MOST_FILE = 10 * 1024 * 1024  # bytes
_MOST_PARTS = 1000
_BEGINNINGS = {  # of the kinds that keep their ending: what a server calls an image may be anything
    b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp", b"%PDF-": "pdf",
}  # fmt: skip


def tool_result(context: Context, result: Message) -> ToolResult:
    """Return the result for the model. It is data: cut, made safe and masked like that of any tool."""
    content = result.get("content")
    parts = content if isinstance(content, list) else []
    texts = [_part(context, part) for part in parts[:_MOST_PARTS]]
    if len(parts) > _MOST_PARTS:
        texts.append(f"[{len(parts) - _MOST_PARTS:,} more parts are left out]")
    if "structuredContent" in result and not any(_is_text(part) for part in parts):
        texts.append(msgspec.json.format(msgspec.json.encode(result["structuredContent"]), indent=1).decode())
    text = "\n".join(texts)
    ok = result.get("isError") is not True
    lines = text.count("\n") + bool(text)
    return ToolResult(text or "(nothing)", ok=ok, summary=plural(lines, "line") if ok else "the server says it failed")


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def _part(context: Context, part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        return "[a part that cannot be read]"
    if kind == "text":
        return str(part.get("text", ""))
    if kind in ("image", "audio"):
        return _stored(context, kind, part.get("data"))
    if kind == "resource_link":
        return f"[a link: {one_line(str(part.get('uri', '')), 500)} {one_line(str(part.get('name', '')), 100)}]"
    resource = part.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        head = f"[{one_line(str(resource.get('uri', 'a resource')), 300)}]"
        body = resource.get("text")
        return (
            f"{head}\n{body}" if isinstance(body, str) else f"{head} {_stored(context, 'file', resource.get('blob'))}"
        )
    return f"[a part of kind {one_line(kind, 40)}, which is not understood]"


def _stored(context: Context, kind: str, data: object) -> str:
    """Keep bytes that came in base64 as a file of the task, and say where."""
    if not isinstance(data, str) or len(data) > _MOST_FILE * 4 // 3 + 4:
        return f"[{kind}: left out, as it is larger than {size_text(_MOST_FILE)}]"
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{kind}: left out, as it is no base64]"
    ending = next((ending for begin, ending in _BEGINNINGS.items() if content.startswith(begin)), "bin")
    name = keep(context, content, ending)
    if not name:
        return f"[{kind}: left out, as the files of this task are used up]"
    return f"[{kind}: kept as {name}, {size_text(len(content))}]"
