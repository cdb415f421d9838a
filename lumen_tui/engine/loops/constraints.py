"""What binds the next loop, as far as the engine knows it: kill, pauses, caps, full lanes, the sandbox, the network.

No word of a work unit stands here, as nobody has accepted it: only which of them state constraints.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from lumen_tui.model import budget
from lumen_tui.model.config import Config
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.text import one_line
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.store.work import work_units

_MOST, _WIDEST = 30, 240  # entries, and characters of one
_STATED = re.compile(r"^#+ *constraints\b", re.IGNORECASE | re.MULTILINE)
_SANDBOX = {
    "bubblewrap": "commands of workers run in bubblewrap",
    "landlock": "commands of workers run under Landlock",
    "ask": "no sandbox: a worker's command that may change something waits for a person",
    "refused": "no sandbox: workers run no commands",
}


class Constraints:
    """Finds the constraints in force for one state folder; reads again only what has changed."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._ledger = Ledger(layout)
        self._units = Stamped(lambda: work_units.unit_files(layout), lambda: work_units.list_units(layout)[0])

    def in_force(self, config: Config, now: float) -> tuple[str, ...]:
        """Return one line each, what stops most first; empty if nothing binds."""
        return self.passing(config, now) + _lines(self._sandbox_tier, self._network)

    def passing(self, config: Config, now: float) -> tuple[str, ...]:
        """Return those that come and go; the others are the same for every loop, and a capsule is short."""
        return _lines(
            self._killed,
            lambda: self._paused(now),
            lambda: self._spent(config, now),
            lambda: self._lanes(config),
            self._stated,
        )

    def _killed(self) -> Iterator[str]:
        if (kill := read_kill(self._layout)) is not None:
            yield f"no task runs: {kill.words}"

    def _paused(self, now: float) -> Iterator[str]:
        for name, words in pauses.in_force(self._layout, now).items():
            yield f"{name} is {words}"

    def _spent(self, config: Config, now: float) -> Iterator[str]:
        view = budget.view(self._ledger.refresh(), config.budget, now)
        yield from (words for words in (view.full, view.warned) if words)

    def _open_units(self) -> list[WorkUnit]:
        self._units.refresh()
        return [unit for unit in self._units.value if unit.status != "done"]

    def _lanes(self, config: Config) -> Iterator[str]:
        counts = Counter(unit.lane for unit in self._open_units() if unit.lane and unit.status == "in_progress")
        for lane, count in sorted(counts.items()):
            if count >= (limit := config.lanes.limit(lane)):
                yield f"lane {lane} is full: {count} of {limit} in progress"

    def _stated(self) -> Iterator[str]:
        for unit in self._open_units():
            if _STATED.search(unit.body):
                yield f"{unit.id} states constraints of its own: read {self._layout.work_unit(unit.id)}"

    def _sandbox_tier(self) -> Iterator[str]:
        heartbeat = read_json(self._layout.heartbeat, Heartbeat)
        if heartbeat and heartbeat.sandbox in _SANDBOX:
            yield _SANDBOX[heartbeat.sandbox]

    def _network(self) -> Iterator[str]:
        roles, _, _ = list_roles(self._layout)
        if roles and not any(role.network for role in roles):
            yield "no role may use the network"


def _lines(*reads: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    return tuple(one_line(words, _WIDEST) for read in reads for words in _or_empty(read))[:_MOST]


def _or_empty(read: Callable[[], Iterable[str]]) -> list[str]:
    """Return what `read` gives, or nothing if it cannot be read; the room's problems report that."""
    try:
        return list(read())
    except (StoreError, OSError):
        return []
