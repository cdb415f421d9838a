"""What may be spent: caps, the room below them, the pace, and when a cap is reached. Pure arithmetic."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from lumen_tui.model import times
from lumen_tui.model.agent import ROLE as MAIN_ROLE
from lumen_tui.model.spendbook import NOTHING, SLOT, Amount, Book, LedgerEntry, SpendView
from lumen_tui.model.tasks import Budget, Usage
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.model.config import BudgetConfig

_SLOTS_SHOWN = 60
_CENT = 1e-9  # sums of dollars may be off by this much
_PACE = times.HOUR  # the pace is that of the last hour
_CLOSED = "closed, as one of the limits in the settings cannot be read: fix it"


def light_tokens(read: int, fresh_price: float, read_price: float) -> int:
    """Return how many of `read` tokens, which came from a vendor's cache, count in no cap of tokens.

    This is the only place that says what a token weighs: each of a prompt or an answer is one, but those read from a
    cache weigh as they are priced beside fresh ones, in all rounded up. Where the prompt costs nothing, all count.
    """
    if read <= 0 or not 0 <= read_price < fresh_price:
        return 0
    return read - math.ceil(read * read_price / fresh_price)


class Limit(Struct, frozen=True):
    """The most of each; 0 means no limit."""

    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.tokens or self.usd or self.seconds)


class Cap(Struct, frozen=True):
    """A limit, and what is gone of it. `own` is a task's own: it ends the task where it is reached, others wait."""

    name: str  # `today's budget`, as a sentence begins with it
    limit: Limit
    spent: Amount = NOTHING
    held: Amount = NOTHING
    own: bool = False
    key: str = "day"  # day | role:NAME | task: the task's own | loop | above: of a task that it belongs to
    role: str = ""  # whose cap it is; empty for everybody's
    unknown: Amount = NOTHING  # of what is spent: calls that nobody reported the cost of, counted in full

    @property
    def share(self) -> float:
        """How much of the limit is spent, by what is nearest to its end; 0 where there is no limit."""
        if self.closed:
            return 1.0
        return max(
            [used / most for used, most in _pairs(self.limit, self.spent) if most] or [0.0],
        )

    @property
    def closed(self) -> bool:
        """Whether nobody knows what it is, so that nothing is spent of it."""
        from lumen_tui.model.config import CLOSED_TOKENS  # whoever has a cap has read settings

        return self.limit.tokens == CLOSED_TOKENS and self.key == "day"

    @property
    def words(self) -> str:
        """`85,000 of 100,000 tokens, $0.20 of $5.00 spent`."""
        spent, limit = self.spent, self.limit
        if self.closed:
            return _CLOSED
        parts = [f"{spent.tokens:,} of {limit.tokens:,} tokens"] if limit.tokens else []
        parts += [f"{dollars(spent.usd, limit.usd)} of {dollars(limit.usd)}"] if limit.usd else []
        digits = 0 if limit.seconds >= 600 else 2
        parts += [f"{round(spent.seconds / 60, digits):g} of {limit.seconds / 60:g} minutes"] if limit.seconds else []
        return f"{', '.join(parts)} spent{self._of_it}"

    @property
    def warning(self) -> str:
        """The words behind the name."""
        return f"{self.name}: {self.words}"

    @property
    def _of_it(self) -> str:
        """How much of what is spent is not known, where that is anything."""
        if not self.unknown:
            return ""
        usd = f", {dollars(self.unknown.usd)}" if self.unknown.usd else ""
        return f", {self.unknown.tokens:,} tokens{usd} of it unknown and counted in full"


def dollars(usd: float, beside: float = 0.0) -> str:
    """Format dollars as `$5.00` or `$0.0015`: two significant digits of `beside`, or else of the amount itself."""
    small = abs(beside or usd)
    digits = min(8, 1 - math.floor(math.log10(small))) if 0 < small < 0.1 else 2
    return f"${usd:.{digits}f}"


