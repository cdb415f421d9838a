"""Session files, of this program and of Claude Code: which there are, their lines, and who said what in them.

The format, learnt from the files themselves: one JSON object for each line; `type` user, assistant, or something that
holds no conversation; `message.content` a string or a list of blocks. What a person typed is the one text of a `user`
line that nothing marks as a side chain's, a tool's or the program's (`isMeta`, `isCompactSummary`, `origin`) and that
holds none of the program's tags. A text that does not pass is nobody's word: it has the trust of the web.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lumen_tui.model import agent
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.digests import sha256
from lumen_tui.model.evolution import CallOutcome, SessionEntry, SessionReport, Trust
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.model.transcript import OPERATOR, task_in
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout, from_home
from lumen_tui.store.sessions.authorship import ADDED, NO_PERSON, PERSONS_PROGRAMS, SessionLine, text_of, typed_block

if TYPE_CHECKING:
    from lumen_tui.model.config import EvolutionConfig

_SILENT = frozenset({
    "system", "summary", "file-history-snapshot", "file-history-delta", "bridge-session",
    "attachment", "queue-operation", "progress", "custom-title",
    "agent-name", "agent-color", "last-prompt", "permission-mode", "ai-title", "tag", "pr-link", "mode",
    "worktree-state", "content-replacement", "started", "result", "stream_event", "atis-latch", "api-request",
    "api-request-shape", "api-request-blob", "tools-used", "cost-state",
})  # fmt: skip
_KNOWN_VERSION = lazy_re(r"(?:[0-2]\.|lumen-|$)")  # in later versions the author of a text is unknown
_SHELLS = frozenset({"bash", "shell", "run", "execute", "terminal", "run_command", "execute_command"})
_WEB = frozenset({"webfetch", "websearch", "web_fetch", "web_search"})
_REFUSED = "The user doesn't want to proceed with this tool use."
_REASON = lazy_re(r"the user (?:said|provided the following reason for the rejection):\s*(.+)\Z", re.S | re.I)
_QUESTION = "AskUserQuestion"  # exactly: a server's tool of that name has the server's name before it
_BACKGROUND = lazy_re(r"Command (?:is )?(?:running|was (?:manually )?(?:backgrounded|moved)) ?(?:in|to)? ?")
_MOST_TEXT = 20_000  # characters of one block; of longer ones the beginning and the end
MOST_LINE = 16 * 1024 * 1024  # bytes; an image is one line in a session file
_CHUNK = 1024 * 1024
_TAIL = 256


_decoder = lazy_decoder(SessionLine)


class SessionParser:
    """Parses lines into entries. `own` says that the engine's workers wrote the file: only in the chat is a person."""

    def __init__(self, session: str, report: SessionReport, *, own: bool) -> None:
        self.session = session
        self._report = report
        self._own = own
        self._web: set[str] = set()  # ids of the calls whose answers come from the web

    def for_another_look(self) -> SessionParser:
        """Return a parser for the same file that reports nothing."""
        return SessionParser(self.session, SessionReport(""), own=self._own)

    def entries(self, number: int, line: bytes | None) -> list[SessionEntry]:
        """Return the entries of one line; none, and a note in the report, for one that cannot be used."""
        if line is None:
            self._report.skip("longer than a reader takes", number)
            return []
        if not line.strip():
            return []
        try:
            record = _decoder.decode(line)
        except UNDECODABLE:
            self._report.skip("NUL bytes" if b"\0" in line else "no JSON object", number)
            return []
        if record.type in _SILENT:
            return []
        if record.type not in ("user", "assistant"):
            self._report.skip(f"of unknown type “{record.type[:40]}”" if record.type else "without a type", number)
            return []
        return self._message(number, record)

    def _message(self, number: int, record: SessionLine) -> list[SessionEntry]:
        message = record.message
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list):
            self._report.skip("without a message", number)
            return []
        valid = [block for block in blocks if isinstance(block, dict)]
        typed = typed_block(record, valid, by_operator=self._of_operator(record))
        entries = [self._block(number, record, block, block is typed) for block in valid]
        return [entry for entry in entries if entry is not None]

    def _block(self, number: int, record: SessionLine, block: dict[str, object], typed: bool) -> SessionEntry | None:
        kind = block.get("type")
        text = block.get("text")
        if kind == "text" and isinstance(text, str):
            return self._statement(number, record, text, typed)
        if kind == "tool_use":
            return self._call(number, record, block)
        if kind == "tool_result":
            return self._result(number, record, block)
        return None

    def _entry(self, number: int, record: SessionLine, trust: Trust, kind: str, text: str) -> SessionEntry:
        return SessionEntry(
            self.session,
            number,
            text_of(record.uuid),
            text_of(record.timestamp),
            text_of(record.cwd),
            trust,
            kind,
            _shorter(text),
        )

    def _agent(self, record: SessionLine) -> Trust:
        """Return how far the words of a model are trusted: less where no person drives it."""
        if record.side or record.agent:
            return Trust.WORKER
        task = task_in(text_of(record.cwd))
        if self._own or task or self._unsure(record):
            return Trust.AGENT if task and agent.is_own(task) else Trust.WORKER
        return Trust.AGENT

    def _alone(self, record: SessionLine) -> bool:
        """Return whether no person took part: a side chain, a worker, or a program (`claude -p`)."""
        driven = text_of(record.entry) not in PERSONS_PROGRAMS or bool(task_in(text_of(record.cwd)))
        return self._own or driven or bool(record.side or record.agent) or self._unsure(record)

    def _of_operator(self, record: SessionLine) -> bool:
        """Return whether the worker of a turn of the chat marked the line as a message that is seen to be theirs."""
        if not self._own or record.source != OPERATOR or record.side or record.agent:
            return False
        return bool(agent.turn_of(task_in(text_of(record.cwd))))

    def _unsure(self, record: SessionLine) -> bool:
        """Return whether an unknown version of the program wrote the line; the report notes it."""
        if _KNOWN_VERSION.match(text_of(record.version)):
            return False
        self._report.unsure = self._report.unsure or one_line(text_of(record.version), 40)
        return True

    def _statement(self, number: int, record: SessionLine, text: str, typed: bool) -> SessionEntry | None:
        if record.type == "assistant":
            return self._entry(number, record, self._agent(record), "said", text)
        if record.meta or record.compact or record.only_shown or NO_PERSON.match(text):
            return None
        words = ADDED.sub("", text)
        if not words.strip():
            return None
        if self._alone(record) and not self._of_operator(record):
            return self._entry(number, record, Trust.WORKER if typed else Trust.WEB, "said", words)
        if not typed or words != text:
            return self._entry(number, record, Trust.WEB, "said", words)
        return replace(self._entry(number, record, Trust.PERSON, "said", words), person=True)

    def _call(self, number: int, record: SessionLine, block: dict[str, object]) -> SessionEntry | None:
        arguments = block.get("input")
        tool = text_of(block.get("name"))
        call_id = text_of(block.get("id"))
        if not isinstance(arguments, dict) or record.type != "assistant":
            return None
        name = tool.lower().rpartition("__")[2]
        command = arguments.get("command") if name in _SHELLS else ""
        if name in _WEB:
            self._web.add(call_id)
        text = " ".join(command) if isinstance(command, list) and all(isinstance(c, str) for c in command) else command
        entry = self._entry(number, record, self._agent(record), "call", text_of(text))
        offered = _offered(arguments.get("questions")) if tool == _QUESTION and not self._alone(record) else {}
        return replace(entry, tool=name, call_id=call_id, offered=offered)

    def _result(self, number: int, record: SessionLine, block: dict[str, object]) -> SessionEntry | None:
        if record.type != "user":
            return None
        text = _content(block.get("content"))
        call_id = text_of(block.get("tool_use_id"))
        refused = block.get("is_error") is True and record.result == "User rejected tool use"
        if refused and not self._alone(record) and text.startswith(_REFUSED) and (match := _REASON.search(text)):
            return replace(self._entry(number, record, Trust.PERSON, "said", match[1]), person=True)
        trust = Trust.WEB if call_id in self._web else Trust.TOOL
        self._web.discard(call_id)
        ended = CallOutcome.UNKNOWN if refused else _ended(record, block, text)
        return replace(self._entry(number, record, trust, "result", text), call_id=call_id, ended=ended)


