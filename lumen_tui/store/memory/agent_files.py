"""Conversion between agent files and the state folder: messages to a transcript and back, and the export document."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from lumen_tui import __version__
from lumen_tui.model import ids, times
from lumen_tui.model import transcript as shape
from lumen_tui.model.agentfile import AgentFile
from lumen_tui.model.agentmessages import AfCall, AfMessage
from lumen_tui.model.archive import Passage
from lumen_tui.model.blocks import Block, description
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.digests import sha256
from lumen_tui.model.jsontext import table_of
from lumen_tui.model.tasks import Usage
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import blocks
from lumen_tui.store.memory.archive import passages
from lumen_tui.store.sessions.transcripts import lines_from

Clean = Callable[[str], str]
ENTRY = "sdk-agent-file"  # entrypoint of imported lines: the person in them is not this room's operator
_SYSTEM = "agent-file-system"
_MOST_EXPORTED = 2000  # messages
_DEEPEST = 20


def block_name(label: str) -> str:
    """Return the block name for an agent file's label: `about_user` -> `about-user`."""
    name = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:64].strip("-")
    return ids.check_name(name or f"block-{sha256(label.encode())[:8]}", "block")


def session_id(agent_file: AgentFile) -> str:
    """Return the id of the transcript that these messages become; the same messages give the same id."""
    data = msgspec.json.encode([agent_file.name, agent_file.messages])
    return _uuid(data)


def _uuid(data: bytes) -> str:
    text = sha256(data)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:32]}"


def transcript(agent_file: AgentFile, clean: Clean) -> bytes:
    """Return the messages as a session file in Claude Code's shape, each text made safe by `clean`."""
    session = session_id(agent_file)
    lines = []
    parent = None
    for number, message in enumerate(agent_file.messages):
        for part, (kind, fields) in enumerate(_parts(message, number)):
            line_id = _uuid(f"{session}:{number}:{part}".encode())
            record = {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": "",
                "sessionId": session,
                "version": f"lumen-{__version__}",
                "gitBranch": "",
                "entrypoint": ENTRY,
                "type": kind,
                **{name: cleaned(shape.shortened(value), clean) for name, value in fields.items()},
                "uuid": line_id,
                "timestamp": _moment(message.at),
            }
            line = msgspec.json.encode(record)
            lines.append(line if shape.fits(line) else msgspec.json.encode(shape.cut_hard(record)))
            parent = line_id
    return b"".join(line + b"\n" for line in lines)


def _moment(text: str) -> str:
    seconds = times.epoch(text)
    return times.iso(seconds) if 0 < seconds < 1e11 else ""


