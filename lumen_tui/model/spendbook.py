"""The ledger's lines and the totals that follow from them.

A line that is taken twice counts once, and the lines of one call may come in any order.
"""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from lumen_tui.model import times

_K = TypeVar("_K")
_V = TypeVar("_V")

HOLD, SENT, SETTLE, RELEASE, LOST, SPENT = "hold", "sent", "settle", "release", "lost", "spent"
WAIT, GONE, GRANT, REVOKE, NOTICE = "wait", "gone", "grant", "revoke", "notice"
SLOT = 300  # seconds: the grain of rates and of the chart over a day
_SLOTS_KEPT = 2 * 86400 // SLOT
_DAYS_KEPT = 31  # totals by role and by model
_TASK_DAYS_KEPT = 2  # totals of a day by task
_TASKS_KEPT = 3000  # whole totals of tasks, the last ones that spent something
_IDS_KEPT = 1000  # settled calls whose repetition is known by name


class LedgerEntry(Struct, frozen=True, omit_defaults=True):
    """One line of spend.jsonl. `day` is the budget day that counts it: that of the hold, also when it is settled later.

    A `hold` sets aside the most that a call can cost; where it is `unsent`, nothing leaves before its `sent`.
    `settle` says what it did cost, `release` that it cost nothing, `lost` that nobody will say: then the whole
    hold counts, until a settlement comes after all. `spent` is a call that nobody had reserved. A `wait` is a
    worker that found no room, until its next hold or until it is `gone`; a `grant`, until its `revoke`, is more
    room for one day; a `notice` is something that was told once.
    """

    id: str
    kind: str
    at: str
    day: str = ""
    task: str = ""
    attempt: int = 0
    role: str = ""
    model: str = ""
    tokens: int = 0  # as caps count them, by `model.budget.light_tokens`; older ledgers count cached ones in full
    usd: float = 0.0
    seconds: float = 0.0  # the worker's time since its last line, waiting left out; of a grant: more time
    waited: float = 0.0  # seconds that the worker waited for room before this hold
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    by: str = ""
    text: str = ""
    prompt: int = 0  # tokens of the prompt, each one counted, and ...
    read: int = 0  # ... those of them that a vendor's cache gave; both of a settled call
    above: tuple[str, ...] = ()  # the tasks of whose budgets it is spent too: the one that ordered this one, and so on
    purpose: str = ""  # of a call that no step of a task needed: `summary` of its earlier steps
    unsent: bool = False  # of a hold: a `sent` of the same id comes right before the request leaves
    schema: int = 1


class Amount(Struct, frozen=True, omit_defaults=True):
    """Tokens, dollars, seconds of work, and how many calls."""

    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    prompt: int = 0  # tokens sent, and ...
    read: int = 0  # ... those of them that came from a vendor's cache, where the ledger says so

    def plus(self, other: "Amount", sign: int = 1) -> "Amount":
        """Return the sum; with `sign` -1 the difference."""
        return Amount(
            self.tokens + sign * other.tokens,
            self.usd + sign * other.usd,
            self.seconds + sign * other.seconds,
            self.calls + sign * other.calls,
            self.prompt + sign * other.prompt,
            self.read + sign * other.read,
        )

    @property
    def cached(self) -> float:
        """The share of the prompts that came from a vendor's cache."""
        return self.read / self.prompt if self.prompt else 0.0

    def __bool__(self) -> bool:
        return bool(self.tokens or self.usd or self.seconds or self.calls)


NOTHING = Amount()


