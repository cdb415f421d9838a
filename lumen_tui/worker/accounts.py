"""The ledger as one payer has it: what is set aside for a call, what it did cost, and which caps that goes by."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from msgspec.structs import replace

from lumen_tui.model import budget
from lumen_tui.model.asks import HoldReply
from lumen_tui.model.budget import Cap
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.spendbook import HOLD, WAIT, Amount, Book, LedgerEntry
from lumen_tui.model.tasks import Budget, Spec, Usage
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.providers.base import Reserve
from lumen_tui.storage import lease, process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.ledger.ledger import Ledger, Make, new_call, unreserved
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import family


class HeldCall(Protocol):
    """A call that was set aside."""

    @property
    def id(self) -> str: ...

    @property
    def day(self) -> str: ...


class Account(Protocol):
    """What a task's spending goes through, wherever the ledger is. StoreError where it cannot be written."""

    own: Budget  # of the task itself

    @property
    def held(self) -> HeldCall | None:
        """The call that was set aside and not paid yet."""

    @property
    def config(self) -> BudgetConfig: ...

    def reserve(self, call: Reserve, *, seconds: float, waited: float) -> HoldReply: ...

    def send(self) -> None: ...

    def pay(self, usage: Usage, *, seconds: float, model: str) -> bool: ...

    def waits(self, reason: str, usage: Usage, model: str) -> None: ...

    def changed(self) -> bool: ...

    def is_driven(self) -> bool: ...

    def reached(self) -> HoldReply: ...

    def book(self, key: str, day: str, usage: Usage) -> None: ...


class CallAccount:
    """What one payer has set aside in the ledger: at most one call at a time, held before it and settled after it."""

    def __init__(self, layout: Layout, now: Callable[[], float], *, task: str, role: str, attempt: int = 1) -> None:
        self.ledger = Ledger(layout)
        self.held: LedgerEntry | None = None  # the hold that is not settled
        self._now = now
        self._task = task
        self._role = role
        self._attempt = attempt
        self._me = process.myself()

    def entry(
        self, kind: str, day: str, usage: Usage, model: str, *, seconds: float = 0.0, waited: float = 0.0
    ) -> LedgerEntry:
        """Return a line of the ledger in the name of this payer."""
        return LedgerEntry(
            new_call(),
            kind,
            iso(self._now()),
            day,
            self._task,
            self._attempt,
            self._role,
            one_line(model, 100),
            usage.weight,
            usage.usd,
            seconds,
            waited,
            self._me.pid,
            self._me.start_ticks,
            self._me.boot_id,
        )

    def hold(self, make: Make) -> str:
        """Hold the entry that `make` returns for the newest totals, or return its reason not to."""
        drawn = self.ledger.draw(make)
        if isinstance(drawn, str):
            return drawn
        self.held = drawn
        return ""

    def forget(self) -> None:
        """Know of no call any more: nobody reported what the last one cost, and it counts in full."""
        self.held = None

    def sent(self) -> None:
        """Record that the request of the held call leaves now. StoreError."""
        if self.held is not None:
            self.ledger.sent(self.held.id, self.held.day, self._now())

    def settle(self, usage: Usage, *, seconds: float = 0.0) -> bool:
        """Record what the held call cost; return whether there was one. It is let go in any case."""
        held = self.held
        self.held = None
        if held is None:
            return False
        self.ledger.settle(held.id, held.day, self._now(), usage, seconds=seconds)
        return True

    def book(self, key: str, day: str, usage: Usage) -> None:
        """Settle a call of the attempt before, unless that did. StoreError."""
        if key not in self.ledger.refresh().recent:
            self.ledger.settle(key, day, self._now(), usage)


class _Above:
    """The tasks above one, the nearest first, and what each may spend, also where that is changed meanwhile."""

    def __init__(self, layout: Layout, parent: str) -> None:
        self._layout = layout
        self._parent = parent
        self.limits = tuple((spec.id, spec.budget) for spec in family.ancestors(layout, parent))
        self.names = tuple(name for name, _ in self.limits)
        self._read = Stamped(lambda: family.spec_files(layout, self.names), self._now)
        self.refresh()

    def refresh(self) -> bool:
        """Read the limits again where a spec was changed; return whether one was."""
        changed = self._read.refresh()
        self.limits = self._read.value
        return changed

    def _now(self) -> tuple[tuple[str, Budget], ...]:
        """Return the limits. Those of a task that cannot be read at this moment stay as they were."""
        known = {spec.id: spec.budget for spec in family.ancestors(self._layout, self._parent)}
        return tuple((name, known.get(name, before)) for name, before in self.limits)


