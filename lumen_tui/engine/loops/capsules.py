"""Capsules: made from the newest packets, the work units, the open sessions and what waits for a decision.

With them what binds the next loop: kill, pauses, caps, full lanes, the sandbox, the network. No word of a work unit is
in there, as nobody has accepted it: only which of them state constraints.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from lumen_tui.actions.refusal import ActionError
from lumen_tui.model import agent, budget, capsule, freshness, times
from lumen_tui.model import packets as packet_words
from lumen_tui.model.budget import dollars
from lumen_tui.model.capsule import Capsule, CapsulePart, Claims
from lumen_tui.model.config import Config
from lumen_tui.model.freshness import FactState, Phase
from lumen_tui.model.loop import Heartbeat, LeftOut, Packet
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.model.work import WorkSession, WorkUnit
from lumen_tui.queries import learnt
from lumen_tui.storage import files
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store import approvals
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.memory import loop_records
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.store.work import sessions, work_units

_MOST, _WIDEST = 30, 240  # entries, and characters of one
_STATED = lazy_re(r"^#+ *constraints\b", re.IGNORECASE | re.MULTILINE)
_SANDBOX = {
    "bubblewrap": "commands of workers run in bubblewrap",
    "landlock": "commands of workers run under Landlock",
    "ask": "no sandbox: every command of a worker waits for a person",
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
        if roles and not any(role.network or role.command_hosts for role in roles):
            yield "no role may use the network"


def _lines(*reads: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    return tuple(one_line(words, _WIDEST) for read in reads for words in _or_empty(read))[:_MOST]


T = TypeVar("T")
_SESSIONS = 20  # open sessions that are named
_LISTED = 40  # entries of one kind that are looked at at all
_WAKE = 256 * 1024  # bytes of the wake-state
_RANK = {"in_progress": 0, "blocked": 1, "ready": 2}


class Capsules:
    """Makes capsules of one state folder, and reads only what is new since the last one."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._facts = FactIndex(layout)
        self.constraints = Constraints(layout)
        self._units = Stamped(lambda: work_units.unit_files(layout), lambda: work_units.list_units(layout)[0])
        self._learnt = Stamped(lambda: [layout.observations], lambda: learnt.evolution_summary(layout))

    def build(self, loop: int, config: Config, now: float, *, budget: int = 0) -> Capsule:
        """Build the capsule with which loop `loop` would wake at `now`. `budget` in tokens, 0 for the setting."""
        for slice_ in (self._units, self._learnt):
            slice_.refresh()
        packets = _or_empty(lambda: loop_records.recent_packets(self._layout, config.capsule.loops))
        parts = [
            CapsulePart("left_out", tuple(_left_out(packets))),
            CapsulePart("asked", tuple(self._asked(now))),
            CapsulePart("constraints", self._bound_by(packets, config, now)),
            CapsulePart("threads", tuple(self._threads(packets, now))),
            CapsulePart("projects", tuple(_projects(self._units.value, config))),
            CapsulePart("decided", tuple(_decided(packets))),
            CapsulePart("loops", tuple(_loop_line(packet, now) for packet in reversed(packets))),
        ]
        return capsule.assemble_capsule(
            loop,
            parts,
            _claims(_or_empty(self._states), parts, self._wake_text(), now),
            now=now,
            budget=budget or config.capsule.tokens,
            loops=(packets[0].loop, packets[-1].loop) if packets else (0, 0),
        )

    def _bound_by(self, packets: Sequence[Packet], config: Config, now: float) -> tuple[str, ...]:
        """Return the constraints that the last good loop noted, then those in force now."""
        noted = next((packet.constraints for packet in reversed(packets) if not packet.failed), ())
        return tuple(dict.fromkeys((*noted, *self.constraints.passing(config, now))))

    def _states(self) -> tuple[FactState, ...]:
        self._facts.refresh()
        return self._facts.states()

    def _wake_text(self) -> str:
        """Return what the loop reads beside the capsule."""
        data = _or_empty(lambda: [files.read(self._layout.wake_state, _WAKE)])
        return data[0].decode(errors="replace") if data and data[0] else ""

    def wake(self, loop: int, config: Config, now: float) -> Capsule:
        """Build the capsule of a loop that begins and keep it; the one before goes only once this one is durable."""
        built = self.build(loop, config, now)
        loop_records.write_capsule(self._layout, built, config.capsule.keep)
        return built

    def _threads(self, packets: Sequence[Packet], now: float) -> Iterator[str]:
        """Yield what is under way: open sessions, then what the last loop meant to do."""
        yield from (_session(session, now) for session in _or_empty(lambda: sessions.live(self._layout))[:_SESSIONS])
        yield from (f"next, said loop {packets[-1].loop}: {step}" for step in (packets[-1].next if packets else ()))

    def _asked(self, now: float) -> Iterator[str]:
        """Yield what a person is to decide; of proposals only how many, as nobody has accepted their words."""
        for approval in _or_empty(lambda: approvals.undecided(self._layout)):
            if now < approval.expires:
                yield f"{approval.role} asks {approval.summary}"
        if count := self._learnt.value.proposals:
            yield "1 proposal of what to learn" if count == 1 else f"{count} proposals of what to learn"
        for session in _or_empty(lambda: sessions.live(self._layout))[:_SESSIONS]:
            yield from (
                f"to decide in {session.session_id}: {decision.question}"
                for decision in session.decisions
                if not decision.answer
            )


def build_capsule(layout: Layout, loop: int, config: Config, now: float, *, budget: int = 0) -> Capsule:
    """Build one capsule with which loop number `loop` would wake."""
    return Capsules(layout).build(loop, config, now, budget=budget)


