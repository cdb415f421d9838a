"""What was asked, in a form that tests and scripts can look at."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass, field
from typing import Any


def text_of(content: Any) -> str:
    """The text in a message's content, tool results included."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [str(b.get("text") or text_of(b.get("content"))) for b in content if isinstance(b, dict)]
    return "\n".join(part for part in parts if part)


@dataclass(frozen=True)
class Request:
    """One request. `kind` is messages, count_tokens, chat, models, probe or other."""

    kind: str
    method: str
    path: str
    query: str
    headers: dict[str, str]  # names in small letters
    body: dict[str, Any]
    at: float = 0.0  # seconds of the monotonic clock
    raw: bytes = field(default=b"", repr=False)

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def key(self) -> str:
        """The key as it was sent, whichever header it came in."""
        return self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body.get("messages") or []
        return found

    @property
    def system_text(self) -> str:
        """The system prompt of either API."""
        of_chat = [text_of(m.get("content")) for m in self.messages if m.get("role") in ("system", "developer")]
        return "\n".join([text_of(self.body.get("system")), *of_chat]).strip()

    @property
    def first_text(self) -> str:
        """What the first user message says."""
        return next((text_of(m.get("content")) for m in self.messages if m.get("role") == "user"), "")

    @property
    def last_text(self) -> str:
        """What the last message says, tool results included."""
        return text_of(self.messages[-1].get("content")) if self.messages else ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that were declared."""
        declared = self.body.get("tools") or []
        return tuple(str(tool.get("name") or tool.get("function", {}).get("name", "")) for tool in declared)

    @property
    def called(self) -> tuple[str, ...]:
        """The names of all tool calls in the conversation so far, in order."""
        found = []
        for message in self.messages:
            if isinstance(content := message.get("content"), list):
                found += [block["name"] for block in content if block.get("type") == "tool_use"]
            found += [call["function"]["name"] for call in message.get("tool_calls") or []]
        return tuple(found)

    @property
    def results(self) -> tuple[str, ...]:
        """The texts of the tool results in the last messages."""
        found: list[str] = []
        for message in reversed(self.messages):
            blocks = message.get("content")
            if message.get("role") == "tool":
                found.insert(0, text_of(blocks))
                continue
            if message.get("role") == "user" and isinstance(blocks, list):
                found += [text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
            break
        return tuple(found)

    def tokens(self) -> int:
        """About four characters each."""
        return tokens(self.body.get("system")) + tokens(self.body.get("tools")) + tokens(self.messages)


def tokens(value: Any) -> int:
    """The server's count of tokens: a quarter of the characters of the JSON, and pictures by their pixels."""
    pictures: list[int] = []
    return 0 if not value else len(json.dumps(_bare(value, pictures), ensure_ascii=False)) // 4 + 1 + sum(pictures)


def _bare(value: Any, pictures: list[int]) -> Any:
    """The value without what came in base64, whose tokens are added to `pictures`."""
    if isinstance(value, list):
        return [_bare(one, pictures) for one in value]
    if not isinstance(value, dict):
        return value
    data = value.get("data") if value.get("type") == "base64" else None
    if isinstance(data, str):
        png = base64.b64decode(data[:64]).startswith(b"\x89PNG")
        width, height = struct.unpack(">II", base64.b64decode(data[:64])[16:24]) if png else (1000, 1500)
        pictures.append(min(4784, width * height // 750 + 1))
        return {**value, "data": ""}
    return {name: _bare(one, pictures) for name, one in value.items()}
