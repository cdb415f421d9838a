"""What each beat looks at besides tasks: approval requests, the budget, roles hired for a time, hooks, journals."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from lumen_tui.actions import roles as actions
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.child_process import ChildProcess
from lumen_tui.engine.events import EventLog
from lumen_tui.engine.mail.outbox import settle
from lumen_tui.model import budget, ids, times
from lumen_tui.model.approvals import BY_END, EXPIRED, SEND_MAIL, Approval, Decision
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.jsontext import decode
from lumen_tui.model.loop import TokenBudget
from lumen_tui.model.records import Signal
from lumen_tui.model.requests.roles import FireRole
from lumen_tui.model.seals import SealHead
from lumen_tui.model.spendbook import NOTICE, LedgerEntry, SpendView
from lumen_tui.model.tasks import TaskView
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, sealer
from lumen_tui.storage.damage import DamageScan
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.sealer import Sealer
from lumen_tui.storage.stamped import Stamp, Stamped, stamp
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.memory import nodes
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import list_roles

_ENDED = "the task ended before anybody answered"
_HOOK_BYTES = 1024 * 1024  # bytes of the journal of hooks read in one pass
_EXPIRED_EVENT = "approval_expired"
Find = Callable[[str], TaskView | None]


class ApprovalMonitor:
    """Expires and closes approval requests for one engine."""

    def __init__(self, layout: Layout, log: EventLog, find: Find) -> None:
        """Use `find` to look up a task by its id."""
        self._layout = layout
        self._log = log
        self._find = find
        self._stamp: Stamp | None = None
        self._next = float("inf")  # when the first of those that wait is overdue
        self._reported: set[str] | None = None  # ids of the expired ones that are in events.jsonl

    def poll(self, now: float) -> None:
        """Check all requests if the folder changed since the last pass, or the time of one is over."""
        if self.due(now) or stamp(self._layout.approvals) != self._stamp:
            self.check_all(now)

    def due(self, now: float) -> bool:
        """Return whether `poll` has something to do because of the time."""
        return now >= self._next

    def check_all(self, now: float) -> None:
        """Expire what is overdue, and close what belongs to tasks that have ended."""
        self._stamp, self._next = stamp(self._layout.approvals), float("inf")
        for approval_id in approvals.half_archived(self._layout):
            approvals.archive(self._layout, approval_id)
        for request in approvals.every(self._layout):
            task = self._find(request.task_id)
            if task is None and self._layout.task(request.task_id).is_dir():
                continue  # there, but not read yet, or not to be read
            if now < request.expires:
                self._next = min(self._next, request.expires)
            if request.lasting:
                self._deliver(request, now)
            elif task is None or task.finished:
                self._close(request, now)
            else:
                self._expire(request, now)

    def _expire(self, request: Approval, now: float) -> None:
        """Refuse a request that is overdue. Its worker may have done so itself; it is reported either way."""
        answer = approvals.decision(self._layout, request.id)
        if answer is None and now >= request.expires:
            answer = approvals.expire(self._layout, request, now)
        self._report(request, answer, now)

    def _deliver(self, request: Approval, now: float) -> None:
        """Send the main agent the answer to its question, once: as an order where it is the operator's; or its mail.

        The signals' ids follow from the question's, so that a kill between sending and noting that sends none twice.
        """
        answer = approvals.decision(self._layout, request.id)
        if answer is None and now >= request.expires:
            answer = approvals.expire(self._layout, request, now)
        if answer is None or approvals.take(self._layout, request, request.attempt, now) is None:
            return
        if request.tool == SEND_MAIL:
            settle(self._layout, request, answer, now)
            self._report(request, answer, now)
            approvals.archive(self._layout, request.id)
            return
        name = load_config(self._layout)[0].agent.name
        asked = Signal(
            id=f"sig-{ids.short_hash(request.id)}",
            message=_asked_words(request, answer),
            created_at=times.iso(now),
            target_agent=name,
        )
        reply = replace(
            asked,
            id=f"sig-{ids.short_hash(f'{request.id} answer')}",
            message=f"To your question {request.id}: {answer.answer}",
            sender=answer.by,
            order=answer.order,
            reply_to=asked.id,
        )
        wanted = [asked] if answer.ended else [asked, reply]
        sent = nodes.find(self._layout.signals, [signal.id for signal in wanted])
        Journal(self._layout.signals).append_all(signal for signal in wanted if signal.id not in sent)
        self._report(request, answer, now)
        approvals.archive(self._layout, request.id)

    def _report(self, request: Approval, answer: Decision | None, now: float) -> None:
        if answer is None or answer.ended != EXPIRED:
            return
        if self._reported is None:
            self._reported = {str(event.data.get("approval")) for event in self._log.newest(_EXPIRED_EVENT)}
        if request.id not in self._reported:
            waited = times.span(max(0.0, request.expires - request.asked))
            end = f"its default was taken after {waited}" if request.question else f"denied by itself after {waited}"
            text = f"{request.role} asked: {request.summary}: expired, {end}"
            self._log.add(_EXPIRED_EVENT, text, now, task_id=request.task_id, approval=request.id)
            self._reported.add(request.id)

    def _close(self, request: Approval, now: float) -> None:
        """Close the request of a task that has ended; one that is still open is withdrawn first."""
        withdrawn = Decision(
            allowed=False, hash=request.hash, at=times.iso(now), by=BY_END, reason=_ENDED, ended="withdrawn"
        )
        try:
            approvals.decide(self._layout, request, withdrawn, now)
            self._log.add("approval_withdrawn", f"{request.role}: {request.summary}", now, task_id=request.task_id)
        except approvals.Answered as error:
            self._report(request, error.decision, now)
        approvals.archive(self._layout, request.id)


def _asked_words(request: Approval, answer: Decision) -> str:
    """Return what the main agent had asked, and what became of it."""
    end = f"nobody answered in time: go on with your default, {request.default}"
    how = end if answer.ended else f"{one_line(answer.by, 60)} answered, as the signal after this one says"
    return f"Your question {request.id}, “{request.question}”: {how}"


class Budgets:
    """Reads the ledger in each pass. What it finds holds until the next one."""

    def __init__(self, store: Store, log: EventLog) -> None:
        self._log = log
        self._ledger = Ledger(store.layout)
        self._config = BudgetConfig()
        self._day = ""
        self._costs = True
        self._reached: dict[str, str] = {}  # role, or nothing for the day -> why nothing of it starts, in words
        self._full_since = 0.0
        self.view = SpendView()

    def poll(self, config: BudgetConfig, now: float, *, costs: bool) -> None:
        """Take in new ledger entries and report changes. `costs`: tasks that start now use a model."""
        self._config = config
        self._day = budget.day_of(now, config.day_starts)
        self._costs = costs
        for hold in self._ledger.give_up_dead(now):
            self._report_dead(hold, now)
        self.view = budget.view(self._ledger.book, config, now)
        self._warn(now)
        self._report_full(now)

    def _report_dead(self, hold: LedgerEntry, now: float) -> None:
        """Report what became of the amount that a dead worker had set aside."""
        amount = f"{hold.tokens:,} tokens, ${hold.usd:.4f}"
        if hold.unsent:
            words = f"{amount} are free again: the worker ended before its request left"
            self._log.add("spend_freed", words, now, task_id=hold.task, call=hold.id)
            return
        words = f"{amount} count in full: the worker ended before it reported the cost"
        self._log.add("spend_unknown", words, now, task_id=hold.task, call=hold.id)

    def refusal(self, role: str) -> str:
        """Return why no task of a role may start now; empty if one may."""
        if not self._costs:
            return ""
        book = self._ledger.book
        return budget.blocked(book, self._config, self._day) or budget.blocked(book, self._config, self._day, role)

    def today(self, config: BudgetConfig, now: float) -> tuple[str, TokenBudget, float]:
        """Return what loop-state records: the day, its tokens, its dollars."""
        spend = budget.view(self._ledger.refresh(), config, now)
        remaining = max(0, spend.tokens_cap - spend.tokens)
        tokens = TokenBudget(window="day", limit=spend.tokens_cap, used=spend.tokens, remaining=remaining)
        return spend.day, tokens, spend.usd

    def _warn(self, now: float) -> None:
        """Warn once a day for each cap, also across restarts."""
        if not self.view.warned:
            return
        for cap in budget.nearly_full(self._ledger.book, self._config, self._day):
            name = f"warn-{self._day}-{cap.name}"
            if name in self._ledger.book.notices:
                continue
            if self._ledger.once(LedgerEntry(name, NOTICE, times.iso(now), day=self._day, text=cap.warning)):
                self._log.add("budget_warning", cap.warning, now)

    def _report_full(self, now: float) -> None:
        before, day = self._reached, self.view.full
        self._reached = {"": day} if day else dict(self.view.full_roles)
        for name in self._reached.keys() - before.keys():
            self._full_since = now
            self._log.add("budget_full", f"{self._reached[name]}; raise it for today, or wait for the next day", now)
        for name in before.keys() - self._reached.keys() if not day else ():
            self._log.add(
                "budget_resumed", f"goes on: {self._why_resumed()}. It had paused because {before[name]}", now
            )

    def _why_resumed(self) -> str:
        book = self._ledger.book
        newest = max(book.grants.values(), key=lambda grant: grant.at, default=None)
        if newest is not None and times.epoch(newest.at) >= self._full_since - 1:
            return f"{newest.by} raised the budget" + (f" ({newest.text})" if newest.text else "")
        return "a new day began or there is room again"


class RoleExpiry:
    """Fires roles whose time is over, once per beat. Roles are read again only if a file of theirs changed."""

    def __init__(self, store: Store, log: EventLog) -> None:
        self._store = store
        self._log = log
        self._ends: Stamped[list[tuple[float, str]]] = Stamped(self._files, self._read)

    def _files(self) -> list[Path]:
        folder = self._store.layout.roles
        return [folder, *sorted(folder.glob("*.md"))]

    def _read(self) -> list[tuple[float, str]]:
        hired = [role for role in list_roles(self._store.layout)[0] if role.until and role.source == "hired"]
        return [(times.epoch(role.until), role.name) for role in hired]

    def beat(self, now: float) -> None:
        """Fire every role whose time is over."""
        self._ends.refresh()
        for ends, name in self._ends.value:
            if 0 < ends <= now:
                self._fire(name, now)

    def _fire(self, name: str, now: float) -> None:
        reason = "it was hired for a time, which is over"
        try:
            actions.fire(self._store, FireRole(name=name, reason=reason), by="engine", now=now)
        except (ActionError, files.StoreError) as error:
            self._log.add("role_kept", f"{name}: its time is over, and it cannot be fired: {error}", now)
            return
        self._log.add("role_ended", f"{name} was fired: {reason}", now)


class HookNews:
    """Follows the outcomes in the hooks' journal from now on."""

    def __init__(self, store: Store, log: EventLog, now: float) -> None:
        self._log = log
        self._after = now
        self._follower = Follower(store.root / hook_journal.NAME)
        self._generation = self._follower.generation
        try:
            status = os.stat(store.root / hook_journal.NAME, follow_symlinks=False)
            self._follower.resume((status.st_dev, status.st_ino, status.st_size))
        except OSError:
            pass  # there is none yet: it is read from its first line on

    def poll(self, now: float) -> None:
        """Record new outcomes as events."""
        if not self._follower.pending():
            return
        try:
            offset, data = self._follower.poll(_HOOK_BYTES)
        except (files.StoreError, OSError):
            return  # whoever shows the journal reports it as a problem
        restarted = self._generation != self._follower.generation
        self._generation = self._follower.generation
        until = self._after if restarted else 0.0
        for _, line in split_lines(data, offset):
            if b'"outcome"' in line:
                self._report(decode(line) or {}, now, until)

    def _report(self, record: dict[str, object], now: float, until: float) -> None:
        """Record one outcome; those at or before `until` (seconds) were recorded already."""
        at = times.epoch(str(record.get("at")))
        if record.get("event") != hook_journal.OUTCOME or at <= until:
            return
        self._after = max(at, self._after)
        message = one_line(str(record.get("said")), 300)
        kind = "hook_checkpoint" if record.get("ok") else "hook_failed"
        self._log.add(kind, message, now, node=one_line(str(record.get("node") or ""), 80))