def cleaned(value: object, clean: Clean, depth: int = 0) -> object:
    """Return a JSON value with `clean` applied to every text in it, keys too."""
    if isinstance(value, str):
        return clean(value)
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {clean(str(key)): cleaned(inner, clean, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(inner, clean, depth + 1) for inner in value]
    return value


def _parts(message: AfMessage, number: int) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (type, fields) of the lines of one message, one for each of its blocks."""
    if message.role == "system":
        yield "system", {"subtype": _SYSTEM, "level": "info", "content": message.text}
    elif message.role == "tool":
        block = shape.result_block(message.answers, message.text, ok=message.ok)
        yield "user", {"message": {"role": "user", "content": [block]}}
    elif message.role == "assistant":
        blocks_said: list[dict[str, object]] = []
        if message.thinking:
            blocks_said.append({"type": "thinking", "thinking": message.thinking, "signature": ""})
        if message.text:
            blocks_said.append(shape.text_block(message.text))
        blocks_said += [shape.use_block(call.id, call.name, call.arguments) for call in message.calls]
        for block in blocks_said:
            yield "assistant", {"message": shape.assistant(f"msg_{number}", message.model, block, Usage(), "")}
    elif message.text:
        yield "user", {"message": {"role": "user", "content": message.text}}


def messages(layout: Layout, session: str) -> list[AfMessage]:
    """Return the last messages of a transcript, each whole."""
    fd = files.open_plain(layout.transcript(session))
    collected: deque[tuple[str, AfMessage]] = deque(maxlen=_MOST_EXPORTED)
    try:
        for _, line in lines_from(fd, 0):
            record = _record(line or b"")
            if (message := _message(record)) is None:
                continue
            key = str(table_of(record, "message").get("id") or "")
            if collected and key and collected[-1][0] == key:
                collected[-1] = (key, _joined(collected[-1][1], message))
            else:
                collected.append((key, message))
    finally:
        os.close(fd)
    return [message for _, message in collected]


def _record(line: bytes) -> dict[str, object]:
    try:
        record = msgspec.json.decode(line)
    except UNDECODABLE:
        return {}
    return record if isinstance(record, dict) and isinstance(record.get("message") or {}, dict) else {}


def _joined(first: AfMessage, more: AfMessage) -> AfMessage:
    texts = [text for text in (first.text, more.text) if text]
    return msgspec.structs.replace(
        first, text="\n".join(texts), calls=first.calls + more.calls, thinking=first.thinking + more.thinking
    )


def _message(record: dict[str, object]) -> AfMessage | None:
    """Return the message in a line; None for lines that are no message."""
    kind = record.get("type")
    at = str(record.get("timestamp") or "")
    if kind == "system":
        ours = record.get("subtype") == _SYSTEM
        return AfMessage("system", str(record.get("content") or ""), at) if ours else None
    message = table_of(record, "message")
    content = message.get("content")
    if kind == "user" and isinstance(content, str):
        return AfMessage("user", content, at)
    if kind not in ("user", "assistant") or not isinstance(content, list) or not content:
        return None
    return _of_block(content[0], at, str(message.get("model") or "")) if isinstance(content[0], dict) else None


def _of_block(block: dict[str, object], at: str, model: str) -> AfMessage | None:
    kind = block.get("type")
    if kind == "tool_result":
        text = block.get("content")
        content = text if isinstance(text, str) else msgspec.json.encode(text).decode()
        ok = block.get("is_error") is not True
        return AfMessage("tool", content, at, answers=str(block.get("tool_use_id") or ""), ok=ok)
    if kind == "tool_use":
        arguments = block.get("input")
        call = AfCall(
            str(block.get("id") or ""), str(block.get("name") or ""), arguments if isinstance(arguments, dict) else {}
        )
        return AfMessage("assistant", "", at, model, calls=(call,))
    if kind == "thinking":
        return AfMessage("assistant", "", at, model, thinking=str(block.get("thinking") or ""))
    if kind == "text":
        return AfMessage("assistant", str(block.get("text") or ""), at, model)
    return None


def newest_session(layout: Layout) -> str:
    """Return the id of the transcript that was written last; empty where there is none."""
    paths = [path for path in layout.transcripts.glob("*.jsonl") if path.is_file() and not path.is_symlink()]
    return max(paths, key=lambda path: (path.stat().st_mtime, path.stem)).stem if paths else ""


def document(
    layout: Layout, name: str, spoken_messages: list[AfMessage], clean: Clean, now: float
) -> dict[str, object]:
    """Return an agent file in the newer shape. It holds no key, no setting and no tool of this room."""
    exported = [block for block in blocks.read_all(layout) if block.text or block.at]
    block_records = [_block_record(number, block) for number, block in enumerate(exported)]
    message_records = [_message_record(number, item) for number, item in enumerate(spoken_messages)]
    passage_records = [_passage_record(number, item) for number, item in enumerate(passages(layout))]
    agent: dict[str, object] = {
        "id": "agent-0",
        "name": name,
        "description": f"exported from lumen-tui {__version__}",
        "system": "",
        "agent_type": "letta_v1_agent",
        "memory_blocks": [],
        "block_ids": [item["id"] for item in block_records],
        "tools": [],
        "tool_ids": [],
        "source_ids": [],
        "tool_rules": [],
        "tags": [],
        "messages": message_records,
        "in_context_message_ids": [],
        "files_agents": [],
        "group_ids": [],
        "tool_exec_environment_variables": {},
        "secrets": None,
    }
    body = {
        "agents": [agent],
        "groups": [],
        "blocks": block_records,
        "files": [],
        "sources": [],
        "tools": [],
        "mcp_servers": [],
        "archives": [{"id": "archive-0", "name": f"archive of {name}"}] if passage_records else [],
        "passages": passage_records,
        "metadata": {"exported_by": f"lumen-tui {__version__}"},
        "created_at": times.iso(now),
    }
    return {clean(name): cleaned(value, clean, 1) for name, value in body.items()}


def _block_record(number: int, block: Block) -> dict[str, object]:
    fields = block.fields
    return {
        "id": f"block-{number}",
        "label": fields.label or block.name,
        "value": block.text,
        "limit": fields.limit,
        "description": description(block.name, fields) or None,
        "read_only": fields.read_only or bool(fields.locked),
        "is_template": False,
        "template_name": None,
        "preserve_on_migration": False,
        "metadata": {"trust": block.trust, "by": block.by, "at": block.at},
    }


def _message_record(number: int, message: AfMessage) -> dict[str, object]:
    content: list[dict[str, object]] = []
    if message.thinking:
        content.append({"type": "reasoning", "is_native": True, "reasoning": message.thinking, "signature": None})
    if message.text:
        content.append({"type": "text", "text": message.text})
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()},
        }
        for call in message.calls
    ]
    returns = [{"status": "success" if message.ok else "error", "stdout": None, "stderr": None}]
    return {
        "id": f"message-{number}",
        "type": "message",
        "role": message.role,
        "content": content,
        "name": None,
        "model": message.model or None,
        "agent_id": "agent-0",
        "tool_calls": calls or None,
        "tool_call_id": message.answers or None,
        "tool_returns": returns if message.role == "tool" else [],
        "created_at": message.at or times.iso(0),
    }


def _passage_record(number: int, passage: Passage) -> dict[str, object]:
    return {
        "id": f"passage-{number}",
        "archive_id": "archive-0",
        "text": passage.content,
        "tags": list(passage.tags),
        "created_at": passage.created_at,
        "file_name": passage.source or None,
        "metadata": {"kind": passage.kind, "importance": str(passage.importance), "trust": passage.trust},
    }


def write_document(path: str, body: dict[str, object]) -> int:
    """Write an agent file at the operator's path, readable by nobody else; returns its size in bytes."""
    data = msgspec.json.format(msgspec.json.encode(body), indent=1) + b"\n"
    files.replace(path, data)
    return len(data)
