"""What the agent's hooks reported, followed and never re-read: totals, failures, and calls since the last signal."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.kinds import COMPLETION
from lumen_tui.model.problem import Problem
from lumen_tui.model.progress import HookView, Missing, Stretch, UnitState, missing
from lumen_tui.model.records import decode_signal
from lumen_tui.model.text import one_line
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage import backwards, files
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.stamped import Stamp, stamp
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.work import work_units

if TYPE_CHECKING:
    from lumen_tui.model.config import ProgressSignalsConfig

_MOST_CALLS = 10_000  # times kept per session and work unit; beyond that the oldest are forgotten
_LOOK_BACK = 4 * 1024 * 1024  # bytes of signals searched at first
_PATIENCE = 120.0  # seconds a request may wait for its checkpoint before it is a problem


class _HookLine(msgspec.Struct, gc=False):
    """The fields of a hook's line that are counted."""

    event: str
    at: str = ""
    session: str = ""
    wu: str = ""
    id: str = ""
    ask: str = ""
    ok: bool = False
    reason: str = msgspec.field(default="", name="said")  # of a failure
    node: str = ""
    first: str = ""
    count: int = 0
    tests: bool = False
    milestone: bool = False
    answers: tuple[str, ...] = ()


_line = lazy_decoder(_HookLine)


class _Activity:
    """Times of one session's calls for a work unit, oldest first, in seconds since 1970."""

    def __init__(self) -> None:
        self.calls: list[float] = []
        self.tests: list[float] = []
        self.milestones: list[float] = []

    def forget(self, until: float) -> None:
        """Forget what happened before a signal, which has reported it."""
        for moments in (self.calls, self.tests, self.milestones):
            moments[:] = [at for at in moments[-_MOST_CALLS:] if at > until]

    def stretch(self, session: str, wu_id: str) -> Stretch:
        first = [min(moments, default=0.0) for moments in (self.calls, self.tests, self.milestones)]
        return Stretch(session, wu_id, len(self.calls), *first)


