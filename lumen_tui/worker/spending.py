"""What a task's model calls cost: set aside in the ledger before each call and settled after it."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import to_builtins
from msgspec.structs import replace

from lumen_tui.model import agent
from lumen_tui.model.asks import HoldReply
from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Budget, Spec, Usage
from lumen_tui.model.times import HOUR, span
from lumen_tui.providers.base import ProviderError, Reserve
from lumen_tui.storage import files
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.tools.base import Stopped
from lumen_tui.worker.accounts import Account, TaskAccount
from lumen_tui.worker.engine_link import LinkAccount
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.trial_account import Payer, TrialAccount, payer_of
from lumen_tui.worker.world import TaskTally, World

_LOOK = 0.25  # seconds between two looks for room
_AGAIN = 30.0  # seconds after which a waiting worker tries, whatever it saw
_UNDRIVEN = 600.0  # seconds without an engine after which a wait ends
_LONGEST = 25 * HOUR  # of a wait: a new day has begun meanwhile, whenever it begins
_CLOSED = "the ledger cannot be written, so no call is made"


class NoRoom(Exception):
    """There is no room for a call that no step needs; the text says why."""


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
        payer = payer_of(world.store.layout)
        self._killed = payer.layout if payer else world.store.layout  # where the kill switch is
        self.account = _account(world, spec, tally.attempt, payer)
        self._since = world.monotonic()  # work time is counted from here
        self._limit = world.stopper.ends

    def reserve(self, call: Reserve) -> int:
        """Set aside the most a call can cost, after a wait where the day has no room for it.

        Where not all of it fits and `least` is given, as much is set aside as does. Returns the tokens that the answer
        may have then; 0: as many as were asked for. ProviderError where the task's own budget has no room. Stopped
        where the agent was killed. NoRoom where no step needs the call and there is no room now.
        """
        worked = self._lap()
        reply = self._try(call, worked, 0.0)
        if reply.short and call.purpose:
            self._since -= worked  # it counts with the next call
            raise NoRoom(reply.short)
        if reply.short and reply.own:
            raise ProviderError(reply.short)
        if reply.short:
            reply = self._wait(reply.short, call, worked)
        if reply.output:
            words = f"the answer may have {reply.output:,} tokens at most: {reply.words}"
            self._events.event("note", words, output_tokens=reply.output)
        return reply.output

    def change(self, own: Budget, seconds: float) -> None:
        """Go by other caps of the task itself; its time limit was moved by so much, which is no time that is idle."""
        self.account.own = own
        self._limit += seconds if self._limit else 0.0

    def sent(self) -> None:
        """Note that the request leaves now. Raises ProviderError if that cannot be noted: then it must not leave."""
        try:
            self.account.send()
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
        own, config, total = self.account.own, self.account.config, self._tally.usage
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

    def book(self, key: str, day: str, usage: Usage) -> None:
        """Settle a call of the attempt before, unless that did. ProviderError where it cannot be recorded."""
        try:
            with self._world.stopper.guard():
                self.account.book(key, day, usage)
        except files.StoreError as error:
            raise ProviderError(f"{_CLOSED}: {error}") from error

    def _try(self, call: Reserve, worked: float, waited: float) -> HoldReply:
        """Set the call aside, or return what is short."""
        self._look_for_kill()
        try:
            reply = self.account.reserve(call, seconds=worked, waited=waited)
        except files.StoreError as error:
            raise ProviderError(f"{_CLOSED}: {error}") from error
        if reply.own:
            self._tally.cap = reply.own
        if not reply.short:
            self._mark()
        return reply

    def _wait(self, reason: str, call: Reserve, worked: float) -> HoldReply:
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
                waited, driven = now - began, now if self.account.is_driven() else driven
                reply = self._try(call, worked, waited)
                if not reply.short:
                    break
                if reply.own:
                    raise ProviderError(reply.short)
                if given_up := _given_up(waited, now - driven):
                    raise ProviderError(f"{given_up}; it waited because {reason}")
        self._mark()
        self._events.event("note", f"goes on after {span(waited)}: there is room again. It had waited because {reason}")
        return reply

    def _record_wait(self, reason: str, call: Reserve) -> None:
        """Record how much room the call waits for at least, so that no more than that is asked of a person."""
        self._events.event("waiting", reason, budget=True)
        try:
            self.account.waits(reason, call.least or call.usage, call.model)
        except files.StoreError as error:
            raise ProviderError(f"{_CLOSED}: {error}") from error

    def _sleep_until_news(self) -> None:
        ends = self._world.monotonic() + _AGAIN
        while self._world.monotonic() < ends:
            time.sleep(_LOOK)
            self._look_for_kill()
            if self.account.changed():
                return

    def _settle(self, usage: Usage) -> bool:
        """Record what a call cost; return whether it had been reserved."""
        worked = self._lap()
        try:
            return self.account.pay(usage, seconds=worked, model=self._tally.brain)
        except files.StoreError as error:
            raise ProviderError(
                f"what the call cost could not be recorded, so no further one is made: {error}"
            ) from error

    def _check_own(self) -> None:
        if (reply := self.account.reached()).short:
            self._tally.cap = reply.own
            raise ProviderError(reply.short)

    def _look_for_kill(self) -> None:
        if kill := read_kill(self._killed):
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


def _account(world: World, spec: Spec, attempt: int, payer: Payer | None) -> Account:
    """Return the account of an attempt: where its engine is on another machine, that keeps the ledger."""
    if payer is not None:
        return TrialAccount(payer, world.now, spec, attempt, world.stopper.guard)
    if world.link is not None:
        return LinkAccount(world.link, spec)
    return TaskAccount(world.store.layout, world.now, spec, attempt, world.stopper.guard)


def _given_up(waited: float, undriven: float) -> str:
    """Return why a wait for room in the budget ends without it, or the empty string. Both in seconds."""
    if undriven > _UNDRIVEN:
        return f"no engine has driven for {span(undriven)}, so the wait for the budget ended"
    return f"the wait for the budget ended after {span(waited)}" if waited > _LONGEST else ""
