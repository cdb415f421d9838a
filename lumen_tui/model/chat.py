"""The conversation of the operator and the main agent: the lines of chat.jsonl, and the turns that they make. Pure.

The file is only ever appended to. A turn begins with its `turn` line and is over with its `end` line; what came between
is kept as it happened, so that a kill at any point leaves a conversation that can be read and gone on with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, field

from lumen_tui.model.tasks import TaskEvent, Usage
from lumen_tui.model.text import one_line

MOST_MESSAGE = 30_000  # bytes of UTF-8 of one message
MOST_WAITING = 20  # messages that no turn has taken up yet
PIECE = 10_000  # characters of one line: a longer text is several
MOST_HISTORY = 120_000  # characters of earlier turns that are sent, beyond which the older ones are cut
KEPT_HISTORY = 40_000  # characters that stay then: far fewer, as each cut makes the prompt cache worthless once
_DIGEST = 8_000  # characters that stand for the turns that were cut
_WORDS = 300  # characters of one message in it


class EntryKind(StrEnum):
    """What a line is."""

    MESSAGE = "message"  # of the operator
    BACK = "back"  # messages that were taken back before a turn took them up
    TURN = "turn"  # the engine begins one, on these messages
    TOLD = "told"  # a piece of the message that the model got
    SAID = "said"  # a piece of what it answered
    CALL = "call"
    RESULT = "result"
    END = "end"
    CUT = "cut"  # turns before this one are no longer sent; its text stands for them
    FRESH = "fresh"  # a new conversation


class TurnEnd(StrEnum):
    """How a turn ended."""

    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"  # by the operator
    CUT_OFF = "cut off"  # its worker was killed
    REFUSED = "refused"  # it was not begun, and nothing was spent


class ChatLine(Struct, frozen=True, omit_defaults=True):
    """One line of chat.jsonl. Which fields it has follows from its kind."""

    kind: str
    at: str = ""
    id: str = ""  # of a message or a call
    turn: int = 0
    by: str = ""
    text: str = ""
    name: str = ""  # the tool
    arguments: dict[str, Any] = field(default_factory=dict)
    ok: bool = True
    answer: int = 0  # which answer of the turn, counted from 1
    answers: tuple[str, ...] = ()  # the messages that a turn takes up, or that are taken back
    whole: bool = False  # the turn was told everything: it is the first, or the first after a cut
    status: str = ""  # how it ended
    reason: str = ""
    usage: Usage | None = None
    brain: str = ""
    order: bool = False  # the process that sent it was seen to be the operator's
    schema: int = 1


class Turn(Struct, frozen=True):
    """One turn: what the operator said, what the model was told, what it did and said, and how that ended."""

    number: int
    begun: ChatLine
    messages: tuple[ChatLine, ...] = ()
    told: str = ""
    steps: tuple[ChatLine, ...] = ()  # said, call, result
    end: ChatLine | None = None

    @property
    def size(self) -> int:
        """Characters that it takes in a request, about."""
        return len(self.told) + sum(len(step.text) + len(str(step.arguments)) for step in self.steps)

    @property
    def answer(self) -> str:
        """What was said after the last call: the answer, or as much of it as there is."""
        pieces: list[str] = []
        for step in self.steps:
            pieces = [*pieces, step.text] if step.kind == EntryKind.SAID else []
        return "".join(pieces)

    @property
    def asked(self) -> str:
        """The operator's words."""
        return "\n\n".join(message.text for message in self.messages)


class Conversation(Struct, frozen=True):
    """All turns, the oldest first, and the messages that wait for one. Those up to `fresh` are of earlier ones."""

    turns: tuple[Turn, ...] = ()
    fresh: int = 0
    waiting: tuple[ChatLine, ...] = ()
    cut: ChatLine | None = None  # the last one: turns before `cut.turn` are not sent
    last: int = 0  # the number of the newest turn, in any conversation

    @property
    def current(self) -> tuple[Turn, ...]:
        """The turns of the newest conversation."""
        return tuple(turn for turn in self.turns if turn.number > self.fresh)

    @property
    def open(self) -> Turn | None:
        """The turn that is under way."""
        newest = self.turns[-1] if self.turns else None
        return newest if newest is not None and newest.end is None else None

    def turn(self, number: int) -> Turn | None:
        """Return the turn of this number."""
        return next((turn for turn in reversed(self.turns) if turn.number == number), None)

    def ended_since(self, number: object) -> tuple[Turn, ...]:
        """Return the turns after this one that are over and reached the agent, up to the first that is not over."""
        after = number if isinstance(number, int) else 0
        over: list[Turn] = []
        for turn in self.turns:
            if turn.end is None:
                break
            if turn.number > after and turn.told:
                over.append(turn)
        return tuple(over)

    def sent(self, before: int) -> list[Turn]:
        """Return the turns that are sent before turn `before`: those that reached a model, behind the last cut."""
        first = self.cut.turn if self.cut is not None else 0
        return [turn for turn in self.current if first <= turn.number < before and turn.told]


def conversation_of(lines: Iterable[ChatLine]) -> Conversation:
    """Return what these lines make; any of them may be missing."""
    book = ConversationBook()
    for line in lines:
        book.take(line)
    return book.conversation


