"""Facts in their current state: the nodes that hold them, and what probes and people found since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from lumen_tui.model import freshness, times
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.facts import Confirmation, Fact, Outcome, fact_of
from lumen_tui.model.freshness import FactState, FactsView
from lumen_tui.model.records import decode_node
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import files
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, Follower, encode
from lumen_tui.storage.kept import KeptIndex
from lumen_tui.storage.layout import Layout, from_home
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.settings.config import load_config

_MARK = b'"fact"'
_VERSION = 1  # of the kept lines
_confirmation = lazy_decoder(Confirmation)
_NOTHING = Confirmation("", "", "")


class _Touch(msgspec.Struct):
    node_id: str


_touch = lazy_decoder(_Touch)


class FactEvidence:
    """Everything that probes and people have found about one fact."""

    def __init__(self) -> None:
        self.held: dict[str, float] = {}  # probe -> when it last confirmed
        self.latest: dict[str, Confirmation] = {}  # probe -> its last line
        self.decisive: dict[str, Confirmation] = {}  # probe -> its last line with a result
        self.since: dict[str, float] = {}  # probe -> since when it says otherwise
        self.people: dict[str, str] = {}  # moment -> who confirmed then

    def take(self, line: Confirmation) -> None:
        """Take in one line; lines come in the order in which they were written."""
        if line.kind == "person":
            if line.outcome == Outcome.WITHDRAWN:
                self.people.pop(line.at, None)
            else:
                self.people[line.at] = line.by
            return
        at = times.epoch(line.at)
        probe = line.probe_id
        self.latest[probe] = line
        if line.outcome == Outcome.FAILED:
            return
        self.decisive[probe] = line
        if line.outcome == Outcome.HOLDS:
            self.held[probe] = max(at, self.held.get(probe, 0.0))
            self.since.pop(probe, None)
        else:
            self.since.setdefault(probe, at)

    def person(self) -> tuple[float, str]:
        """Return when a person last confirmed, and who; (0, "") for never."""
        return max(((times.epoch(at), by) for at, by in self.people.items()), default=(0.0, ""))


class FactIndex:
    """Follows the journals. Not safe for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._memory = Follower(layout.memory)
        self._lines = Follower(layout.confirmations)
        self._touches = Follower(layout.touches)
        self.damage = Damage("memory/confirmations.jsonl", self._lines)
        self.revision = 0
        self.kept = KeptIndex(layout.index / "facts.columns", _VERSION, {"nodes": self._memory})
        self._begun = False
        self._facts: dict[str, Fact] = {}
        self._fact_lines: dict[str, bytes] = {}  # the newest line of each, which is all that is kept
        self._evidence: dict[str, FactEvidence] = {}
        self._uses: dict[str, int] = {}
        self._states: dict[str, FactState] = {}
        self._stale: set[str] = set()  # facts whose state has to be computed again
        self._view: FactsView | None = None

    def close(self) -> None:
        """Close the journals; what was read can still be asked for."""
        for follower in (self._memory, self._lines, self._touches):
            follower.close()

    def refresh(self) -> bool:
        """Read what is new; return whether there was anything."""
        news = not self._begun and self._restore()
        news |= self._follow(self._memory, self._forget_nodes, self._take_nodes)
        if self.kept.due():
            self.kept.save({}, {"lines": b"".join(line + b"\n" for line in self._fact_lines.values())})
        news |= self._follow(self._lines, self._evidence.clear, self._take_lines)
        if self._facts and self._touches.changed():
            news |= self._follow(self._touches, self._uses.clear, self._take_touches)
        if news:
            self.revision += 1
            self._view = None
        return news

    def _restore(self) -> bool:
        """Take over the facts that an earlier process found, as far as the journal still begins with what it read."""
        self._begun = True
        stored = self.kept.load()
        return stored is not None and self._take_nodes(0, bytes(stored.columns["lines"]))

    def _forget_nodes(self) -> None:
        self._facts.clear()
        self._fact_lines.clear()

    def _follow(self, follower: Follower, forget: Callable[[], None], take: Callable[[int, bytes], bool]) -> bool:
        if not follower.pending():
            return False
        generation = follower.generation
        news = False
        while True:
            offset, data = follower.poll(PIECE)
            if follower.generation != generation:
                generation = follower.generation
                news = True
                forget()
                self._states.clear()
                self._stale.update(self._facts)
            if not data:
                return news
            news |= take(offset, data)

    def _take_nodes(self, _offset: int, data: bytes) -> bool:
        news = False
        at = 0
        while (at := data.find(_MARK, at)) >= 0:
            end = data.find(b"\n", at)
            line = data[data.rfind(b"\n", 0, at) + 1 : end]
            at = end
            try:
                fact = fact_of(decode_node(line))
            except UNDECODABLE:
                continue  # the node index reports damaged lines
            if fact is not None:
                self._facts[fact.id] = fact
                self._fact_lines[fact.id] = line
                self._stale.update((fact.id, fact.supersedes))
                news = True
        return news

    def _take_lines(self, offset: int, data: bytes) -> bool:
        for at, line in split_lines(data, offset):
            try:
                confirmation = _confirmation.decode(line)
            except UNDECODABLE as error:
                self.damage.add(at, str(error))
                continue
            self._evidence.setdefault(confirmation.fact_id, FactEvidence()).take(_safe(confirmation))
            fact = self._facts.get(confirmation.fact_id)
            self._stale.update((confirmation.fact_id, fact.supersedes if fact else ""))
        return True

    def _take_touches(self, offset: int, data: bytes) -> bool:
        for _, line in split_lines(data, offset):
            try:
                node_id = _touch.decode(line).node_id
            except UNDECODABLE:
                continue
            self._uses[node_id] = self._uses.get(node_id, 0) + 1
            self._stale.add(node_id)
        return True

    def states(self) -> tuple[FactState, ...]:
        """Return every fact, retired and superseded ones too, as of the last refresh."""
        for fact_id in self._stale & self._facts.keys():
            self._states[fact_id] = self._state(self._facts[fact_id])
        self._stale.clear()
        return tuple(self._states.values())

    def view(self) -> FactsView:
        """Return the summary of all facts, as of the last refresh."""
        if self._view is None:
            self._view = freshness.view(self.states())
        return self._view

    def get(self, fact_id: str) -> FactState | None:
        """Return one fact, or None where there is none."""
        fact = self._facts.get(fact_id)
        return None if fact is None else self._state(fact)

    def evidence(self, fact_id: str) -> FactEvidence:
        """Return what was found about a fact; empty where nothing was."""
        return self._evidence.get(fact_id) or FactEvidence()

    def _state(self, fact: Fact) -> FactState:
        evidence = self.evidence(fact.id)
        person_at, person = evidence.person()
        confirmed = [evidence.held.get(probe.id, 0.0) for probe in fact.probes]
        by_probes = min(confirmed, default=0.0)
        lines = [line for probe in fact.probes if (line := evidence.latest.get(probe.id))]
        contradictions = [
            (evidence.since[probe.id], evidence.decisive[probe.id])
            for probe in fact.probes
            if probe.id in evidence.since
        ]
        last = max(lines, key=lambda line: line.at, default=None)
        failing = [line.evidence for line in lines if line.outcome == Outcome.FAILED]
        first = min(contradictions, key=lambda pair: pair[0], default=None)
        if first is not None and not evidence.held and person_at <= first[0]:
            person_at, person = 0.0, ""  # what never held was not confirmed by whoever claimed it
        return FactState(
            fact,
            max(person_at, by_probes),
            person if person_at > by_probes else "probe" if by_probes else "",
            times.epoch(last.at) if last else 0.0,
            first[0] if first else 0.0,
            first[1].value if first else "",
            (first[1] if first else last or _NOTHING).evidence,
            failing[0] if failing else "",
            first[1].used_by if first else (),
            self._uses.get(fact.id, 0),
            self._settled(fact),
        )

    def _settled(self, fact: Fact) -> bool:
        """Return whether a person confirmed, or removed, the fact that replaced this one."""
        after = self._facts.get(fact.superseded_by)
        return after is not None and (bool(self.evidence(after.id).people) or after.status in ("archived", "deleted"))