def own_words(own: Budget) -> str:
    """`100,000 tokens, $0.50`: what one task may spend at most; empty where it has no limit of its own."""
    parts = [f"{own.tokens:,} tokens"] if own.tokens else []
    parts += [dollars(own.usd)] if own.usd else []
    return ", ".join([*parts, times.span(own.seconds)] if own.seconds else parts)


@functools.cache
def _bounds() -> Mapping[str, Any]:
    from typing import get_type_hints

    from lumen_tui.model.config import RoleBudget  # most commands that name dollars set no cap

    return get_type_hints(RoleBudget, include_extras=True)


def out_of_range(**more: float) -> str:
    """Why no cap can be raised by so many `tokens`, `usd`, `minutes`, by the bounds of the settings; else empty."""
    for name, value in more.items():
        most = next(part.le or 0 for part in _bounds()[name].__metadata__ if isinstance(part, Meta))
        if not 0 <= value <= most:  # nan is neither
            return f"{name}: {one_line(str(value), 40)} is out of range: 0 to {most:,}"
    return ""


def _pairs(limit: Limit, used: Amount) -> tuple[tuple[float, float], ...]:
    return ((used.tokens, limit.tokens), (used.usd, limit.usd), (used.seconds, limit.seconds))


def day_of(at: float, starts: str) -> str:
    """Return the budget day of a moment, by its date: a day that starts at 06:00 goes on until then."""
    return time.strftime("%Y-%m-%d", time.gmtime(at - _offset(starts)))


