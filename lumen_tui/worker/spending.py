"""What a task's model calls cost: set aside in the ledger before each call and settled after it."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import to_builtins
from msgspec.structs import replace

from lumen_tui.model import agent, budget
from lumen_tui.model.budget import Cap
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.spendbook import HOLD, WAIT, Amount, Book, LedgerEntry
from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Budget, Spec, Usage
from lumen_tui.model.text import one_line
from lumen_tui.model.times import HOUR, iso, span
from lumen_tui.providers.base import ProviderError, Reserve
from lumen_tui.storage import files, lease, process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.ledger.ledger import Ledger, Make, new_call, unreserved
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import family
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.tools.base import Stopped
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import TaskTally, World

_LOOK = 0.25  # seconds between two looks for room
_AGAIN = 30.0  # seconds after which a waiting worker tries, whatever it saw
_UNDRIVEN = 600.0  # seconds without an engine after which a wait ends
_LONGEST = 25 * HOUR  # of a wait: a new day has begun meanwhile, whenever it begins
_CLOSED = "the ledger cannot be written, so no call is made"


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

    def sent(self) -> None:
        """Record that the request of the held call leaves now. StoreError where that cannot be noted."""
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
        """Settle a call of the attempt before, unless that did. ProviderError where it cannot be recorded."""
        try:
            self.ledger.settle(key, day, self._now(), usage)
        except files.StoreError as error:
            raise ProviderError(f"{_CLOSED}: {error}") from error


class NoRoom(Exception):
    """There is no room for a call that no step needs; the text says why."""


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


class Spending:
    """Sets aside what a call can cost before it is made, waits where there is no room, settles what it did cost."""

    def __init__(
        self, world: World, tally: TaskTally, spec: Spec, events: Recorder, reached: Callable[[], Progress]
    ) -> None:
        """Spend for one attempt; `reached` says how many of its steps and how much of its time it has used."""
        self._world = world
        self._tally = tally
        self._spec = spec
        self._events = events
        self._reached = reached
        layout = world.store.layout
        self.account = CallAccount(layout, world.now, task=spec.id, role=spec.role, attempt=tally.attempt)
        self._settings = Stamped(lambda: [layout.config, layout.operator], lambda: load_config(layout)[0].budget)
        self._above = _Above(layout, spec.parent)
        self._since = world.monotonic()  # work time is counted from here
        self._limit = world.stopper.ends
        self._tight: tuple[Cap, int] | None = None  # the cap that left room for so short an answer only

    def reserve(self, call: Reserve) -> int:
        """Set aside the most a call can cost, after a wait where the day has no room for it.

        Where not all of it fits and `least` is given, as much is set aside as does. Returns the tokens that the answer
        may have then; 0: as many as were asked for. ProviderError where the task's own budget has no room. Stopped
        where the agent was killed. NoRoom where no step needs the call and there is no room now.
        """
        self.account.held = None  # nobody reported what the last one cost: it counts in full
        worked = self._lap()
        reason, short = self._try(call, worked, 0.0)
        if reason and call.purpose:
            self._since -= worked  # it counts with the next call
            raise NoRoom(reason)
        if reason and short:
            self._wait(reason, call, worked)
        elif reason:
            raise ProviderError(reason)
        return self._granted()

    def _granted(self) -> int:
        """Return the tokens the answer may have if they are fewer than asked for, and note that; else 0."""
        if self._tight is None:
            return 0
        cap, output = self._tight
        words = f"the answer may have {output:,} tokens at most: {cap.name} has no room for more ({cap.words})"
        self._events.event("note", words, output_tokens=output)
        return output

    def change(self, own: Budget, seconds: float) -> None:
        """Go by other caps of the task itself; its time limit was moved by so much, which is no time that is idle."""
        self._spec = replace(self._spec, budget=own)
        self._limit += seconds if self._limit else 0.0

    def sent(self) -> None:
        """Note that the request leaves now. Raises ProviderError if that cannot be noted: then it must not leave."""
        try:
            with self._world.stopper.guard():
                self.account.sent()
        except files.StoreError as error:
            raise ProviderError(f"{_CLOSED}: {error}") from error

    def spent(self, usage: Usage, purpose: str = "", window: int = 0) -> None:
        """Count one call of a model that takes `window` tokens.

        Raises ProviderError if it was not reserved and the task's budget is used up now.
        """
        self._tally.usage = self._tally.usage.plus(usage)
        reserved = self._settle(usage)
        if usage.tokens or usage.usd:  # a call that was refused costs nothing, and is reported as such
            total = f"{self._tally.usage.tokens:,} tokens, ${self._tally.usage.usd:.4f} so far"
            total += f", the last call for a {purpose}" if purpose else ""
            self._events.event(
                "usage",
                total,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                usd=usage.usd,
                read_tokens=usage.read_tokens,
                progress=to_builtins(self._progress(usage, window)),
            )
        if not reserved:
            self._check_own()

    def _progress(self, usage: Usage, window: int) -> Progress:
        own, config, total = self._spec.budget, self._settings.value, self._tally.usage
        loop = (config.loop_tokens, config.loop_usd) if self._spec.role == agent.ROLE else (0, 0.0)
        return replace(
            self._reached(),
            usd=total.usd,
            most_usd=min([most for most in (own.usd, loop[1]) if most], default=0.0),
            tokens=total.weight,
            most_tokens=min([most for most in (own.tokens, loop[0]) if most], default=0),
            filled=usage.tokens if window else 0,
            window=window,
        )

    def _try(self, call: Reserve, worked: float, waited: float) -> tuple[str, bool]:
        """Set the call aside; return ("", False), or why there is no room and whether waiting may help."""
        self._look_for_kill()
        self._settings.refresh()
        self._above.refresh()
        entry = self.account.entry(HOLD, self._day(), call.usage, call.model, seconds=worked, waited=waited)
        hold = replace(entry, unsent=call.tells, above=self._above.names, purpose=call.purpose)
        short: list[Cap] = []
        try:
            with self._world.stopper.guard():
                reason = self.account.hold(lambda book: self._make(book, hold, call, short))
        except files.StoreError as error:
            raise ProviderError(f"{_CLOSED}: {error}") from error
        if reason:
            if short[-1].own:
                self._tally.cap = short[-1].key
            return reason, not short[-1].own
        self._mark()
        return "", False

    def _make(self, book: Book, hold: LedgerEntry, call: Reserve, short: list[Cap]) -> LedgerEntry | str:
        """Return the hold, as large as all caps allow, or why there is none; then `short` ends with that cap."""
        least = call.least or call.usage
        high, low = Amount(call.usage.weight, call.usage.usd), Amount(least.weight, least.usd)
        fits, tight = 1.0, None
        for cap in budget.caps(book, self._settings.value, hold, self._spec.budget, self._above.limits):
            if reason := budget.why_short(cap, high, low):
                short.append(cap)
                return reason
            if (share := budget.share_that_fits(cap, high, low)) < fits:
                fits, tight = share, cap
        usage = budget.between(least, call.usage, fits)
        self._tight = (tight, usage.output_tokens) if tight else None
        return replace(hold, tokens=usage.weight, usd=usage.usd) if tight else hold

    def _wait(self, reason: str, call: Reserve, worked: float) -> None:
        """Wait until there is room: a cap was raised, a new day began, or somebody's call cost less than was set aside.

        The time limit stands still meanwhile; a reason to stop ends the wait. So does an engine that does not come
        back, and a day that brought no room: nobody would end this worker.
        """
        world = self._world
        began = driven = world.monotonic()
        self._record_wait(reason, call)
        with world.stopper.untimed():
            while True:
                self._sleep_until_news()
                now = world.monotonic()
                waited, driven = now - began, now if lease.is_held(world.store.layout) else driven
                still_short, may_wait = self._try(call, worked, waited)
                if not still_short:
                    break
                if not may_wait:
                    raise ProviderError(still_short)
                if given_up := _given_up(waited, now - driven):
                    raise ProviderError(f"{given_up}; it waited because {reason}")
        self._mark()
        self._events.event("note", f"goes on after {span(waited)}: there is room again. It had waited because {reason}")

    def _record_wait(self, reason: str, call: Reserve) -> None:
        """Record how much room the call waits for at least, so that no more than that is asked of a person."""
        self._events.event("waiting", reason, budget=True)
        try:
            with self._world.stopper.guard():
                usage = call.least or call.usage
                wait = self.account.entry(WAIT, self._day(), usage, call.model)
                self.account.ledger.append(replace(wait, text=reason))
        except files.StoreError as error:
            raise ProviderError(f"{_CLOSED}: {error}") from error

    def _sleep_until_news(self) -> None:
        day, ends = self._day(), self._world.monotonic() + _AGAIN
        while self._world.monotonic() < ends:
            time.sleep(_LOOK)
            self._look_for_kill()
            changed = self.account.ledger.changed() or self._settings.refresh() or self._above.refresh()
            if changed or self._day() != day:
                return

    def _settle(self, usage: Usage) -> bool:
        """Record what a call cost; return whether it had been reserved."""
        account, worked = self.account, self._lap()
        try:
            with self._world.stopper.guard():
                reserved = account.settle(usage, seconds=worked)
                if not reserved:
                    entry = account.entry(HOLD, self._day(), usage, self._tally.brain, seconds=worked)
                    spent = replace(
                        unreserved(entry),
                        prompt=usage.input_tokens,
                        read=usage.read_tokens,
                        above=self._above.names,
                    )
                    account.ledger.append(spent)
                return reserved
        except files.StoreError as error:
            raise ProviderError(
                f"what the call cost could not be recorded, so no further one is made: {error}"
            ) from error

    def _check_own(self) -> None:
        config: BudgetConfig = self._settings.value
        book = self.account.ledger.refresh()
        for cap in budget.task_caps(
            book, config, self._spec.id, self._spec.role, self._spec.budget, self._above.limits
        ):
            if budget.reached(cap):
                self._tally.cap = cap.key
                raise ProviderError(f"{cap.name} is used up: {cap.words}")

    def _look_for_kill(self) -> None:
        if kill := read_kill(self._world.store.layout):
            self._world.stopper.ask("cancelled", kill.words)
            raise Stopped

    def _mark(self) -> None:
        """Start counting work time from here."""
        self._since = self._world.monotonic()
        self._limit = self._world.stopper.ends

    def _lap(self) -> float:
        """Return the seconds of work since the last call, without waits for a person and rests.

        The moment at which the time limit ends moves on by just as much as does not count.
        """
        since, limit = self._since, self._limit
        self._mark()
        idle = self._limit - limit if limit and self._limit else 0.0
        return round(max(0.0, self._since - since - idle), 3)

    def _day(self) -> str:
        return budget.day_of(self._world.now(), self._settings.value.day_starts)


def _given_up(waited: float, undriven: float) -> str:
    """Return why a wait for room in the budget ends without it, or the empty string. Both in seconds."""
    if undriven > _UNDRIVEN:
        return f"no engine has driven for {span(undriven)}, so the wait for the budget ended"
    return f"the wait for the budget ended after {span(waited)}" if waited > _LONGEST else ""