class JournalMonitor:
    """Looks after the shared journals: copies what is damaged to quarantine, and seals what they grow by."""

    def __init__(self, layout: Layout, log: EventLog, noted: Iterable[SealHead]) -> None:
        self._layout, self._log = layout, log
        self._damage = DamageScan(layout)
        self._sealer = Sealer(layout, noted)
        self._turning: ChildProcess | None = None  # while a child turns a page of the chain, which it has locked

    def quarantine(self, now: float) -> None:
        """Copy damaged lines to quarantine, once each."""
        if new := self._damage.scan(times.iso(now)):
            self._log.add("quarantined", f"{new} damaged line{'s' if new > 1 else ''} copied to quarantine", now)

    def seal(self, now: float) -> SealHead:
        """Put what is new into the chain of hashes, and say what was changed behind the program's back.

        Return the head of the chain, to be noted elsewhere. What comes while a page is turned is sealed after that.
        """
        if self._turning is not None and self._turning.running():
            return self._sealer.head
        self._turning = None
        for fault in self._sealer.seal(now):
            self._log.add("changed", f"{fault.journal}: {fault}; `lumen-tui doctor` says more", now)
        if self._sealer.is_page_full():
            with contextlib.suppress(OSError):  # no process to be had: later
                self._turning = ChildProcess(sealer.__name__, self._layout.root)
        return self._sealer.head

    def close(self, now: float) -> SealHead:
        """Seal what the engine leaves, also where a page was being turned: the next engine turns it."""
        if self._turning is not None:
            self._turning.end()
        return self.seal(now)