class HookEvents:
    """Follows sessions/hook-events.jsonl of one state folder."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.root / hook_journal.NAME)
        self.damage = Damage(hook_journal.NAME, self._follower)
        self.revision = 0
        self._generation = 0
        self._odd = ""  # why the file cannot be read
        self._clear()

    def _clear(self) -> None:
        self.view = HookView()
        self.since = ""  # the first event that is known
        self.counts: dict[str, int] = {}
        self.worked: dict[tuple[str, str], _Activity] = {}
        self._waiting: dict[str, tuple[str, float]] = {}  # request -> session and moment

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> bool:
        """Read what is new; return whether there was anything."""
        if not self._follower.changed():
            return False
        try:
            offset, data = self._follower.poll()
            self._odd = ""
        except (files.StoreError, OSError) as error:
            changed = self._odd != str(error)
            self._odd = str(error)
            self.revision += changed
            return changed
        if self._generation != self._follower.generation:
            self._generation = self._follower.generation
            self._clear()
        for start, line in split_lines(data, offset):
            try:
                self._take(_line.decode(line))
            except UNDECODABLE as error:
                self.damage.add(start, str(error))
        waiting = min((at for _, at in self._waiting.values()), default=0.0)
        self.view = msgspec.structs.replace(self.view, waiting_since=waiting)
        self.revision += 1
        return True

    def _take(self, line: _HookLine) -> None:
        at = times.epoch(line.at)
        self.since = self.since or line.first or line.at
        if line.event == hook_journal.OUTCOME:
            self._take_outcome(line, at)
            return
        many = line.count if line.event == hook_journal.EARLIER else 1
        self.counts[line.event] = self.counts.get(line.event, 0) + many
        view = self.view
        facts: dict[str, object] = {"events": view.events + many}
        if line.event != hook_journal.EARLIER:
            facts |= {"last": at, "last_event": line.event, "outside": view.outside + (not line.wu)}
        self.view = msgspec.structs.replace(view, **facts)
        if line.ask:
            self._waiting[line.id] = (line.session, at)
        if line.wu:
            self._count(line, at)

    def _count(self, line: _HookLine, at: float) -> None:
        worked = self.worked.setdefault((line.session, line.wu), _Activity())
        if line.event in hook_journal.CALLS:
            worked.calls.append(at)
        if line.tests:
            worked.tests.append(at)
        if line.milestone:
            worked.milestones.append(at)

    def _take_outcome(self, line: _HookLine, at: float) -> None:
        for request in line.answers:
            self._waiting.pop(request, None)
        view = self.view
        if not line.ok:
            self.view = msgspec.structs.replace(
                view, failures=view.failures + 1, failing=line.reason or "no reason given"
            )
            return
        self._waiting = {
            key: request_info
            for key, request_info in self._waiting.items()
            if request_info[0] != line.session or request_info[1] > at
        }
        self.view = msgspec.structs.replace(
            view, checkpoints=view.checkpoints + 1, last_checkpoint=at, last_node=line.node, failing=""
        )

    def problems(self, now: float) -> list[Problem]:
        """Return what a person should know: damaged lines, a failure, a request that nobody answers."""
        reports = self.damage.problems()
        name = hook_journal.NAME
        hint = "`lumen-tui hooks status` says more"
        if self._odd:
            reports.append(Problem(where=name, what=self._odd))
        if self.view.failing:
            message = f"the last work for a hook failed: {one_line(self.view.failing, 200)}"
            reports.append(Problem(where=name, what=message, hint=hint))
        elif 0 < self.view.waiting_since < now - _PATIENCE:
            age = times.age(now - self.view.waiting_since)
            message = f"a hook asked for a checkpoint {age} ago and none was made (see {hook_journal.LOG})"
            reports.append(Problem(where=name, what=message, hint=hint))
        return reports


class SignalTimes:
    """When the last signal about each work unit was sent, from the end of the journal and then followed.

    At first only the last 4 MiB are searched: current work is there.
    """

    def __init__(self, layout: Layout) -> None:
        self._path = layout.signals
        self._stamp: Stamp = (0, 0, 0)
        self._end = (0, 0)  # inode, and the offset up to which it was searched
        self.newest: dict[str, float] = {}

    def refresh(self) -> bool:
        now = stamp(self._path)
        if now == self._stamp:
            return False
        self._stamp = now
        try:
            fd = files.open_plain(self._path)
        except FileNotFoundError:
            return False
        try:
            self._scan(fd)
        finally:
            os.close(fd)
        return True

    def _scan(self, fd: int) -> None:
        signals_stat = os.fstat(fd)
        known = self._end[1] if self._end[0] == signals_stat.st_ino and self._end[1] <= signals_stat.st_size else 0
        until = known or max(0, signals_stat.st_size - _LOOK_BACK)
        last = -1
        for offset, line in backwards.lines(fd):
            last = offset + len(line) + 1 if last < 0 else last
            if offset < until:
                break
            if b'"wu_id"' in line:
                self._take(line)
        self._end = (signals_stat.st_ino, last)

    def _take(self, line: bytes) -> None:
        signal = decode_signal(line)
        if signal.wu_id and signal.type != COMPLETION:
            at = times.epoch(signal.created_at)
            self.newest[signal.wu_id] = max(at, self.newest.get(signal.wu_id, 0.0))


class ProgressMonitor:
    """Finds the progress signals that are missing in one state folder."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.hooks = HookEvents(layout)
        self._signals = SignalTimes(layout)
        self._units: dict[str, tuple[Stamp, UnitState | None]] = {}
        self.revision = 0

    def close(self) -> None:
        """Close the journal."""
        self.hooks.close()

    def refresh(self, rule: ProgressSignalsConfig) -> None:
        """Read what is new; signals are read only where the rule is enabled."""
        changed = self.hooks.refresh()
        if rule.enabled:
            changed |= self._signals.refresh()
            for (_, wu_id), worked in self.hooks.worked.items() if changed else ():
                worked.forget(self._signals.newest.get(wu_id, 0.0))
        self.revision += changed

    def missing(self, rule: ProgressSignalsConfig, known: Iterable[WorkUnit]) -> tuple[Missing, ...]:
        """Return the missing signals by the rule in force; `known` are all work units."""
        if not rule.enabled:
            return ()
        worked = self.hooks.worked
        names = {wu_id for _, wu_id in worked} | {unit.id for unit in known if unit.status == "blocked"}
        units = [unit for name in sorted(names) if (unit := self._unit(name))]
        return missing(rule, [activity.stretch(*key) for key, activity in worked.items()], units)

    def _unit(self, wu_id: str) -> UnitState | None:
        try:
            mark = stamp(self._layout.work_unit(wu_id))
            if self._units.get(wu_id, (None,))[0] != mark:
                self._units[wu_id] = (mark, self._read(wu_id))
        except ValueError:  # no name of a work unit
            return None
        unit = self._units[wu_id][1]
        signalled = self._signals.newest.get(wu_id, 0.0)
        return msgspec.structs.replace(unit, signalled=signalled) if unit else None

    def _read(self, wu_id: str) -> UnitState | None:
        try:
            unit = work_units.read_tracked(self._layout, wu_id)
        except (BadFile, files.StoreError, OSError):
            return None  # it is reported as a problem of its own
        if unit is None:
            return None
        moments = [times.epoch(text) if text else 0.0 for text in (unit.claimed_at, unit.blocked_at, unit.done_at)]
        return UnitState(unit.id, unit.status, *moments)
