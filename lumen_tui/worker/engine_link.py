"""A worker on another host asks its engine: a line of asks.jsonl goes there, a line of answers.jsonl comes back.

Both files are the worker's own; its host carries what is new in them. While no answer comes the worker waits, and its
time stands still: without word from its engine it makes no paid call.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from lumen_tui.model import asks
from lumen_tui.model.approvals import Approval, Decision
from lumen_tui.model.asks import (
    ApprovalFile,
    Ask,
    AskAnswer,
    Asked,
    AskRefused,
    AskReply,
    HoldReply,
    Noted,
    Question,
    Steers,
    ToolBegun,
    ToolDone,
    ToolWaits,
)
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.steering import Steer
from lumen_tui.model.tasks import Budget, Spec, Usage
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import ProviderError, Reserve
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.line_access import split_lines
from lumen_tui.tools.agent.tools import AT_ENGINE
from lumen_tui.tools.base import Context, Stopped, ToolError, ToolResult
from lumen_tui.tools.policy.verdict import RequestedCall
from lumen_tui.tools.toolbox import Handling
from lumen_tui.worker.stopping import Stopper

_FIRST_LOOK, _LAST_LOOK = 0.005, 0.1  # seconds between two looks for an answer, which grow
_answer = msgspec.json.Decoder(AskAnswer).decode


R = TypeVar("R", bound=AskReply)


class EngineRefuses(Exception):
    """The engine does not do what it was asked; the text says why."""


class _Numbered(msgspec.Struct):
    number: int


class EngineLink:
    """The asks of one attempt."""

    def __init__(self, folder: Path, attempt: int, stopper: Stopper) -> None:
        """Go on behind the asks of earlier attempts. StoreError, OSError."""
        self._journal = Journal(folder / asks.ASKS, asks.MOST_BYTES)
        self._answers = Follower(folder / asks.ANSWERS)
        self._attempt, self._stopper = attempt, stopper
        self._last = max((line.number for line in self._journal.records(_Numbered)), default=0)

    def note(self, what: Question) -> int:
        """Tell the engine; durable here, whenever it gets there. Return the number. StoreError."""
        with self._stopper.guard():
            self._journal.append(Ask(self._last + 1, self._attempt, what))
            self._last += 1
        return self._last

    def expect(self, what: Question, kind: type[R]) -> tuple[int, R]:
        """Return the number of an ask and its answer of that kind. EngineRefuses; raises Stopped."""
        number, reply = self.ask(what)
        if isinstance(reply, kind):
            return number, reply
        raise EngineRefuses(reply.reason if isinstance(reply, AskRefused) else "it answers something else")

    def call(self, what: Question, kind: type[R]) -> R:
        """Return the answer of that kind to an ask of a tool. ToolError; raises Stopped."""
        try:
            return self.expect(what, kind)[1]
        except EngineRefuses as error:
            raise ToolError(f"the engine refuses: {error}") from error

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
                    if answer.number == number and not isinstance(answer.reply, ToolBegun):
                        reply = answer.reply
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
        number, held = self._room(what)
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
        return self._room(asks.CapsAsk())[1]

    def book(self, key: str, day: str, usage: Usage) -> None:
        """Settle a call of the attempt before, unless that did."""
        self._link.note(asks.PaidNote(usage, key=key))

    def _room(self, what: Question) -> tuple[int, HoldReply]:
        try:
            return self._link.expect(what, HoldReply)
        except EngineRefuses as error:
            raise ProviderError(f"the engine sets no call aside: {error}") from error


class LinkApprovals:
    """Requests to a person, which are on file where the engine is. ToolError where it refuses."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link

    def find(self, approval_id: str) -> ApprovalFile:
        """Return a request as it is on file."""
        return self._link.call(asks.ApprovalAsk(approval_id), ApprovalFile)

    def ask(self, request: Approval) -> None:
        """Put a request on file, once."""
        self._link.call(asks.PersonAsk(request), Noted)

    def take(self, request: Approval) -> Decision | None:
        """Take the decision, if there is one."""
        return self._link.call(asks.DecisionAsk(request.id), ApprovalFile).decision

    def wait(self, request: Approval) -> Decision:
        """Take the decision once there is one, at the latest when the time of the request is over. Raises Stopped."""
        if decision := self._link.call(asks.DecisionAsk(request.id, waits=True), ApprovalFile).decision:
            return decision
        raise ToolError("the engine gave no decision")

    def questions(self) -> int:
        """Return how many questions the task has asked."""
        return self._link.call(asks.QuestionsAsk(), Asked).number


class LinkSteers:
    """What the operator says to a task on a host: the engine has it on file, and a copy of that file comes here."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link

    def take(self, *, again: bool) -> list[Steer]:
        """Take what no request held yet; with `again` also what one of an earlier attempt did."""
        return list(self._link.call(asks.SteersAsk(again), Steers).taken)

    def close(self, reason: str) -> list[Steer]:
        """Take nothing any more. What nobody read is marked so where the engine is."""
        self._link.note(asks.DeafNote(reason))
        return []


class LinkHandling(Handling):
    """Calls of tools that work on the state of the agent are made where that is, and all others here."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link

    def run(self, context: Context, requested: RequestedCall) -> ToolResult:
        """Run the tool of an admitted call."""
        if requested.tool.name not in AT_ENGINE:
            return super().run(context, requested)
        arguments = msgspec.json.encode(requested.canonical).decode()
        what = asks.ToolAsk(requested.tool.name, arguments, tuple(sorted(context.memo.web)))
        reply = self._link.ask(what)[1]
        if isinstance(reply, ToolWaits):
            context.wait(reply.tasks, reply.seconds)
            reply = self._link.ask(msgspec.structs.replace(what, waited=True))[1]
        if not isinstance(reply, ToolDone):
            raise ToolError(reply.reason if isinstance(reply, AskRefused) else "the engine answers something else")
        if not reply.ok:
            raise ToolError(reply.text)
        return ToolResult(reply.text, data=msgspec.json.decode(reply.data, type=dict), summary=reply.summary)


def handling_of(link: EngineLink | None) -> Handling:
    """Return how the calls of a task are made, whose engine is at the other end of the link, or here."""
    return LinkHandling(link) if link else Handling()
