"""A playbook that another process goes on with: its calls are kept, and those that have ended are not made again."""

from __future__ import annotations

import json
from collections.abc import Generator

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.model.media import Media
from lumen_tui.providers.base import (
    Conversation,
    ConversationOutcome,
    CutOffCall,
    Job,
    JsonObject,
    Reply,
    Step,
    ToolCall,
    ask,
)
from lumen_tui.providers.conversation.history import AssistantMessage, ModelCall, ResultMessage
from lumen_tui.providers.conversation.steps import Answer, CallEnded, ConversationState, PlaybookClock


class _Recorded(Struct, frozen=True):
    """What a call of the attempt before gave."""

    text: str
    ok: bool
    data: JsonObject
    media: tuple[Media, ...] = ()


class GoingOn:
    """The calls of one conversation, in order, beside those of the attempts before it."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._before = before = ConversationState(job.earlier)
        self._calls = {turn.calls[0].id: (turn.calls[0], results[0]) for turn, results in before.rounds}
        self._number = 0
        self.started = before.clock or job.now()
        if not before.clock:
            job.keep(PlaybookClock(self.started))

    def play(self, conversation: Conversation) -> Conversation:
        """Run a conversation: a call that has ended has its result, the others are made."""
        reply: Reply | None = None
        while True:
            try:
                step = conversation.send(reply)
            except StopIteration as end:
                outcome: ConversationOutcome = end.value
                return outcome
            if not isinstance(step, ToolCall):
                reply = yield step
                continue
            self._number += 1
            reply = self._recorded(step) or (yield from self._made(step))

    def _recorded(self, step: ToolCall) -> Reply | None:
        """Return what the call gave when it was made; None where it was not, or another one was in its place."""
        known, result = self._calls.get(self._id, (None, None))
        if known != self._on_record(step) or result is None:
            return None
        try:
            data = json.loads(self._before.data.get(self._id) or "{}")
        except ValueError:  # a part of it was masked
            return None
        return _Recorded(result.text, result.ok, data, result.media)

    def _made(self, step: ToolCall) -> Generator[Step, Reply | None, Reply]:
        call = self._on_record(step)
        tool_call = replace(step, id=call.id)
        cut_off = False
        if self._before.turn is not None and self._before.turn.calls == (call,):
            cut_off = call.id in self._before.begun
        else:
            self._job.keep(Answer(AssistantMessage("", (call,), "tool")))
        reply = yield from ask(CutOffCall(tool_call) if cut_off else tool_call)
        result = ResultMessage(call.id, call.name, _whole(reply.text), reply.ok, reply.media)
        self._job.keep(CallEnded(result, data=json.dumps(reply.data)))
        return reply

    @property
    def _id(self) -> str:
        return f"step-{self._number}"

    def _on_record(self, step: ToolCall) -> ModelCall:
        return ModelCall(self._id, step.name, json.loads(_whole(json.dumps(step.arguments, ensure_ascii=False))))


def _whole(text: str) -> str:
    """Return a text that is UTF-8, as records are."""
    return text.encode("utf-8", "replace").decode()
