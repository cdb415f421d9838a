"""What a worker on a host asks of its engine is carried out here, in its order and each once, whatever is killed.

An ask has its number for good, and so has what is made of it: to carry it out once more finds that. The answer is
durable before it is sent. Whose ask it is, and what it may have, is told by the task's own spec and settings here;
nothing that a host says of that counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lumen_tui.hosts.person_asks import PersonAsks
from lumen_tui.hosts.tool_asks import CUT_OFF, ToolAsks
from lumen_tui.model import asks, budget
from lumen_tui.model.asks import (
    ApprovalAsk,
    Ask,
    AskAnswer,
    Asked,
    AskRefused,
    AskReply,
    CapsAsk,
    DeafNote,
    DecisionAsk,
    HoldAsk,
    HoldReply,
    NewsAsk,
    Noted,
    OpenTasks,
    PaidNote,
    PersonAsk,
    QuestionsAsk,
    SentNote,
    SpentNote,
    Steers,
    SteersAsk,
    TasksAsk,
    ToolAsk,
    ToolBegun,
    ToolDone,
    WaitNote,
)
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.ids import BadId
from lumen_tui.model.spendbook import LedgerEntry
from lumen_tui.model.tasks import Budget, Spec, Usage
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import Reserve
from lumen_tui.storage import files
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.stamped import Stamped
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.tasks import family, task_records
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.worker.accounts import TaskAccount

_NOTES = (SentNote, PaidNote, SpentNote, WaitNote)  # of an attempt that is over they still count
_ask = msgspec.json.Decoder(Ask).decode


class _Numbered(msgspec.Struct):
    number: int


@dataclass
class _Call:
    """A call that was set aside for a worker on a host."""

    key: str
    day: str
    tells: bool  # it says when the request leaves; before that it costs nothing
    sent: bool = False
    paid: bool = False


class AskHandler:
    """Answers the asks of one attempt, and takes in what earlier ones left."""

    def __init__(self, layout: Layout, spec: Spec, attempt: int, now: Callable[[], float]) -> None:
        """Go on behind the answers that are there. StoreError, OSError."""
        self._layout, self._spec, self._attempt, self._now = layout, spec, attempt, now
        folder = layout.task(spec.id)
        self._account = TaskAccount(layout, now, spec, attempt)
        self._limits = Stamped(lambda: [folder / "spec.json"], lambda: _budget(folder, self._account.own))
        self._follower = Follower(folder / asks.ASKS)
        self._journal = Journal(folder / asks.ANSWERS, asks.MOST_BYTES)
        self._replies = {answer.number: answer.reply for answer in self._journal.records(AskAnswer)}
        self._calls: dict[int, _Call] = {}
        self._queue: deque[Ask] = deque()
        self._persons = PersonAsks(layout, spec, attempt, now)
        self._tools = ToolAsks(Store(layout.root), spec, attempt, now, self._persons)
        self._given: set[str] = set()  # messages to the task that this attempt has
        self._used: set[str] = set()  # approvals that allowed a call which was made here

    def serve(self) -> int:
        """Carry out what is new, and return how many answers that made. StoreError: the next call does the rest."""
        before = len(self._replies)
        self._queue.extend(self._new())
        if self._limits.refresh():
            self._account.own = self._limits.value
        while self._queue:
            ask = self._queue[0]
            reply = self._reply(ask)
            if reply is None and len(self._queue) == 1:
                break  # its worker waits for the answer, and so for more than was here until now
            self._keep(ask, reply or AskRefused("it was not waited for"))
            self._queue.popleft()
        return len(self._replies) - before

    def _reply(self, ask: Ask) -> AskReply | None:
        known = self._replies.get(ask.number)
        if isinstance(known, ToolBegun):
            return ToolDone(CUT_OFF, ok=False)
        try:
            return known or self._carry_out(ask)
        except BadId as error:
            return AskRefused(one_line(str(error), 200))

    def close(self) -> None:
        """Let go of what was set aside for requests that never left, once the worker has gone and all it wrote is here.

        Calls that did leave and that nobody paid count in full, as those of any worker that is gone.
        """
        book = self._account.ledger.refresh()
        for call in self._calls.values():
            if call.tells and not (call.sent or call.paid) and (call.key in book.open or call.key in book.lost):
                self._account.ledger.settle(call.key, call.day, self._now(), Usage())
        self._account.ledger.close()
        self._follower.close()

    def _new(self) -> Iterator[Ask]:
        for offset, data in self._follower.pieces():
            for _, line in split_lines(data, offset):
                try:
                    yield _ask(line)
                except UNDECODABLE as error:
                    self._refuse(line, one_line(str(error), 200))

    def _refuse(self, line: bytes, error: str) -> None:
        """Refuse what cannot be read, where it says at least by which number it is answered."""
        try:
            number = msgspec.json.decode(line, type=_Numbered).number
        except UNDECODABLE:
            return  # torn by a kill: nobody waits for it
        if number not in self._replies:
            self._append(number, AskRefused(f"an ask of another version: {error}"))

    def _keep(self, ask: Ask, reply: AskReply) -> None:
        """Have the reply on file, and remember what follows from the ask."""
        if isinstance(self._replies.get(ask.number), ToolBegun | None):
            self._append(ask.number, reply)
        match ask.what:
            case HoldAsk(tells=tells) if isinstance(reply, HoldReply) and not reply.short:
                self._calls[ask.number] = _Call(reply.key, reply.day, tells)
            case SentNote(number) if number in self._calls:
                self._calls[number].sent = True
            case PaidNote() if call := self._call_of(ask.what):
                call.paid = True
            case SteersAsk() if isinstance(reply, Steers) and ask.attempt == self._attempt:
                self._given.update(steer.id for steer in reply.taken)
            case ToolAsk() if isinstance(reply, ToolDone):
                self._used.add(reply.approval)

    def _append(self, number: int, reply: AskReply) -> None:
        self._journal.append(AskAnswer(number, reply))
        self._replies[number] = reply

    def _carry_out(self, ask: Ask) -> AskReply | None:
        """Return what came of an ask; None where its worker has to wait for that. StoreError."""
        what, key = ask.what, asks.key_of(self._spec.id, ask.number)
        if ask.attempt != self._attempt and not isinstance(what, _NOTES):
            return AskRefused(f"attempt {ask.attempt} is over")
        match what:
            case HoldAsk():
                return None if read_kill(self._layout) else self._hold(what, key)
            case NewsAsk():
                return Noted() if self._account.changed() else None
            case CapsAsk():
                return self._account.reached()
            case SpentNote(usage, model, seconds):
                self._account.spend(usage, seconds=seconds, model=model, key=key)
            case WaitNote(reason, usage, model):
                self._account.waits(one_line(reason, 300), usage, model, key)
            case SentNote(number):
                return self._send(number)
            case PaidNote(usage, seconds=seconds):
                return self._pay(what, usage, seconds)
            case ToolAsk():
                return self._call(ask.number, what)
            case TasksAsk(tasks):
                return OpenTasks(tuple(family.not_over(self._layout, tasks)))
            case _:
                return self._about_persons(what)
        return Noted()

    def _about_persons(self, what: asks.Question) -> AskReply | None:
        match what:
            case ApprovalAsk(name):
                return self._persons.find(name)
            case PersonAsk(request):
                return self._persons.ask(request)
            case DecisionAsk(name, waits):
                return self._persons.decide(name, waits=waits)
            case QuestionsAsk():
                return Asked(approvals.questions_of(self._layout, self._spec.id))
            case SteersAsk(again):
                return self._persons.steers(again=again, given=self._given)
            case DeafNote(reason):
                self._persons.close(one_line(reason, 300))
        return Noted()

    def _call(self, number: int, what: ToolAsk) -> AskReply:
        """Make a call of a tool. One that must not be made twice is known to have begun before it does."""
        if self._tools.must_not_repeat(what.name):
            self._append(number, ToolBegun())
        return self._tools.run(what, self._used)

    def _send(self, number: int) -> AskReply:
        call = self._calls.get(number)
        if call is None:
            return AskRefused(f"ask {number} set nothing aside")
        self._account.ledger.sent(call.key, call.day, self._now())
        return Noted()

    def _hold(self, what: HoldAsk, key: str) -> HoldReply:
        """Set a call aside, unless that was done and a kill came before the answer."""
        call = Reserve(what.usage, what.model, what.least, False, what.purpose)
        book = self._account.ledger.refresh()
        if held := book.open.get(key) or book.lost.get(key):
            return _reply_again(held, call)
        # Not as `unsent`: its worker outlives this process, whose end would take such a hold back.
        return self._account.reserve(call, seconds=what.seconds, waited=what.waited, key=key)

    def _pay(self, what: PaidNote, usage: Usage, seconds: float) -> AskReply:
        call = self._call_of(what)
        if call is not None:
            self._account.ledger.settle(call.key, call.day, self._now(), usage, seconds=seconds)
            return Noted()
        book = self._account.ledger.refresh()
        held = book.open.get(what.key) or book.lost.get(what.key)
        if held is None or held.task != self._spec.id:  # of an attempt that ran here
            return AskRefused("no call of this task is set aside under that key")
        self._account.ledger.settle(held.id, held.day, self._now(), usage)
        return Noted()

    def _call_of(self, what: PaidNote) -> _Call | None:
        if what.hold:
            return self._calls.get(what.hold)
        return next((call for call in self._calls.values() if call.key == what.key), None)


def _reply_again(held: LedgerEntry, call: Reserve) -> HoldReply:
    """Return the reply to a call that is set aside already, with the answer that it has room for."""
    least = call.least or call.usage
    if held.tokens >= call.usage.weight and held.usd >= call.usage.usd:
        return HoldReply(held.id, held.day)
    share = (held.tokens - least.weight) / max(1, call.usage.weight - least.weight)
    output = budget.between(least, call.usage, min(1.0, max(0.0, share))).output_tokens
    return HoldReply(held.id, held.day, output=output, words="a cap has no room for more")


def _budget(folder: Path, known: Budget) -> Budget:
    """Return what the task may spend, also where a person has changed that since; `known` while it cannot be read."""
    try:
        return task_records.read_spec(folder).budget
    except (task_records.DamagedTask, files.StoreError, OSError):
        return known
