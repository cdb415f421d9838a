"""How roles and models do: counts with their uncertainty, durations, cost, and when a role should be retired."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from lumen_tui.model import agent, times
from lumen_tui.model.acceptance import Verdict

LEAST = 20  # ended tasks below which nothing is proposed
WEEKS = 12  # that a trend goes back
LATEST = 20  # tasks in the short trend
_Z = 1.96  # of the normal distribution, for 95 per cent
_GOOD, _BAD = ("done",), ("failed", "lost")


class Sample(Struct, frozen=True, gc=False):
    """One ended task. `attempts` counts its workers; `retry` says whether it repeats another task."""

    role: str
    model: str
    status: str
    finished: float
    seconds: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    attempts: int = 1
    retry: bool = False
    verdict: str = ""  # of its checks
    disproved: int = 0  # attempts whose checks failed

    @property
    def good(self) -> bool:
        """Whether it was done."""
        return self.status in _GOOD

    @property
    def counts(self) -> bool:
        """Whether it says something of success. A person's cancelling does not."""
        return self.status in _GOOD or self.status in _BAD


class Tally(Struct, frozen=True):
    """Tasks that were done among those tried."""

    done: int = 0
    tried: int = 0

    @property
    def rate(self) -> float | None:
        """The share done; None without any task."""
        return self.done / self.tried if self.tried else None

    @property
    def interval(self) -> tuple[float, float]:
        """Between what the true share lies, with 95 per cent."""
        return wilson(self.done, self.tried)


class Stats(Struct, frozen=True):
    """What is known of one role or model. Durations are in seconds, money in dollars, times in seconds since 1970."""

    name: str
    tasks: int = 0
    done: int = 0
    failed: int = 0  # lost ones too
    cancelled: int = 0
    rate: float | None = None
    low: float = 0.0
    high: float = 1.0
    median: float = 0.0
    p95: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    usd_median: float = 0.0
    usd_p95: float = 0.0
    checked: int = 0  # tasks whose checks were run: each is proved or not
    proved: int = 0
    claimed: int = 0  # where a check could not be run
    disproved: int = 0  # times that a worker called a task done, and the checks failed
    retries: int = 0  # tasks that repeat another one, and attempts after the first
    last_used: float = 0.0
    weeks: tuple[Tally, ...] = ()  # the oldest first, the last one is the present week
    latest: tuple[bool, ...] = ()  # whether each of the latest was done, the oldest first


class Retirement(Struct, frozen=True):
    """The evidence that a role does worse than the others."""

    role: str
    own: Tally
    fleet: Tally  # of all other roles
    usd: float = 0.0  # each task on average
    fleet_usd: float = 0.0

    @property
    def target(self) -> str:
        """Its name among what needs a person: dismissed, it comes back with that much more evidence."""
        return f"retire-{self.role}-{self.own.tried // LEAST}"

    @property
    def text(self) -> str:
        """The evidence in one sentence."""
        own, others = shares(self.own), shares(self.fleet)
        cost = f", ${self.usd:.3f} a task against ${self.fleet_usd:.3f}" if self.usd or self.fleet_usd else ""
        return f"role {self.role} does worse than the others: {own} done, they {others}{cost}; retire it?"


class TaskStatistics(Struct, frozen=True):
    """The figures of every role and every model, and of all roles together."""

    roles: tuple[Stats, ...] = ()
    models: tuple[Stats, ...] = ()
    retirements: tuple[Retirement, ...] = ()

    def role(self, name: str) -> Stats | None:
        """Return the figures of one role."""
        return next((stats for stats in self.roles if stats.name == name), None)


def wilson(done: int, tried: int) -> tuple[float, float]:
    """Return Wilson's score interval for a share, 95 per cent (E. B. Wilson, 1927). It holds for few tasks too."""
    if tried <= 0:
        return 0.0, 1.0
    share, square = done / tried, _Z * _Z
    middle = share + square / (2 * tried)
    reach = _Z * math.sqrt(share * (1 - share) / tried + square / (4 * tried * tried))
    scale = 1 + square / tried
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def quantile(numbers: Sequence[float], share: float) -> float:
    """Return the quantile of the numbers by nearest rank (0 to 1); 0 where there are none."""
    if not numbers:
        return 0.0
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def shares(tally: Tally) -> str:
    """Format a share with its interval: `12 of 20 (95 % CI 39–78 %)`."""
    low, high = tally.interval
    return f"{tally.done} of {tally.tried} (95 % CI {percent(low)}–{percent(high)} %)"


