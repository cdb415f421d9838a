"""One turn of the chat in its worker: what the model is sent of the conversation, and what chat.jsonl gets of the turn.

What was sent and said is kept as it was, so that the next turn sends the very same beginning and finds it in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lumen_tui.model import agent, times
from lumen_tui.model.chat import ChatLine, Conversation, EntryKind, Turn, TurnEnd
from lumen_tui.model.evolution_words import runs_of
from lumen_tui.model.fences import words_of
from lumen_tui.model.prompts import Line, lines_of
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import safe
from lumen_tui.model.transcript import OPERATOR, shortened
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    Entry,
    ModelCall,
    ResultMessage,
    ResultMessages,
    UserMessage,
)
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean
from lumen_tui.store.sessions import chats
from lumen_tui.tools.base import ToolResult
from lumen_tui.worker.record import Transcript
from lumen_tui.worker.world import TaskTally

_CALLS = 8  # of an earlier turn that are sent again, the newest
_RESULT = 4_000  # characters of what one gave
_ARGUMENT = 2_000  # characters of one text in its arguments
_NO_TURN = "(what the operator says)"
_UNKNOWN = "(the turn ended here: whether this call was carried out is not known)"
_ENDS = {
    TurnEnd.STOPPED: "(The operator stopped this answer here.)",
    TurnEnd.CUT_OFF: "(This answer was cut off here: its process was killed.)",
    TurnEnd.FAILED: "(This turn failed here.)",
}
_OFFLINE_TOOLS = ("disk_usage", "shell", "write_result")  # what playbooks use; no model is there that could
_STATUSES = {"done": TurnEnd.DONE, "cancelled": TurnEnd.STOPPED}


def turn_role(role: Role, *, offline: bool) -> Role:
    """Return the main agent's role for a turn; without a model also with what playbooks need, which only read."""
    own = agent.in_turn(role)
    if not offline:
        return own
    more = tuple(tool for tool in _OFFLINE_TOOLS if tool not in own.tools)
    return msgspec.structs.replace(own, tools=(*own.tools, *more), shell="read")  # noqa: S604 - a setting, no call


def turn_slots(
    layout: Layout, turn: int, values: Mapping[str, Sequence[Line]], state: str
) -> dict[str, tuple[Line, ...]]:
    """Return what a turn has instead of a loop's slots; skills, limits and place are known where only news is told."""
    recorded = chats.read(layout).turn(turn)
    slots = {"orders": lines_of(_orders(recorded), "chat.jsonl"), "state": lines_of(state, "state of the agent")}
    known = () if recorded is None or recorded.begun.whole else ("skills", "limits", "surroundings")
    return {**slots, **dict.fromkeys(known, ())}


def _orders(turn: Turn | None) -> str:
    if turn is None:
        return _NO_TURN
    return "\n\n".join(
        words_of(message.text, message.by, f"{message.id}, {times.stamp_of(message.at)}", seen=message.order)
        for message in turn.messages
    )


def history(conversation: Conversation, before: int) -> tuple[Entry, ...]:
    """Return the turns before turn `before` as they were sent; what was cut from them is named in the first one."""
    entries: list[Entry] = []
    for turn in conversation.sent(before):
        head = f"{conversation.cut.text}\n\n" if not entries and conversation.cut is not None else ""
        entries += [UserMessage(head + turn.told), *_answers(turn)]
    return tuple(entries)


def _answers(turn: Turn) -> Iterator[Entry]:
    """Yield what a turn said and did, ending with an answer: calls are followed by what they gave."""
    calls = [step for step in turn.steps if step.kind == EntryKind.CALL]
    left_out = {step.id for step in calls[:-_CALLS]}
    results = {step.id: step for step in turn.steps if step.kind == EntryKind.RESULT}
    text = f"({len(left_out)} earlier calls of this turn are left out.)\n" if left_out else ""
    batch: list[ChatLine] = []
    for step in turn.steps:
        if step.kind == EntryKind.SAID:
            if batch:
                yield from _called(text, batch, results)
                text, batch = "", []
            text += step.text
        elif step.kind == EntryKind.CALL and step.id not in left_out:
            if batch and batch[-1].answer != step.answer:
                yield from _called(text, batch, results)
                text, batch = "", []
            batch.append(step)
    if batch:
        yield from _called(text, batch, results)
        text = ""
    end = _ENDS.get(TurnEnd(turn.end.status)) if turn.end is not None and turn.end.status else ""
    yield AssistantMessage("\n\n".join(part for part in (text.strip(), end) if part) or "(nothing)")