def day_ends(at: float, starts: str) -> float:
    """Return when the budget day of a moment is over, in seconds since 1970."""
    offset = _offset(starts)
    return ((at - offset) // times.DAY + 1) * times.DAY + offset


def _offset(starts: str) -> float:
    hours, _, minutes = starts.partition(":")
    return int(hours) * times.HOUR + int(minutes) * times.MINUTE


def day_cap(book: Book, config: BudgetConfig, day: str) -> Cap:
    """Return the day's cap with what a person added to it."""
    limit = _raised(book, day, "", Limit(config.day_tokens, config.day_usd, config.day_minutes * 60))
    return Cap("today's budget", limit, book.days.get(day, NOTHING), book.held(day), unknown=book.unknown(day))


def role_cap(book: Book, config: BudgetConfig, day: str, role: str) -> Cap:
    """Return the cap of a role for a day."""
    own = config.roles.get(role)
    limit = _raised(book, day, role, Limit(own.tokens, own.usd, own.minutes * 60) if own else Limit())
    name = f"today's budget of role {one_line(role, 64)}"
    spent, held = book.part(day, "role", role), book.held(day, role=role)
    return Cap(name, limit, spent, held, key=f"role:{role}", role=role, unknown=book.unknown(day, role))


def _raised(book: Book, day: str, role: str, limit: Limit) -> Limit:
    """Return the limit with the day's grants added; what has no limit stays without one."""
    for grant in book.grants.values():
        if (grant.day, grant.role) == (day, role):
            limit = Limit(
                limit.tokens + grant.tokens if limit.tokens else 0,
                limit.usd + grant.usd if limit.usd else 0.0,
                limit.seconds + grant.seconds if limit.seconds else 0.0,
            )
    return limit


Above = tuple[tuple[str, Budget], ...]  # the tasks that a task belongs to, the nearest first, with their budgets


def task_caps(book: Book, config: BudgetConfig, task: str, role: str, own: Budget, above: Above = ()) -> Iterable[Cap]:
    """Yield what one task may spend in all: its spec's budget, and where it is a loop of the main agent, a loop's.

    What its sub-tasks spend is of its budget, and what a sub-task spends of the budgets of those above.
    """
    spent, held = book.family(task)
    yield Cap("the task's budget", Limit(own.tokens, own.usd, own.seconds), spent, held, own=True, key="task")
    if role == MAIN_ROLE:
        loop = Limit(config.loop_tokens, config.loop_usd)
        yield Cap("the loop's budget", loop, spent, held, own=True, key="loop")
    for name, budget in above:
        spent, held = book.family(name)
        limit = Limit(budget.tokens, budget.usd, budget.seconds)
        yield Cap(f"the budget of {name}, which ordered this", limit, spent, held, own=True, key="above")


def caps(book: Book, config: BudgetConfig, hold: LedgerEntry, own: Budget, above: Above = ()) -> list[Cap]:
    """Return every cap that a call of a task must fit under, its own first."""
    every = [*task_caps(book, config, hold.task, hold.role, own, above)]
    every += [role_cap(book, config, hold.day, hold.role), day_cap(book, config, hold.day)]
    return [cap for cap in every if cap.limit]


def short_of(cap: Cap, most: Amount) -> str:
    """Return why a call that can cost `most` does not fit under a cap; the empty string where it does."""
    if cap.closed:
        return f"{cap.name} is {_CLOSED}"
    gone, limit = cap.spent.plus(cap.held), cap.limit
    if 0 < limit.tokens < gone.tokens + most.tokens:
        return _short(cap, f"{most.tokens:,} tokens")
    if 0 < limit.usd < gone.usd + most.usd - _CENT:
        return _short(cap, f"${most.usd:.4f}")
    if 0 < limit.seconds <= cap.spent.seconds:  # nobody knows how long a call takes: what began may end
        return f"{cap.name} is used up: {cap.words}"
    return ""


def share_that_fits(cap: Cap, most: Amount, least: Amount) -> float:
    """How much of the way from `least` to `most` fits under a cap: 1 for all of it, below 0 where `least` does not.

    While others' calls hold room of a cap that is shared, all or nothing: it comes back.
    """
    gone, share = cap.spent.plus(cap.held), 1.0
    for used, limit, low, high in (
        (gone.tokens, cap.limit.tokens, least.tokens, most.tokens),
        (gone.usd, cap.limit.usd, least.usd, most.usd),
    ):
        if limit and used + high > limit + _CENT:
            share = min(share, (limit + _CENT - used - low) / (high - low) if high > low else -1.0)
    return share if cap.own or not cap.held or share == 1.0 else -1.0


def why_short(cap: Cap, most: Amount, least: Amount) -> str:
    """Return why no call fits under a cap, be its answer as short as it may; the empty string where one does."""
    if reason := short_of(cap, least):
        return reason
    return short_of(cap, most) if share_that_fits(cap, most, least) < 0 else ""


def between(least: Usage, most: Usage, share: float) -> Usage:
    """Return the call with so much of the way from its shortest to its longest answer. Only answers differ."""
    output = least.output_tokens + int(share * (most.output_tokens - least.output_tokens))
    way = (output - least.output_tokens) / max(1, most.output_tokens - least.output_tokens)
    return Usage(most.input_tokens, output, least.usd + way * (most.usd - least.usd))


def _short(cap: Cap, amount: str) -> str:
    aside = " and the rest is set aside for calls that are being made" if cap.held else ""
    return f"{cap.name} has no room for a call of up to {amount}: {cap.words}{aside}"


def reached(cap: Cap) -> bool:
    """Return whether nothing is left of something. A task's own cap is reached at its last token, too."""
    gone = cap.spent.plus(cap.held)
    used = Amount(gone.tokens, gone.usd, cap.spent.seconds)
    return any(0 < most <= spent + _CENT for spent, most in _pairs(cap.limit, used))


def blocked(book: Book, config: BudgetConfig, day: str, role: str = "", *, for_good: bool = False) -> str:
    """Return why nothing new may start, for all roles or for one; the empty string where it may.

    That is so where a cap is reached, and where a worker waits whose call does not fit: what is left is too little.
    `for_good` leaves out what is set aside and may come back: then only a person, or the next day, can make room.
    """
    cap = role_cap(book, config, day, role) if role else day_cap(book, config, day)
    if not cap.limit:
        return ""
    if cap.closed:
        return f"{cap.name} is {_CLOSED}"
    if for_good:
        cap = replace(cap, held=NOTHING)
    if reached(cap):
        return f"{cap.name} is used up: {cap.words}"
    waits = (wait for wait in book.waits.values() if wait.day == day and role in ("", wait.role))
    return next((reason for wait in waits if (reason := short_of(cap, Amount(wait.tokens, wait.usd)))), "")


def pace(book: Book, now: float, over: float = _PACE) -> Amount:
    """Return what was spent in the last `over` seconds."""
    first, last = int((now - over) // SLOT) + 1, int(now // SLOT)
    total = NOTHING
    for slot, amount in book.slots.items():
        if first <= slot <= last:
            total = total.plus(amount)
    return total


def reaches(cap: Cap, spent_lately: Amount, now: float, over: float = _PACE) -> float:
    """Return when a cap is reached at this pace, in seconds since 1970: `now` where it is already, 0 for never."""
    moments = []
    for (gone, most), (rate, _) in zip(_pairs(cap.limit, cap.spent), _pairs(cap.limit, spent_lately), strict=True):
        if 0 < most <= gone:
            return now
        if most and rate > 0:
            moments.append(now + (most - gone) / (rate / over))
    return min(moments, default=0.0)


def view(book: Book, config: BudgetConfig, now: float, alive: Iterable[str] | None = None) -> SpendView:
    """Return today's spending for the room.

    `alive` names the tasks whose workers live; with None all that wait count as alive.
    """
    day = day_of(now, config.day_starts)
    cap = day_cap(book, config, day)
    known = None if alive is None else set(alive)
    when = reaches(cap, pace(book, now), now)
    waits = [wait for wait in book.waits.values() if wait.day == day and (known is None or wait.task in known)]
    full = {role: reason for role in ("", *config.roles) if (reason := blocked(book, config, day, role, for_good=True))}
    warned = [warned_cap.warning for warned_cap in nearly_full(book, config, day) if warned_cap.role not in full]
    slots, slots_usd = recent_slots(book, now)
    return SpendView(
        slots=slots,
        slots_usd=slots_usd,
        usd=cap.spent.usd,
        usd_cap=cap.limit.usd,
        tokens=cap.spent.tokens,
        tokens_cap=cap.limit.tokens,
        seconds=cap.spent.seconds,
        seconds_cap=cap.limit.seconds,
        held_usd=cap.held.usd,
        held_tokens=cap.held.tokens,
        day=day,
        reached_at=when if when <= day_ends(now, config.day_starts) else 0.0,
        waiting=len(waits),
        warned="; ".join(warned),
        full=full.pop("", ""),
        full_roles=full,
        closed=cap.closed,
        unknown_usd=cap.unknown.usd,
        unknown_tokens=cap.unknown.tokens,
    )


def recent_slots(book: Book, now: float) -> tuple[tuple[float, ...], bool]:
    """Return what each of the last slots cost, the oldest first, in dollars, or in tokens where nothing cost money."""
    last = int(now // SLOT)
    amounts = [book.slots.get(slot, NOTHING) for slot in range(last - _SLOTS_SHOWN + 1, last + 1)]
    in_usd = any(amount.usd for amount in amounts)
    slots = tuple(amount.usd if in_usd else float(amount.tokens) for amount in amounts)
    return (slots if any(slots) else ()), in_usd


def nearly_full(book: Book, config: BudgetConfig, day: str) -> list[Cap]:
    """Return the caps of the day and of its roles of which a person is warned."""
    every = [day_cap(book, config, day), *(role_cap(book, config, day, role) for role in config.roles)]
    return [cap for cap in every if config.warn_at <= cap.share < 1]