class ConversationBook:
    """Takes in one line after the other."""

    def __init__(self) -> None:
        self._turns: dict[int, Turn] = {}
        self._waiting: dict[str, ChatLine] = {}
        self._cut: ChatLine | None = None
        self._fresh = 0

    @property
    def conversation(self) -> Conversation:
        turns, waiting = tuple(self._turns.values()), tuple(self._waiting.values())
        return Conversation(turns, self._fresh, waiting, self._cut, max(self._turns, default=0))

    def take(self, line: ChatLine) -> None:
        """Take in the next line; one of an unknown kind, or of a turn that never began, says nothing."""
        if line.kind == EntryKind.MESSAGE:
            self._waiting[line.id] = line
        elif line.kind == EntryKind.BACK:
            self._waiting = {name: message for name, message in self._waiting.items() if name not in line.answers}
        elif line.kind == EntryKind.FRESH:
            self._fresh, self._cut = max(self._turns, default=0), None
        elif line.kind == EntryKind.CUT:
            self._cut = line
        elif line.kind == EntryKind.TURN:
            self._begin(line)
        elif turn := self._turns.get(line.turn):
            self._turns[line.turn] = _with(turn, line)

    def _begin(self, line: ChatLine) -> None:
        messages = tuple(self._waiting.pop(name) for name in line.answers if name in self._waiting)
        self._turns.setdefault(line.turn, Turn(line.turn, line, messages))


def _with(turn: Turn, line: ChatLine) -> Turn:
    if turn.end is not None:
        return turn  # a worker that outlived the judgement that it was gone
    if line.kind == EntryKind.TOLD:
        return msgspec.structs.replace(turn, told=turn.told + line.text)
    if line.kind == EntryKind.END:
        return msgspec.structs.replace(turn, end=line)
    return msgspec.structs.replace(turn, steps=(*turn.steps, line))


def pieces(text: str) -> Iterator[str]:
    """Yield a text in parts that fit into lines."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def too_long(turns: list[Turn]) -> bool:
    """Return whether earlier turns take more room than they may."""
    return sum(turn.size for turn in turns) > MOST_HISTORY


def cut_of(conversation: Conversation, turns: list[Turn], at: str, file: str) -> ChatLine:
    """Return the line that cuts the older of these turns off; its text says what was asked and answered in them."""
    room, first = KEPT_HISTORY, len(turns)
    while first > 1 and turns[first - 1].size <= room:
        first -= 1
        room -= turns[first].size
    first_kept = turns[first].number if first < len(turns) else turns[-1].number + 1
    gone = [turn for turn in conversation.current if turn.number < first_kept and turn.told]
    return ChatLine(EntryKind.CUT, at=at, turn=first_kept, text=_digest(gone, file))


def _digest(turns: list[Turn], file: str) -> str:
    """Return what stands for turns that are no longer sent: the newest of them first in line for the room there is."""
    entries: list[str] = []
    room = _DIGEST
    for turn in reversed(turns):
        entry = f"- asked: {one_line(turn.asked, _WORDS)}\n  answered: {one_line(turn.answer, _WORDS) or '(nothing)'}"
        if len(entry) > room:
            break
        room -= len(entry)
        entries.insert(0, entry)
    left_out = len(turns) - len(entries)
    more = f"\n{left_out} turns before these are left out." if left_out else ""
    return (
        f"[{len(turns)} earlier turns of this conversation are not sent any more. They are whole in {file}.{more}\n"
        + ("\n".join([*entries, "]"]))
    )


class LiveTurn(Struct, frozen=True):
    """What a turn that is under way does now."""

    text: str = ""  # of the answer that is being written
    doing: str = ""  # the call that runs, in a few words
    waits: str = ""  # what it waits for
    approval: str = ""  # the id of the request that a person is to answer


STILL = LiveTurn()  # nothing is being written


def segments(turn: Turn, live: LiveTurn = STILL) -> list[str | ChatLine]:
    """Return what a turn said, in one text between two calls, and its calls; `live` is what is being written."""
    parts: list[str | ChatLine] = []
    for step in turn.steps:
        if step.kind == EntryKind.CALL:
            parts.append(step)
        elif step.kind == EntryKind.SAID and parts and isinstance(last := parts[-1], str):
            parts[-1] = last + step.text
        elif step.kind == EntryKind.SAID:
            parts.append(step.text)
    last_text = parts[-1] if parts and isinstance(parts[-1], str) else ""
    if len(live.text) > len(last_text):
        parts = [*(parts[:-1] if last_text else parts), live.text]
    return parts


def call_words(call: ChatLine) -> str:
    """Return a call in a few words: the tool, and the first text it was given."""
    first = next((value for value in call.arguments.values() if isinstance(value, str) and value.strip()), "")
    return one_line(f"{call.name} {first}", 120)


def end_words(turn: Turn) -> str:
    """Return how a turn ended where that is not as it should be, as a sentence without a capital."""
    if turn.end is None or turn.end.status == TurnEnd.DONE:
        return ""
    reason = f": {one_line(turn.end.reason, 300)}" if turn.end.reason else ""
    names = {TurnEnd.REFUSED: "not begun", TurnEnd.STOPPED: "stopped"}
    status = TurnEnd(turn.end.status) if turn.end.status in list(TurnEnd) else TurnEnd.FAILED
    return f"{names.get(status, status)}{reason}"


def live_turn(events: Iterable[TaskEvent], live: LiveTurn = STILL) -> LiveTurn:
    """Return what further events of a turn's worker say of this moment."""
    for event in events:
        if event.kind == "text":
            live = LiveTurn(live.text + event.text)
        elif event.kind == "call":
            live = LiveTurn(doing=event.text)
        elif event.kind in ("result", "started"):
            live = LiveTurn()
        elif event.kind in ("waiting", "wait"):
            live = msgspec.structs.replace(live, waits=event.text, approval=str(event.data.get("approval", "")))
        elif event.kind == "answered":
            live = msgspec.structs.replace(live, waits="", approval="")
    return live