def _called(text: str, calls: Sequence[ChatLine], results: Mapping[str, ChatLine]) -> Iterator[Entry]:
    yield AssistantMessage(text.strip(), tuple(ModelCall(call.id, call.name, call.arguments) for call in calls), "tool")
    given = [(call, results.get(call.id)) for call in calls]
    yield ResultMessages(
        tuple(
            ResultMessage(call.id, call.name, result.text if result else _UNKNOWN, bool(result and result.ok))
            for call, result in given
        )
    )


def repeated(turn: Turn, turns: Iterable[Turn]) -> Iterator[str]:
    """Yield what was said and returned in earlier turns and shares five words in a row with this one's messages."""
    runs = {run for message in turn.messages for run in runs_of(message.text)}
    steps = (step for earlier in turns if earlier.number < turn.number for step in earlier.steps)
    for step in steps:
        if step.kind in (EntryKind.SAID, EntryKind.RESULT) and not runs.isdisjoint(runs_of(step.text)):
            yield step.text


class TurnTranscript(Transcript):
    """The transcript of a turn, which also goes on with the conversation: what it was told, said and did."""

    def __init__(self, layout: Layout, turn: int, tally: TaskTally, *session: Any) -> None:
        super().__init__(*session)
        self._layout, self._turn, self._tally = layout, turn, tally
        self._answer = 1
        self._spoken = ""  # since the last call

    def _given(self, spec: Spec) -> None:
        """Write the state of the agent, then each message; of those of the operator that they are.

        What is learnt from them weighs as a person's word, but for sentences that repeat what stood in the conversation
        before: so the texts that share words with them come first.
        """
        conversation = chats.read(self._layout)
        turn = conversation.turn(self._turn)
        if turn is None:
            super()._given(spec)
            return
        for text in repeated(turn, conversation.current):
            self._line("attachment", attachment={"type": "conversation", "text": text})
        if spec.context.strip():
            self._user(spec.context)
        for message in turn.messages:
            self._user(message.text, OPERATOR if message.order else "")

    def told(self, text: str) -> str:
        """Keep the message of this turn; return it as it is kept, which is how it is sent."""
        redacted = self._clean_text(clean(text))
        self._keep(*chats.in_pieces(EntryKind.TOLD, redacted, self._turn, self._now()))
        return redacted

    def reserved(self, model: str) -> None:
        super().reserved(model)
        self._answer += bool(self._spoken or self._call_id)

    def called(self, name: str, arguments: dict[str, object]) -> None:
        super().called(name, arguments)
        self._spoken = ""
        short = self._clean(shortened(arguments, _ARGUMENT))
        redacted = clean_arguments(short)
        self._keep(self._one(EntryKind.CALL, id=self._call_id, name=self._clean_text(name)[:100], arguments=redacted))

    def answered(self, result: ToolResult) -> None:
        super().answered(result)
        text = self._clean_text(clean(result.text))
        if len(text) > _RESULT:
            text = f"{text[:_RESULT]}\n[cut: {len(text) - _RESULT:,} characters; make the call again where they matter]"
        self._keep(self._one(EntryKind.RESULT, id=self._call_id, text=text, ok=result.ok))

    def answer(self, text: str) -> None:
        super().answer(text)
        if text.strip() and text.strip() != self._spoken.strip():
            self._say(text)

    def end(self, status: str, reason: str) -> None:
        super().end(status, reason)
        outcome = _STATUSES.get(status, TurnEnd.FAILED)
        self._keep(
            self._one(
                EntryKind.END,
                status=str(outcome),
                reason=self._clean_text(clean(reason)),
                usage=self._tally.usage,
                brain=self._tally.brain,
            )
        )

    def _flush(self) -> None:
        text = "".join(self._pieces)
        super()._flush()
        if text.strip():
            self._say(text)

    def _say(self, text: str) -> None:
        self._spoken += text
        redacted = self._clean_text(clean(text))
        self._keep(*chats.in_pieces(EntryKind.SAID, redacted, self._turn, self._now(), answer=self._answer))

    def _one(self, kind: EntryKind, **fields: Any) -> ChatLine:
        return ChatLine(kind, at=times.iso(self._now()), turn=self._turn, answer=self._answer, **fields)

    def _keep(self, *lines: ChatLine) -> None:
        with self._guard():
            chats.append(self._layout, *lines)


def clean_arguments(value: object) -> dict[str, Any]:
    """Return the arguments of a call where they fit into a line, else none of them but that they were long."""
    if isinstance(value, dict) and len(msgspec.json.encode(value)) < 5 * _RESULT:
        return value
    return {"cut": safe("the arguments were too long to be kept")}
