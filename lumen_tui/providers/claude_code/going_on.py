"""What Claude Code did is kept as with every other back end, and another process goes on by its `--resume`.

Its own session lacks what it had not written when it was ended: that is told to it, so that no call is made again and
no answer is asked for again. Where its session is gone, everything is told.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Generator
from pathlib import Path

from lumen_tui.model.approvals import BROUGHT
from lumen_tui.model.fences import fence
from lumen_tui.model.jsontext import table_of
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.tasks import Usage
from lumen_tui.providers.base import CutOffCall, Job, JsonObject, Reply, Step, ToolCall, Tuning, ask
from lumen_tui.providers.claude_code.program import OWN, is_foreign
from lumen_tui.providers.conversation.conversation import opening_with_history
from lumen_tui.providers.conversation.earlier import as_text, told
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    ModelCall,
    ResultMessage,
    ResultMessages,
    UserMessage,
)
from lumen_tui.providers.conversation.steps import Answer, BackendSession, CallEnded, ConversationState
from lumen_tui.storage import files

_MOST_TOLD = 120_000  # characters of earlier steps in the first message
_MOST_SESSION = 512 * 1024 * 1024  # bytes of its session file
_STOPS = {"end_turn": "end", "stop_sequence": "end", "tool_use": "tool", "max_tokens": "length"}
_WENT_ON = (
    "The process in which you worked on this task has ended, and you go on in another one. {missing}Nothing of what "
    "you have done is to be done again. Go on with the task."
)
_MISSING = "These steps of yours are finished, whatever your conversation shows of them ({names}):\n\n{steps}\n\n"
_NOT_MADE = "This call was not made: the process ended before it. Make it again if it is still needed."
_ID = lazy_re(r"toolu_\w+")  # of a call, as the API makes it
_COMPARED = 200  # characters of an error
Round = tuple[AssistantMessage, tuple[ResultMessage, ...]]
_ABOUT = "your own steps and what the tools gave"


class KeptSteps:
    """The steps of one conversation, as they come about, and those of the attempts before it."""

    def __init__(self, job: Job, own: str) -> None:
        self._job = job
        self._before = before = ConversationState(job.earlier)
        self._rounds = list(before.rounds)
        self._shown = _shown_in(own, before.session) if before.session else None
        self.resumes = self._shown is not None
        self.session = before.session if self.resumes else str(uuid.uuid4())
        if not self.resumes:
            job.keep(BackendSession(self.session))
        self._said = ""  # the first message, until an answer shows that a request held it
        self._text = ""
        self._calls: list[ModelCall] = []
        self._open: dict[str, ModelCall] = {}  # calls without an end

    @property
    def words(self) -> list[str]:
        """How the program is called with its session."""
        return [f"--resume={self.session}" if self.resumes else f"--session-id={self.session}"]

    @property
    def final(self) -> str | None:
        """The last words of the attempt before, where nothing was to come behind them."""
        turn = self._before.turn
        return turn.text if turn is not None and turn.stop == "end" and turn.text.strip() else None

    def finish(self) -> Generator[Step, Reply | None, None]:
        """Make the calls of the last answer that had not begun; what had begun is told as uncertain."""
        turn = self._before.turn
        if turn is None or not turn.makes_calls:
            return
        results = dict(self._before.results)
        for call in turn.calls:
            if call.id not in results and call.name.startswith(BROUGHT) and call.id not in self._before.begun:
                results[call.id] = self._end(call, _NOT_MADE, ok=False)
            elif call.id not in results:
                tool_call = ToolCall(call.name, call.arguments, id=call.id)
                reply = yield from ask(CutOffCall(tool_call) if call.id in self._before.begun else tool_call)
                results[call.id] = self._end(call, reply.text, ok=reply.ok)
        self._rounds.append((turn, tuple(results[call.id] for call in turn.calls)))

    def opening(self) -> str:
        """Return the first message."""
        shown = self._shown or _Shown()
        missing = [exchange for exchange in self._rounds if not all(map(shown.has, exchange[1]))]
        parts = [] if self.resumes else [opening_with_history(self._job)]
        parts += [_WENT_ON.format(missing=_missing(missing))] if self.resumes or self._rounds else []
        self._said = "\n\n".join([*parts, *self._job.news()])
        return self._said

    # ---- what comes about

    def begin(self) -> None:
        """Note that an answer begins."""
        self._text, self._calls = "", []

    def take(self, message: JsonObject) -> None:
        """Take a part of an answer that is whole."""
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text":
                self._text += str(block.get("text") or "")
            elif block.get("type") == "tool_use" and (call := _call(block, self._job.tuning)):
                self._calls.append(call)

    def answered(self, stop: str, usage: Usage) -> None:
        """Keep the answer, before anything else is done with it."""
        calls = tuple(self._calls)
        self._open = {call.id: call for call in calls}
        messages, self._said = [UserMessage(self._said)] if self._said else [], ""
        turn = AssistantMessage(self._text, calls, "tool" if calls else _STOPS.get(stop, stop))
        self._job.keep(*messages, Answer(turn, usage))

    def id_of(self, named: str, name: str) -> str:
        """Return the id of a call that is made now: as it was named, else that of the first open one of the tool."""
        if named in self._open:
            return named
        return next((call.id for call in self._open.values() if call.name == name), "")

    def ended(self, call_id: str, text: str, *, ok: bool) -> None:
        """Keep what a call gave."""
        if (call := self._open.pop(call_id, None)) is not None:
            self._end(call, text, ok=ok)

    def _end(self, call: ModelCall, text: str, *, ok: bool) -> ResultMessage:
        result = ResultMessage(call.id, call.name, text, ok)
        self._job.keep(CallEnded(result))
        return result


def _call(block: JsonObject, tuning: Tuning) -> ModelCall | None:
    """Return a call of one of our tools, or of its own as we name it; None for any other, which is refused."""
    from lumen_tui.providers.claude_code.json_lines import tool_name

    name, arguments = str(block.get("name")), table_of(block, "input")
    if name in OWN:
        return ModelCall(str(block.get("id")), OWN[name], in_our_words(arguments))
    if is_foreign(tuning, name):
        return ModelCall(str(block.get("id")), f"{BROUGHT}{name}", arguments)
    ours = tool_name(name)
    return ModelCall(str(block.get("id")), ours, arguments) if ours else None


def in_our_words(arguments: JsonObject) -> JsonObject:
    """Return the arguments of its Read as those of read_file."""
    translated: JsonObject = {"path": str(arguments.get("file_path") or "")}
    offset, limit = arguments.get("offset"), arguments.get("limit")
    if isinstance(offset, int) and offset >= 1:
        translated["offset"] = offset
    if isinstance(limit, int):
        translated["limit"] = min(max(limit, 1), 5000)
    return translated


def _missing(rounds: list[Round]) -> str:
    """Return in words what its session does not show; empty where that is nothing."""
    if not rounds:
        return ""
    entries = [entry for turn, results in rounds for entry in (turn, ResultMessages(results))]
    names = ", ".join(call.id for turn, _ in rounds for call in turn.calls)
    return _MISSING.format(names=names, steps=fence(as_text(told(entries), _MOST_TOLD), _ABOUT))


class _Shown:
    """What its session shows of calls: their results, and the first messages of the attempts before."""

    def __init__(self) -> None:
        self._results: dict[str, tuple[bool, str]] = {}  # by call: whether it went well, and the text
        self._told: set[str] = set()  # calls of which it was told
        self.sound = False

    def take(self, message: JsonObject) -> None:
        """Take one of its messages."""
        self.sound = self.sound or message.get("role") == "assistant"
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_result":
                result_json = json.dumps(block.get("content"), ensure_ascii=False)
                self._results[str(block.get("tool_use_id"))] = not block.get("is_error"), result_json
            elif block.get("type") == "text" and message.get("role") == "user":
                self._told.update(_ID.findall(str(block.get("text"))))

    def has(self, result: ResultMessage) -> bool:
        """Return whether it shows that result, and not one of its own for a call that it was interrupted in."""
        ok, result_json = self._results.get(result.call_id, (False, ""))
        known = ok or (not result.ok and json.dumps(result.text[:_COMPARED], ensure_ascii=False)[1:-1] in result_json)
        return (known and bool(result_json)) or result.call_id in self._told


def _shown_in(own: str, session: str) -> _Shown | None:
    """Return what its session shows; None where there is no session to go on with."""
    paths = list(Path(own, "projects").glob(f"*/{session}.jsonl"))
    try:
        data = files.read(paths[0], _MOST_SESSION) if len(paths) == 1 else None
    except (files.StoreError, OSError):
        return None
    shown = _Shown()
    for line in (data or b"").split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            shown.take(table_of(record, "message"))
    return shown if shown.sound else None