class Book(Struct, omit_defaults=True):
    """Totals. Its fields are what the index keeps, so that a start reads only the newest lines."""

    days: dict[str, Amount] = field(default_factory=dict)
    parts: dict[str, dict[str, Amount]] = field(default_factory=dict)  # `2026-11-21 role` -> name -> total
    tasks: dict[str, Amount] = field(default_factory=dict)  # over all days and attempts
    below: dict[str, Amount] = field(default_factory=dict)  # what the sub-tasks of a task spent, and theirs
    waited: dict[str, float] = field(default_factory=dict)  # seconds by task
    slots: dict[int, Amount] = field(default_factory=dict)  # by time divided by SLOT
    open: dict[str, LedgerEntry] = field(default_factory=dict)  # holds that nobody settled
    lost: dict[str, LedgerEntry] = field(default_factory=dict)  # holds that count in full because nobody will say
    early: dict[str, LedgerEntry] = field(
        default_factory=dict
    )  # settled or lost before the hold was read: it counts then
    sent: dict[str, bool] = field(default_factory=dict)  # told before the hold was read
    recent: dict[str, bool] = field(default_factory=dict)  # ids of the last settled calls
    grants: dict[str, LedgerEntry] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)  # id -> when
    waits: dict[str, LedgerEntry] = field(default_factory=dict)  # by task: it found no room and has made no call since

    def take(self, entry: LedgerEntry) -> None:
        """Fold in one line. Unknown kinds are passed over: a later version may have written them."""
        if kind := _KINDS.get(entry.kind):
            kind(self, entry)

    def part(self, day: str, kind: str, name: str) -> Amount:
        """Return the total of a day by `role`, `model` or `task`."""
        return self.parts.get(f"{day} {kind}", {}).get(name, NOTHING)

    def held(self, day: str, *, role: str = "", task: str = "") -> Amount:
        """Return what is set aside: on a day, or for a task on any day."""
        total = NOTHING
        for hold in self.open.values():
            if (hold.task == task) if task else (hold.day == day and role in ("", hold.role)):
                total = total.plus(Amount(hold.tokens, hold.usd, 0.0, 1))
        return total

    def family(self, task: str) -> tuple[Amount, Amount]:
        """Return what a task and all below it have spent, and what is set aside for them."""
        held = self.held("", task=task)
        for hold in self.open.values():
            if task in hold.above:
                held = held.plus(Amount(hold.tokens, hold.usd, 0.0, 1))
        return self.tasks.get(task, NOTHING).plus(self.below.get(task, NOTHING)), held

    def unknown(self, day: str, role: str = "") -> Amount:
        """Return what counts as spent on a day though nobody reported what it cost."""
        total = NOTHING
        for hold in self.lost.values():
            if hold.day == day and role in ("", hold.role):
                total = total.plus(Amount(hold.tokens, hold.usd, 0.0, 1))
        return total

    def add(self, entry: LedgerEntry, amount: Amount, sign: int = 1) -> None:
        """Count an amount for the day, the slot, and the names of an entry."""
        if entry.day not in self.days:
            self._forget(entry.day)
        slot = int(times.epoch(entry.at)) // SLOT
        self.days[entry.day] = self.days.get(entry.day, NOTHING).plus(amount, sign)
        self.slots[slot] = self.slots.get(slot, NOTHING).plus(amount, sign)
        names = {"role": entry.role, "model": entry.model, "task": entry.task}
        for kind, name in {**names, **({"purpose": entry.purpose} if entry.purpose else {})}.items():
            totals = self.parts.setdefault(f"{entry.day} {kind}", {})
            totals[name] = totals.get(name, NOTHING).plus(amount, sign)
        self.tasks[entry.task] = self.tasks.pop(entry.task, NOTHING).plus(amount, sign)
        for name in entry.above:
            self.below[name] = self.below.pop(name, NOTHING).plus(amount, sign)

    def _forget(self, new: str) -> None:
        """Drop what is too old to matter, when a day begins."""
        days = sorted([*self.days, new])
        late, tasks_late = days[-_DAYS_KEPT:][0], days[-_TASK_DAYS_KEPT:][0]
        self.days = {day: total for day, total in self.days.items() if day >= late}
        self.parts = {
            key: totals for key, totals in self.parts.items() if key >= (tasks_late if key.endswith(" task") else late)
        }
        self.slots = _last(self.slots, _SLOTS_KEPT)
        self.tasks, self.below = _last(self.tasks, _TASKS_KEPT), _last(self.below, _TASKS_KEPT)
        self.waited = {task: seconds for task, seconds in self.waited.items() if task in self.tasks}
        for known in (self.lost, self.early, self.grants, self.waits):
            for name in [name for name, entry in known.items() if entry.day < tasks_late]:
                del known[name]
        self.notices = _last(self.notices, _IDS_KEPT)

    def settled(self, call: str) -> None:
        """Remember that a call is settled."""
        self.early.pop(call, None)
        self.recent[call] = True
        if len(self.recent) > 2 * _IDS_KEPT:
            self.recent = _last(self.recent, _IDS_KEPT)


def _last(known: dict[_K, _V], count: int) -> dict[_K, _V]:
    return dict(list(known.items())[-count:])


def _hold(book: Book, entry: LedgerEntry) -> None:
    if entry.id in book.open or entry.id in book.lost or entry.id in book.recent:
        return
    book.open[entry.id] = replace(entry, unsent=entry.unsent and not book.sent.pop(entry.id, False))
    book.waits.pop(entry.task, None)
    if entry.seconds:
        book.add(entry, Amount(seconds=entry.seconds))
    if entry.waited:
        book.waited[entry.task] = book.waited.get(entry.task, 0.0) + entry.waited
    if known := book.early.pop(entry.id, None):
        book.take(known)