def _safe(line: Confirmation) -> Confirmation:
    texts = {name: safe(getattr(line, name)) for name in ("evidence", "value", "by", "kind", "outcome")}
    return msgspec.structs.replace(line, **texts, used_by=tuple(safe(name) for name in line.used_by))


def record(layout: Layout, lines: Iterable[Confirmation]) -> None:
    """Append confirmations durably."""
    if data := b"".join([encode(line) for line in lines]):
        files.append(layout.confirmations, data)


def states(layout: Layout) -> tuple[FactState, ...]:
    """Return every fact in its current state, for a caller that needs it once."""
    with closing(FactIndex(layout)) as index:
        index.refresh()
        return index.states()


def marks(layout: Layout, now: float) -> dict[str, str]:
    """Return what is shown beside facts that are not fresh, by node id: for context blocks, capsules, ready pages."""
    texts = {state.fact.id: freshness.mark(state, now) for state in states(layout)}
    return {fact_id: words for fact_id, words in texts.items() if words}


def against(layout: Layout, wu_id: str, now: float) -> tuple[str, ...]:
    """Return the claims that a work unit relies on and that no longer hold, each with its mark."""
    contradicted = [state for state in states(layout) if state.alarming and wu_id in state.used_by]
    return tuple([f"{one_line(state.fact.title, 200)} {freshness.mark(state, now)}" for state in contradicted])


def texts_in_use(layout: Layout) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of what is current: CLAUDE.md, wake-state, the newest capsule; work units come from work."""
    elsewhere = load_config(layout)[0].evolution.claude_md
    named = [("CLAUDE.md", layout.claude_md), ("wake-state.md", layout.wake_state)]
    named += [("CLAUDE.md", from_home(elsewhere))] if elsewhere else []
    named += [("capsule", path) for path in _newest(layout.capsules)]
    for name, path in named:
        try:
            data = files.read(path, 1024 * 1024)
        except (files.StoreError, OSError):
            continue
        if data:
            yield name, data.decode("utf-8", "replace")


def _newest(folder: Path) -> list[Path]:
    try:
        paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
        return sorted(paths, key=lambda path: path.stat().st_mtime)[-1:]
    except OSError:
        return []
