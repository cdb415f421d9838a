"""Session files, ours and those of Claude Code, line by line: who said what, and how far that may be trusted.

Taken from the files themselves: one JSON object for each line; `type` user, assistant, or something that holds no
conversation; `message.content` a string or a list of blocks. What a person typed is a `user` line that is not marked
as a side chain, as added by the program (`isMeta`, `isCompactSummary`) or as output of a command.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.evolution import Trust
from lumen_tui.model.sessionlog import Entry, Report
from lumen_tui.model.text import one_line

_SILENT = frozenset({
    "system", "summary", "file-history-snapshot", "attachment", "queue-operation", "progress", "custom-title",
    "agent-name", "agent-color", "last-prompt", "permission-mode", "ai-title", "tag", "pr-link", "mode",
    "worktree-state", "content-replacement", "started", "result", "stream_event", "atis-latch", "api-request",
    "api-request-shape", "api-request-blob", "tools-used", "cost-state",
})  # fmt: skip
_KNOWN_VERSION = re.compile(r"(?:[0-2]\.|lumen-|$)")  # of later ones nobody knows whose words stand where
_TASK_FOLDER = re.compile(r"/tasks/((?:tsk|loop)-[0-9a-z]+)(?:/|$)")
_ADDED = re.compile(
    r"<(system-reminder|context|material|ide_\w+|command-\w+|local-command-\w+|bash-\w+|task-notification|user-prompt-"
    r"submit-hook|persisted-output)\b[^>]*>.*?(?:</\1[^>]*>|\Z)",
    re.S,
)
_SHELLS = frozenset({"bash", "shell", "run", "execute", "terminal", "run_command", "execute_command"})
_EDITS = frozenset({"edit", "write", "multiedit", "notebookedit", "write_file", "edit_file", "apply_patch"})
_WEB = frozenset({"webfetch", "websearch", "web_fetch", "web_search"})
_REJECTED = re.compile(r"the user (?:said|provided the following reason for the rejection):\s*(.+)\Z", re.S | re.I)
_NO_PERSON = re.compile(r"^(?:Caveat: The messages below|This session is being continued|\[Request interrupted)")
_MOST_TEXT = 20_000  # characters of one block; of longer ones the beginning and the end
_ASKS = "askuserquestion"


class _Line(Struct):
    type: str = ""
    message: Any = None
    uuid: Any = ""
    timestamp: Any = ""
    cwd: Any = ""
    session: Any = msgspec.field(default="", name="sessionId")
    version: Any = ""
    side: Any = msgspec.field(default=False, name="isSidechain")
    meta: Any = msgspec.field(default=False, name="isMeta")
    compact: Any = msgspec.field(default=False, name="isCompactSummary")
    only_shown: Any = msgspec.field(default=False, name="isVisibleInTranscriptOnly")
    entry: Any = msgspec.field(default="", name="entrypoint")
    result: Any = msgspec.field(default=None, name="toolUseResult")


_decode = msgspec.json.Decoder(_Line).decode


def task_in(cwd: str) -> str:
    """The task or loop in whose folder a session ran; empty for none."""
    found = _TASK_FOLDER.search(cwd)
    return found.group(1) if found else ""


class SessionParser:
    """Makes entries of lines. `own` says that the engine's workers wrote the file: nobody in it is a person."""

    def __init__(self, session: str, report: Report, *, own: bool) -> None:
        self.session, self._report, self._own = session, report, own
        self._web: set[str] = set()  # ids of the calls whose answers come from the web

    def entries(self, number: int, line: bytes | None) -> list[Entry]:
        """What one line holds; nothing, and a note in the report, for one that cannot be used."""
        if line is None:
            self._report.skip("longer than a reader takes", number)
            return []
        if not line.strip():
            return []
        try:
            found = _decode(line)
        except UNDECODABLE:
            self._report.skip("NUL bytes" if b"\0" in line else "no JSON object", number)
            return []
        if found.type in _SILENT:
            return []
        if found.type not in ("user", "assistant"):
            self._report.skip(f"of unknown type “{found.type[:40]}”" if found.type else "without a type", number)
            return []
        return self._message(number, found)

    def _message(self, number: int, found: _Line) -> list[Entry]:
        message = found.message
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list):
            self._report.skip("without a message", number)
            return []
        made = [self._block(number, found, block) for block in blocks if isinstance(block, dict)]
        return [entry for entry in made if entry is not None]

    def _block(self, number: int, found: _Line, block: dict[str, Any]) -> Entry | None:
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            return self._said(number, found, block["text"])
        if kind == "tool_use":
            return self._call(number, found, block)
        if kind == "tool_result":
            return self._result(number, found, block)
        return None

    def _entry(self, number: int, found: _Line, trust: Trust, kind: str, text: str, **more: Any) -> Entry:
        return Entry(
            self.session,
            number,
            _text(found.uuid),
            _text(found.timestamp),
            _text(found.cwd),
            trust,
            kind,
            _shorter(text),
            **more,
        )

    def _agent(self, found: _Line) -> Trust:
        """How far the words of a model are trusted: less where nobody drives it."""
        if found.side is True:
            return Trust.WORKER
        folder = _TASK_FOLDER.search(_text(found.cwd))
        if self._own or folder or self._unsure(found):
            return Trust.AGENT if folder and "/loop-" in folder.group() else Trust.WORKER
        return Trust.AGENT

    def _alone(self, found: _Line) -> bool:
        """Whether nobody sat there: a side chain, a session of a worker, or one that a program drove (`claude -p`)."""
        driven = _text(found.entry).startswith("sdk") or _TASK_FOLDER.search(_text(found.cwd)) is not None
        return self._own or driven or found.side is True or self._unsure(found)

    def _unsure(self, found: _Line) -> bool:
        """Whether the program that wrote the line is of a version with rules of its own; the report says so."""
        if _KNOWN_VERSION.match(_text(found.version)):
            return False
        self._report.unsure = self._report.unsure or one_line(_text(found.version), 40)
        return True

    def _said(self, number: int, found: _Line, text: str) -> Entry | None:
        if found.type == "assistant":
            return self._entry(number, found, self._agent(found), "said", text)
        if found.meta is True or found.compact is True or found.only_shown is True or _NO_PERSON.match(text):
            return None
        words = _ADDED.sub("", text)
        if not words.strip():
            return None
        if self._alone(found):
            return self._entry(number, found, Trust.WORKER, "said", words)
        return self._entry(number, found, Trust.PERSON, "said", words, person=True)

    def _call(self, number: int, found: _Line, block: dict[str, Any]) -> Entry | None:
        given = block.get("input")
        tool, call_id = _text(block.get("name")), _text(block.get("id"))
        if not isinstance(given, dict) or found.type != "assistant":
            return None
        name = tool.lower().rpartition("__")[2]
        command = given.get("command") if name in _SHELLS else ""
        path = given.get("file_path") or given.get("path") if name in _EDITS else ""
        if name in _WEB:
            self._web.add(call_id)
        text = " ".join(command) if isinstance(command, list) and all(isinstance(c, str) for c in command) else command
        return self._entry(
            number, found, self._agent(found), "call", _text(text), tool=name, call_id=call_id, path=_text(path)
        )

    def _result(self, number: int, found: _Line, block: dict[str, Any]) -> Entry | None:
        if found.type != "user":
            return None
        text, call_id = _content(block.get("content")), _text(block.get("tool_use_id"))
        ok = block.get("is_error") is not True
        refused = found.result == "User rejected tool use" and not self._alone(found)
        if refused and (said := _REJECTED.search(text)):
            return self._entry(number, found, Trust.PERSON, "said", said[1], person=True)
        trust = Trust.WEB if call_id in self._web else Trust.TOOL
        self._web.discard(call_id)
        return self._entry(number, found, trust, "result", text, call_id=call_id, ok=ok)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _content(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return "\n".join(_text(part.get("text")) for part in value if isinstance(part, dict))


def _shorter(text: str) -> str:
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[: _MOST_TEXT // 2]}\n…\n{text[-_MOST_TEXT // 2 :]}"


def is_question(tool: str) -> bool:
    """Whether a tool asks the person, so that its result holds their answer."""
    return tool == _ASKS
