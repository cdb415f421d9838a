"""A worker on another host asks its engine: a line of asks.jsonl goes there, a line of answers.jsonl comes back.

Both files are the worker's own; its host carries what is new in them. While no answer comes the worker waits, and its
time stands still: without word from its engine it makes no paid call.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from lumen_tui.model import asks
from lumen_tui.model.asks import Ask, AskAnswer, AskRefused, AskReply, HoldReply, Question
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.tasks import Budget, Spec, Usage
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import ProviderError, Reserve
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.line_access import split_lines
from lumen_tui.tools.base import Stopped
from lumen_tui.worker.world import Stopper

_FIRST_LOOK, _LAST_LOOK = 0.005, 0.1  # seconds between two looks for an answer, which grow
_answer = msgspec.json.Decoder(AskAnswer).decode


class _Numbered(msgspec.Struct):
    number: int


class EngineLink:
    """The asks of one attempt."""

    def __init__(self, folder: Path, attempt: int, stopper: Stopper) -> None:
        """Go on behind the asks of earlier attempts. StoreError, OSError."""
        self._journal = Journal(folder / asks.ASKS)
        self._answers = Follower(folder / asks.ANSWERS)
        self._attempt, self._stopper = attempt, stopper
        self._last = max((line.number for line in self._journal.records(_Numbered)), default=0)

    def note(self, what: Question) -> int:
        """Tell the engine; durable here, whenever it gets there. Return the number. StoreError."""
        with self._stopper.guard():
            self._journal.append(Ask(self._last + 1, self._attempt, what))
            self._last += 1
        return self._last

    def ask(self, what: Question) -> tuple[int, AskReply]:
        """Return the number of an ask and what the engine answers, however long that takes. Raises Stopped."""
        number, look = self.note(what), _FIRST_LOOK
        with self._stopper.untimed():
            while (reply := self._take(number)) is None:
                time.sleep(look)
                self._stopper.poll()
                if self._stopper.stopped():
                    raise Stopped
                look = min(_LAST_LOOK, look * 1.5)
        return number, reply

    def _take(self, number: int) -> AskReply | None:
        """Return the answer to that ask, which is the newest one; None where it has not come."""
        reply: AskReply | None = None
        for offset, data in self._answers.pieces():
            for _, line in split_lines(data, offset):
                try:
                    answer = _answer(line)
                    reply = answer.reply if answer.number == number else reply
                except UNDECODABLE as error:
                    reply = AskRefused(f"its answer cannot be read: {one_line(str(error), 200)}")
        return reply


class _HeldThere(NamedTuple):
    id: str
    day: str
    number: int


class LinkAccount:
    """The account of an attempt whose ledger is its engine's."""

    def __init__(self, link: EngineLink, spec: Spec) -> None:
        self.own: Budget = spec.budget
        self.held: _HeldThere | None = None
        self.config = BudgetConfig()  # the caps are the engine's to know
        self._link = link

    def reserve(self, call: Reserve, *, seconds: float, waited: float) -> HoldReply:
        """Have a call set aside. ProviderError where the engine refuses."""
        self.held = None
        what = asks.HoldAsk(call.usage, call.model, call.least, call.tells, call.purpose, seconds, waited)
        number, reply = self._link.ask(what)
        held = _about_room(reply)
        if not held.short:
            self.held = _HeldThere(held.key, held.day, number)
        return held

    def send(self) -> None:
        """Tell that the request of the held call leaves now. StoreError where that cannot be noted here."""
        if self.held is not None:
            self._link.note(asks.SentNote(self.held.number))

    def pay(self, usage: Usage, *, seconds: float, model: str) -> bool:
        """Tell what a call did cost; return whether it had been set aside. StoreError as for `send`."""
        held, self.held = self.held, None
        if held is None:
            self._link.note(asks.SpentNote(usage, model, seconds))
            return False
        self._link.note(asks.PaidNote(usage, held.number, seconds=seconds))
        return True

    def waits(self, reason: str, usage: Usage, model: str) -> None:
        """Tell that a call waits for so much room."""
        self._link.note(asks.WaitNote(reason, usage, model))

    def changed(self) -> bool:
        """Wait until there may be room."""
        self._link.ask(asks.NewsAsk())
        return True

    def is_driven(self) -> bool:
        """Return that an engine is there: it has just answered."""
        return True

    def reached(self) -> HoldReply:
        """Return which of the task's own caps is used up. ProviderError where the engine refuses."""
        return _about_room(self._link.ask(asks.CapsAsk())[1])

    def book(self, key: str, day: str, usage: Usage) -> None:
        """Settle a call of the attempt before, unless that did."""
        self._link.note(asks.PaidNote(usage, key=key))


def _about_room(reply: AskReply) -> HoldReply:
    if isinstance(reply, HoldReply):
        return reply
    words = reply.reason if isinstance(reply, AskRefused) else "it answered something else"
    raise ProviderError(f"the engine sets no call aside: {words}")