class TaskAccount(CallAccount):
    """The account of one attempt at a task: each call fits under every cap there is for it. StoreError throughout."""

    def __init__(
        self,
        layout: Layout,
        now: Callable[[], float],
        spec: Spec,
        attempt: int,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Account for an attempt; what is written is written inside `guard()`."""
        super().__init__(layout, now, task=spec.id, role=spec.role, attempt=attempt)
        self.own = spec.budget
        self._layout, self._guard = layout, guard
        self._settings = Stamped(lambda: [layout.config, layout.operator], lambda: load_config(layout)[0].budget)
        self._above = _Above(layout, spec.parent)
        self._seen_day = ""

    @property
    def config(self) -> BudgetConfig:
        """The operator's caps as they were at the last look."""
        return self._settings.value

    def reserve(self, call: Reserve, *, seconds: float, waited: float, key: str = "") -> HoldReply:
        """Set aside the most that a call can cost, or as much between that and its least as fits; or say what is short.

        `seconds` of work came before it, and a wait of `waited` seconds. `key` names it where it has a name already.
        """
        self.forget()
        self._settings.refresh()
        self._above.refresh()
        entry = self.entry(HOLD, self.day(), call.usage, call.model, seconds=seconds, waited=waited)
        hold = replace(entry, id=key or entry.id, unsent=call.tells, above=self._above.names, purpose=call.purpose)
        short: list[Cap] = []
        tight: list[tuple[Cap, int]] = []
        with self._guard():
            reason = self.hold(lambda book: self._make(book, hold, call, short, tight))
        if reason:
            return HoldReply(short=reason, own=short[-1].key if short[-1].own else "")
        if not tight:
            return HoldReply(hold.id, hold.day)
        cap, output = tight[-1]
        words = f"{cap.name} has no room for more ({cap.words})"
        return HoldReply(hold.id, hold.day, output=output, words=words)

    def _make(
        self, book: Book, hold: LedgerEntry, call: Reserve, short: list[Cap], tight: list[tuple[Cap, int]]
    ) -> LedgerEntry | str:
        """Return the hold, as large as all caps allow, or why there is none.

        `short` ends with the cap that has no room then, `tight` with the one that made the hold smaller.
        """
        tight.clear()
        least = call.least or call.usage
        high, low = Amount(call.usage.weight, call.usage.usd), Amount(least.weight, least.usd)
        fits, narrowest = 1.0, None
        for cap in budget.caps(book, self.config, hold, self.own, self._above.limits):
            if reason := budget.why_short(cap, high, low):
                short.append(cap)
                return reason
            if (share := budget.share_that_fits(cap, high, low)) < fits:
                fits, narrowest = share, cap
        if narrowest is None:
            return hold
        usage = budget.between(least, call.usage, fits)
        tight.append((narrowest, usage.output_tokens))
        return replace(hold, tokens=usage.weight, usd=usage.usd)

    def send(self) -> None:
        """Record that the request of the held call leaves now."""
        with self._guard():
            self.sent()

    def pay(self, usage: Usage, *, seconds: float, model: str) -> bool:
        """Record what a call did cost; return whether it had been set aside."""
        with self._guard():
            if self.settle(usage, seconds=seconds):
                return True
            self.spend(usage, seconds=seconds, model=model)
            return False

    def spend(self, usage: Usage, *, seconds: float, model: str, key: str = "") -> None:
        """Record what a call did cost for which nothing was set aside."""
        entry = unreserved(self.entry(HOLD, self.day(), usage, model, seconds=seconds))
        more = {"id": key or entry.id, "prompt": usage.input_tokens, "read": usage.read_tokens}
        self.ledger.append(replace(entry, **more, above=self._above.names))

    def waits(self, reason: str, usage: Usage, model: str, key: str = "") -> None:
        """Record that a call waits for so much room."""
        entry = self.entry(WAIT, self.day(), usage, model)
        with self._guard():
            self.ledger.append(replace(entry, id=key or entry.id, text=reason))

    def changed(self) -> bool:
        """Return whether there may be room where the last call found none: for that or for another day."""
        if not self._seen_day:
            self._seen_day = self.day()
        news = self.ledger.changed() or self._settings.refresh() or self._above.refresh()
        before, self._seen_day = self._seen_day, self.day()
        return news or before != self._seen_day

    def is_driven(self) -> bool:
        """Return whether an engine is there."""
        return lease.is_held(self._layout)

    def reached(self) -> HoldReply:
        """Return which of the task's own caps is used up; nothing is short where none is."""
        book = self.ledger.refresh()
        for cap in budget.task_caps(book, self.config, self._task, self._role, self.own, self._above.limits):
            if budget.reached(cap):
                return HoldReply(short=f"{cap.name} is used up: {cap.words}", own=cap.key)
        return HoldReply()

    def day(self) -> str:
        """Return the budget day of this moment."""
        return budget.day_of(self._now(), self.config.day_starts)