def proofs(figures: Stats) -> str:
    """Say how many tasks with checks were proved, and how often done was wrong; empty without such tasks."""
    if not figures.checked:
        return ""
    claimed = f", {figures.claimed} only claimed" if figures.claimed else ""
    return f"{figures.proved} of {figures.checked} proved{claimed}; {figures.disproved} times done was disproved"


def percent(share: float) -> str:
    """Return a share as whole per cent."""
    return f"{100 * share:.0f}"


def stats(name: str, samples: Iterable[Sample], now: float) -> Stats:
    """Return the figures of one role or model."""
    ordered = sorted(samples, key=lambda sample: sample.finished)
    tried = [sample for sample in ordered if sample.counts]
    done = sum(sample.good for sample in tried)
    low, high = wilson(done, len(tried))
    seconds = [sample.seconds for sample in tried if sample.seconds > 0]
    usd = [sample.usd for sample in tried]
    return Stats(
        name=name,
        tasks=len(ordered),
        done=done,
        failed=len(tried) - done,
        cancelled=len(ordered) - len(tried),
        rate=done / len(tried) if tried else None,
        low=low,
        high=high,
        median=quantile(seconds, 0.5),
        p95=quantile(seconds, 0.95),
        tokens=sum(sample.tokens for sample in ordered),
        usd=math.fsum(sample.usd for sample in ordered),
        usd_median=quantile(usd, 0.5),
        usd_p95=quantile(usd, 0.95),
        checked=sum(bool(sample.verdict) for sample in ordered),
        proved=sum(sample.verdict == Verdict.PROVED for sample in ordered),
        claimed=sum(sample.verdict == Verdict.CLAIMED for sample in ordered),
        disproved=sum(sample.disproved for sample in ordered),
        retries=sum(_again(sample) for sample in ordered),
        last_used=ordered[-1].finished if ordered else 0.0,
        weeks=_weeks(tried, now),
        latest=tuple(sample.good for sample in tried[-LATEST:]),
    )


def _again(sample: Sample) -> int:
    return int(sample.retry) + max(0, sample.attempts - 1)


def _weeks(tried: Sequence[Sample], now: float) -> tuple[Tally, ...]:
    done, all_ = [0] * WEEKS, [0] * WEEKS
    for sample in tried:
        back = int(max(0.0, now - sample.finished) // (7 * times.DAY))
        if back < WEEKS:
            done[-1 - back] += sample.good
            all_[-1 - back] += 1
    return tuple(Tally(*pair) for pair in zip(done, all_, strict=True))


def task_statistics(samples: Iterable[Sample], now: float) -> TaskStatistics:
    """Return the figures of all roles and models in these tasks, in alphabetical order."""
    known = list(samples)
    roles = _by([(entry.role, entry) for entry in known], now)
    models = _by([(entry.model, entry) for entry in known if entry.model], now)
    tallies = {entry.name: (Tally(entry.done, entry.done + entry.failed), entry.usd) for entry in roles}
    return TaskStatistics(roles=roles, models=models, retirements=retirements(tallies))


def _by(named: list[tuple[str, Sample]], now: float) -> tuple[Stats, ...]:
    named.sort(key=lambda pair: pair[0])
    groups = groupby(named, key=lambda pair: pair[0])
    return tuple(stats(name, (sample for _, sample in group), now) for name, group in groups)


def retirements(tallies: dict[str, tuple[Tally, float]]) -> tuple[Retirement, ...]:
    """Return the roles whose interval lies wholly below that of all others together; both sides need LEAST tasks.

    `tallies` holds for each role its tasks and what they cost. The main agent's sessions are no part of this.
    """
    fleet = {name: pair for name, pair in tallies.items() if name != agent.ROLE}
    done, tried = sum(tally.done for tally, _ in fleet.values()), sum(tally.tried for tally, _ in fleet.values())
    spent = math.fsum(usd for _, usd in fleet.values())
    proposals = []
    for name, (own, usd) in sorted(fleet.items()):
        others = Tally(done - own.done, tried - own.tried)
        if min(own.tried, others.tried) >= LEAST and own.interval[1] < others.interval[0]:
            proposals.append(Retirement(name, own, others, usd / own.tried, (spent - usd) / others.tried))
    return tuple(proposals)


def spark(weeks: Sequence[Tally], levels: str = "▁▂▃▄▅▆▇█") -> str:
    """Draw one mark a week for the share done, of `levels` from none to all; a blank for a week without tasks."""
    if not levels:
        return ""
    last = len(levels) - 1
    return "".join([" " if week.rate is None else levels[round(week.rate * last)] for week in weeks])


def recent(latest: Sequence[bool], good: str = "●", bad: str = "○") -> str:
    """Return one mark for each of the latest tasks, the oldest first."""
    return "".join([good if done else bad for done in latest])
