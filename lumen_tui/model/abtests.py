"""Live A/B tests: the real tasks of a role divided between the version in force and one with a candidate more.

A trial is on records, and this on what comes in, so it tells what records do not. It decides nothing: a person does, by
what is shown. Which arm a task is in follows from its id alone, for those that began and ended while the test went on.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from lumen_tui.model.canary import WatchedTask
from lumen_tui.model.digests import sha256
from lumen_tui.model.paired import shares_interval

LEAST_TASKS, MOST_TASKS = 10, 2_000
USUAL_TASKS = 100


class ABTest(Struct, frozen=True, omit_defaults=True):
    """One line of evals/abtests.jsonl; the last line of an id is the valid one, and the last line the test of now."""

    id: str
    at: str
    by: str
    candidate: str
    role: str
    a: str  # the version that was in force when it began
    b: str  # that with the candidate more
    tasks: int = USUAL_TASKS  # that end it, in both arms together
    ended: str = ""  # when
    reason: str = ""  # of its end
    undone: bool = False  # its beginning was taken back: it counts as never begun
    schema: int = 1

    def version_of(self, task_id: str) -> str:
        """Return the version that a task of the role gets while the test goes on."""
        return self.b if int(sha256(f"{self.id} {task_id}".encode())[:8], 16) % 2 else self.a


class Arm(Struct, frozen=True):
    """What the tasks of one arm came to."""

    tasks: tuple[WatchedTask, ...] = ()

    @property
    def done(self) -> int:
        """How many of them were done."""
        return sum(task.done for task in self.tasks)

    @property
    def words(self) -> str:
        """`41 of 52 done`."""
        return f"{self.done} of {len(self.tasks)} done"


class ABResult(Struct, frozen=True):
    """A test with what is known of it now."""

    test: ABTest
    a: Arm = Arm()
    b: Arm = Arm()

    @property
    def seen(self) -> int:
        """How many tasks ended."""
        return len(self.a.tasks) + len(self.b.tasks)

    @property
    def interval(self) -> tuple[float, float]:
        """By how much more of the tasks of B were done, with 95 % confidence; for one look."""
        return shares_interval(self.a.done, len(self.a.tasks), self.b.done, len(self.b.tasks))

    @property
    def words(self) -> str:
        """The result in a line."""
        low, high = self.interval
        state = f"ended: {self.test.reason}" if self.test.ended else f"{self.seen} of {self.test.tasks} tasks"
        costs = " and ".join(f"{_mean(arm.tasks):,}" for arm in (self.a, self.b))
        shown = f"A {self.a.words}, B {self.b.words}, difference {low:+.0%} to {high:+.0%}"
        return f"{shown}, {costs} tokens a task; {state}"


def _mean(tasks: Sequence[WatchedTask]) -> int:
    return round(sum(task.tokens for task in tasks) / len(tasks)) if tasks else 0
