"""What happened since an operator last looked: grouped, counted, each entry with the thing that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.text import one_line

AWAY = 30 * times.MINUTE  # seconds after which a room that opens says what happened meanwhile
GROUPS = (
    "failed",
    "drift",
    "budget",
    "approvals",
    "signals",
    "discoveries",
    "ended",
    "loops",
    "learnt",
    "people",
    "engine",
)
TITLES = {
    "failed": "Failed, lost or cancelled", "drift": "Facts that are not so any more", "budget": "Budget",
    "approvals": "Questions to you", "signals": "Signals", "discoveries": "Discoveries", "ended": "Tasks that ended",
    "loops": "Loops", "learnt": "Learnt", "people": "What others did", "engine": "The engine",
}  # fmt: skip
_WORDS = {
    "ended": ("task ended", "tasks ended"), "failed": ("failed", "failed"), "drift": ("fact drifted", "facts drifted"),
    "budget": ("word on the budget", "words on the budget"), "approvals": ("question", "questions"),
    "discoveries": ("discovery", "discoveries"), "signals": ("signal", "signals"), "loops": ("loop", "loops"),
    "people": ("thing done by others", "things done by others"), "learnt": ("word on learning", "words on learning"),
    "engine": ("word from the engine", "words from the engine"),
}  # fmt: skip
_FIRST = ("ended", "failed", "drift", "approvals", "discoveries", "signals", "budget", "loops", "people")
_SAID = 5  # groups that the one line names
# Kinds of the engine's events that are worth a word, and the group that they belong to.
EVENTS: Mapping[str, str] = {
    "lost": "failed", "fact_drifted": "drift", "budget_warning": "budget", "budget_full": "budget",
    "budget_resumed": "budget", "spend_unknown": "budget", "approval_expired": "approvals",
    "approval_withdrawn": "approvals", "evolution": "learnt", "constitution": "learnt", "killed": "engine",
    "unkilled": "engine", "paused": "engine", "resumed": "engine", "role_stopped": "engine", "role_ended": "engine",
    "role_kept": "engine", "clock_jump": "engine", "beats_missed": "engine", "beat_failed": "engine",
    "quarantined": "engine", "recovered": "engine", "sandbox": "engine", "settings": "engine", "not_started": "engine",
    "engine_started": "engine", "engine_stopped": "engine",
}  # fmt: skip

# For narrow screens, where it differs from the title.
SHORT = {
    "failed": "Failed, lost",
    "drift": "Facts drifted",
    "approvals": "Questions",
    "ended": "Tasks ended",
    "people": "By others",
}
# What comes before an event's own text, which leaves out what its kind says.
_BEFORE = {
    "engine_stopped": "engine stopped: ",
    "killed": "the agent was ",
    "unkilled": "the agent ",
    "budget_resumed": "the agent ",
    "approval_withdrawn": "question withdrawn: ",
}


def event_words(kind: str, text: str) -> str:
    """Return an event as a sentence that needs no kind beside it."""
    return "engine started" if kind == "engine_started" else f"{_BEFORE.get(kind, '')}{text}"


class DigestEntry(Struct, frozen=True):
    """One entry. `at` in seconds since 1970; `target` is the id of what it is about, empty for none."""

    at: float
    text: str
    target: str = ""
    kind: str = ""  # task | loop | signal | node | fact | approval | action | event


class Group(Struct, frozen=True):
    """Things of one kind, newest first. `count` may be more than is named."""

    name: str
    count: int
    entries: tuple[DigestEntry, ...] = ()
    at_least: bool = False  # more was there than was looked through

    @property
    def title(self) -> str:
        """The heading of the group."""
        return TITLES.get(self.name, self.name)


class Digest(Struct, frozen=True):
    """For one operator. `since` and `until` in seconds since 1970; `first`: nobody of that name has looked before."""

    operator: str
    since: float
    until: float
    groups: tuple[Group, ...] = ()
    usd: float = 0.0  # what the tasks cost that ended
    first: bool = False

    @property
    def count(self) -> int:
        """The number of entries of all groups."""
        return sum(group.count for group in self.groups)


def grouped(
    entries_by_group: Mapping[str, Sequence[DigestEntry]], counts: Mapping[str, int], partly: frozenset[str], most: int
) -> tuple[Group, ...]:
    """Return the groups that have anything, in their order, each with its newest `most` entries."""
    groups = []
    for name in GROUPS:
        entries = sorted(entries_by_group.get(name, ()), key=lambda entry: -entry.at)
        count = max(counts.get(name, 0), len(entries))
        if count:
            groups.append(Group(name, count, tuple(entries[:most]), name in partly))
    return tuple(groups)


def words(group: Group) -> str:
    """Return the count and the noun of a group: `3 discoveries`."""
    singular, plural = _WORDS.get(group.name, (group.name, group.name))
    more = "+" if group.at_least else ""
    return f"{group.count:,}{more} {singular if group.count == 1 and not more else plural}"


def line(digest: Digest, *, since_left: bool = True) -> str:
    """Return `since you left, 5 h: 12 tasks ended, 1 failed`; empty where nothing happened.

    `since_left`: it begins where the operator left, not at a moment that was asked for.
    """
    by_name = {group.name: group for group in digest.groups}
    parts = [words(by_name[name]) for name in _FIRST if name in by_name][:_SAID]
    if not parts:
        return ""
    past = times.age(digest.until - digest.since)
    when = f"since you left, {past}" if since_left and not digest.first else f"in the last {past}"
    return one_line(f"{when}: {', '.join(parts)}", 200)