def _send(book: Book, entry: LedgerEntry) -> None:
    if hold := book.open.get(entry.id):
        book.open[entry.id] = replace(hold, unsent=False)
    elif entry.id not in book.lost and entry.id not in book.recent:
        book.sent[entry.id] = True
        book.sent = _last(book.sent, _IDS_KEPT)


def _settle(book: Book, entry: LedgerEntry) -> None:
    if entry.id in book.recent:
        return  # told a second time
    assumed = book.lost.pop(entry.id, None)
    hold = book.open.pop(entry.id, assumed)
    if hold is None:
        _keep_early(book, entry)
        return
    if assumed is not None:
        book.add(assumed, Amount(assumed.tokens, assumed.usd, 0.0, 1), -1)
    calls = int(entry.kind != RELEASE)
    book.add(hold, Amount(entry.tokens, entry.usd, entry.seconds, calls, entry.prompt, entry.read))
    book.settled(entry.id)


def _lose(book: Book, entry: LedgerEntry) -> None:
    if entry.id in book.recent or entry.id in book.lost:
        return
    hold = book.open.pop(entry.id, None)
    if hold is None:
        _keep_early(book, entry)
        return
    book.add(hold, Amount(hold.tokens, hold.usd, 0.0, 1))
    book.lost[entry.id] = hold


def _keep_early(book: Book, entry: LedgerEntry) -> None:
    """Store an entry whose hold was not read yet: the first settlement stays, and replaces a loss."""
    known = book.early.get(entry.id)
    if known is None or (known.kind == LOST and entry.kind != LOST):
        book.early[entry.id] = entry
    if len(book.early) > 2 * _IDS_KEPT:
        book.early = _last(book.early, _IDS_KEPT)


def _spend(book: Book, entry: LedgerEntry) -> None:
    if entry.id in book.open or entry.id in book.lost:
        _settle(book, entry)  # somebody had reserved it after all
    elif entry.id not in book.recent:
        book.add(entry, Amount(entry.tokens, entry.usd, entry.seconds, 1, entry.prompt, entry.read))
        book.settled(entry.id)


def _wait(book: Book, entry: LedgerEntry) -> None:
    book.waits[entry.task] = entry


def _gone(book: Book, entry: LedgerEntry) -> None:
    if (wait := book.waits.get(entry.task)) and wait.id == entry.id:
        del book.waits[entry.task]


def _grant(book: Book, entry: LedgerEntry) -> None:
    book.grants[entry.id] = entry


def _revoke(book: Book, entry: LedgerEntry) -> None:
    book.grants.pop(entry.id, None)


def _notice(book: Book, entry: LedgerEntry) -> None:
    book.notices[entry.id] = entry.at


_KINDS: dict[str, Callable[[Book, LedgerEntry], None]] = {
    HOLD: _hold, SENT: _send, SETTLE: _settle, RELEASE: _settle, LOST: _lose, SPENT: _spend, WAIT: _wait, GONE: _gone,
    GRANT: _grant, REVOKE: _revoke, NOTICE: _notice,
}  # fmt: skip


class SpendView(Struct, frozen=True):
    """What today cost (the budget's day), against its caps, which include what a person added for today."""

    usd: float = 0.0
    usd_cap: float = 0.0
    tokens: int = 0
    tokens_cap: int = 0
    seconds: float = 0.0
    seconds_cap: float = 0.0
    unknown_usd: float = 0.0  # of what is spent: calls that nobody reported the cost of, counted in full
    unknown_tokens: int = 0
    held_usd: float = 0.0  # set aside for calls that are being made
    held_tokens: int = 0
    day: str = ""
    reached_at: float = 0.0  # when the first cap is reached at the pace of the last hour; 0 for not today
    waiting: int = 0  # workers that found no room
    warned: str = ""  # the caps that are nearly reached, in words
    full: str = ""  # why nothing new starts, whatever its role: what is left of the day's cap, in words
    full_roles: dict[str, str] = {}  # why nothing new of a role starts, by its name: the others go on
    slots: tuple[float, ...] = ()  # spent in each five minutes of the last five hours, the oldest first
    slots_usd: bool = False  # whether that is dollars; else tokens
    closed: bool = False  # the caps cannot be read, so that nothing may be spent; `tokens_cap` says nothing then

    @property
    def reached(self) -> tuple[str, ...]:
        """The caps that hold something back, in words: the day's, which holds back all, or those of roles."""
        return (self.full,) if self.full else tuple(self.full_roles.values())