def _offered(questions: object) -> dict[str, tuple[str, ...]]:
    """Return what the agent asked the person, with the answers it offered."""
    offered: dict[str, tuple[str, ...]] = {}
    for question in questions if isinstance(questions, list) else ():
        options = question.get("options") if isinstance(question, dict) else None
        if isinstance(options, list) and (asked := text_of(question.get("question"))[:400]):
            offered[asked] = tuple(
                text_of(option.get("label"))[:200] for option in options[:10] if isinstance(option, dict)
            )
    return dict(list(offered.items())[:10])


def _ended(record: SessionLine, block: dict[str, object], text: str) -> CallOutcome:
    if block.get("is_error") is True:
        return CallOutcome.FAILED
    result = record.result if isinstance(record.result, dict) else {}
    if result.get("interrupted") is True or result.get("backgroundTaskId") or _BACKGROUND.match(text):
        return CallOutcome.UNKNOWN
    return CallOutcome.OK


def _content(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return "\n".join(text_of(part.get("text")) for part in value if isinstance(part, dict))


def _shorter(text: str) -> str:
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[: _MOST_TEXT // 2]}\n…\n{text[-_MOST_TEXT // 2 :]}"


def own_sessions(layout: Layout) -> list[Path]:
    """Return the transcripts of the agent and its workers."""
    return sorted(_named(layout.transcripts.glob("*.jsonl")))


def foreign_sessions(config: EvolutionConfig) -> Iterator[Path]:
    """Yield the session files below the folders of [evolution] sessions."""
    for name in config.sessions:
        yield from sorted(_named(from_home(name).glob("**/*.jsonl")))


def _named(paths: Iterator[Path]) -> Iterator[Path]:
    """Return the paths without those whose name is not text: no index and no record can name them."""
    return (path for path in paths if not any("\ud800" <= letter <= "\udfff" for letter in str(path)))


def head_hash(fd: int) -> str:
    """Return a short hash of the first line, or of its first 64 KiB: it tells two sessions of the same id apart."""
    data = os.pread(fd, 64 * 1024, 0)
    return sha256(data.partition(b"\n")[0])[:16]


def tail_hash(fd: int, offset: int) -> str:
    """Return a short hash of the bytes right before `offset`."""
    start = max(0, offset - _TAIL)
    return sha256(os.pread(fd, offset - start, start))[:16]


def lines_from(fd: int, offset: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield whole lines from `offset` on, each with the offset after it; None for one beyond MOST_LINE.

    A torn last line is left for the next time.
    """
    parts: list[bytes] = []
    held = 0
    while chunk := os.pread(fd, _CHUNK, offset):
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            piece = chunk[begin:end]
            too_long = held + len(piece) > MOST_LINE
            yield offset + end + 1, None if too_long else b"".join([*parts, piece])
            parts = []
            held = 0
            begin = end + 1
        tail = chunk[begin:]
        held += len(tail)
        parts = [*parts, tail] if held <= MOST_LINE else []
        offset += len(chunk)


def open_session(path: files.StrPath) -> int:
    """Open a session file for reading. FileNotFoundError; Refused for links, devices and files of other users."""
    if os.path.islink(path):
        raise files.Refused(f"it is a link; read {os.path.realpath(path)} instead")
    return files.open_plain(path)