def _or_empty(read: Callable[[], Iterable[T]]) -> list[T]:
    """Return what `read` gives, or nothing if it cannot be read; the room's problems report that."""
    try:
        return list(read())
    except (StoreError, OSError):
        return []


def _left_out(packets: Sequence[Packet]) -> Iterator[str]:
    """Yield what was left out, newest first, each once."""
    seen: set[LeftOut] = set()
    for packet in reversed(packets):
        both = (("abandoned", packet.abandoned), ("decided against", packet.decided_against))
        for how, item in ((how, item) for how, items in both for item in items):
            if item not in seen and len(seen) < _LISTED:
                seen.add(item)
                reason = f", because {item.why}" if item.why else ""
                yield f"{how} in loop {packet.loop}: {item.what}{reason}"


def _decided(packets: Sequence[Packet]) -> list[str]:
    loops = {text: packet.loop for packet in packets for text in packet.decided}
    newest_first = sorted(loops.items(), key=lambda pair: -pair[1])
    return [f"loop {loop}: {text}" for text, loop in newest_first[:_LISTED]]


def _session(session: WorkSession, now: float) -> str:
    touched = f", {len(session.files_touched)} files, last {session.files_touched[-1]}" if session.files_touched else ""
    active = times.stamp(times.epoch(session.last_activity or session.started_at, now))
    place = " ".join(part for part in (session.active_wu, session.lane) if part) or "no work unit"
    return f"{session.agent or session.session_id} on {place}, last active {active}{touched}"


def _projects(units: Iterable[WorkUnit], config: Config) -> list[str]:
    """Return lanes with how full they are, then units in progress, blocked, ready; most urgent first in each."""
    units = [unit for unit in units if unit.status in _RANK]
    units.sort(key=lambda unit: (_RANK[unit.status], unit.priority, unit.id))
    counts = Counter((unit.lane, unit.status) for unit in units)
    lanes = sorted({unit.lane for unit in units})
    lane_lines = [_lane(lane, counts, config) for lane in lanes]
    lines = [
        f"{unit.id} {unit.status} {unit.priority} {unit.lane or 'no lane'}: {one_line(unit.title, 100)}"
        + (f" (accepted when: {one_line('; '.join(unit.acceptance), 90)})" if unit.acceptance else "")
        for unit in units[:_LISTED]
    ]
    return [*lane_lines, *lines]


def _lane(lane: str, counts: Counter[tuple[str, str]], config: Config) -> str:
    states = [f"{counts[(lane, status)]} {status.replace('_', ' ')}" for status in _RANK if counts[(lane, status)]]
    return f"{lane or 'no lane'}: {', '.join(states)}; room for {config.lanes.limit(lane)} at once"


def _loop_line(packet: Packet, now: float) -> str:
    """Return one loop on one line: how it went, what it made, what it cost."""
    when = times.stamp(times.epoch(packet.completed_at, now))
    parts = [f"failed: {packet.failed}"] if packet.failed else []
    parts += (
        [f"made {one_line(', '.join(artifact.title or artifact.path for artifact in packet.made), 90)}"]
        if packet.made
        else []
    )
    parts += packet_words.changes(packet, but=("artifacts",))
    parts += [dollars(packet.usage.usd, packet.usage.usd)] if packet.usage.usd else []
    health = f" {packet.health.status}" if packet.health.status != "ok" else ""
    return f"loop {packet.loop}, {when}{health}: {'; '.join(parts) or 'changed nothing'}"


def _claims(states: Sequence[FactState], parts: Sequence[CapsulePart], wake: str, now: float) -> Claims:
    """Return the facts behind the capsule: the stalest, marks for entries, and those to be listed."""
    entries = [entry for part in parts for entry in part.entries]
    text = "\n".join(" ".join(entry.split()).casefold() for entry in [*entries, wake])
    marks: dict[str, str] = {}
    listed = []
    for state in states:
        words = freshness.dated_mark(state, now) if state.current or _drifted(state, now) else ""
        if not words:
            continue
        names = list(filter(None, (state.fact.id, freshness.claim_of(state.fact.title))))
        named = {name: words for name in names if name in text}
        marks.update(named)
        if named or state.uses or set(state.used_by) - {"capsule"}:
            listed.append((state.confirmed, f"{one_line(state.fact.title, 160)} {words}"))
    oldest = freshness.stalest(states)
    count = sum(state.current for state in states)
    lines = [line for _, line in sorted(listed)[:_LISTED]]
    if oldest is None:
        return Claims(marks=marks, listed=lines)
    return Claims(count, oldest.fact.id, oldest.fact.title, oldest.confirmed, marks, lines)


def _drifted(state: FactState, now: float) -> bool:
    return state.phase(now) is Phase.DRIFTED and state.fact.status == "superseded" and not state.settled


def next_loop(layout: Layout) -> int:
    """Return the number of the next loop, from the newest packet."""
    return max((packet.loop for packet in loop_records.recent_packets(layout, 1)), default=0) + 1


def loop_named(name: str) -> int:
    """Parse `12`, `loop 12` or `loop-000012`. Raises ActionError for anything else."""
    digits = name.lower().removeprefix("loop").strip(" -#") if name[:1] != "-" else ""
    number = int(digits) if digits.isdecimal() and len(digits) < 16 else agent.loop_of(name)
    if not number:
        raise ActionError(f"{one_line(name, 40)!r} is no loop: write it as 12 or loop-000012")
    return number
