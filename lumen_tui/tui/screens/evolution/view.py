"""What was learnt as the evolution screen draws it: a line in the list, and beside it where it comes from and why."""

from __future__ import annotations

import re
from typing import NamedTuple

from rich.segment import Segment

from lumen_tui.model import ids, times
from lumen_tui.model.constitution import ConstitutionState
from lumen_tui.model.evolution import Observation, Status, objected, why_rows
from lumen_tui.queries.evolution_page import EvolutionPage
from lumen_tui.store.evolution.evolved import Rejection
from lumen_tui.store.evolution.versions import Version
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.rows_sheet import Rows
from lumen_tui.tui.kit.timestamps import moment

_WORDS = {Status.PROPOSED: "waits", Status.ACCEPTED: "learnt", Status.SUPERSEDED: "replaced"}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SOURCES = 5  # that are named


class EvolutionRow(NamedTuple):
    """An observation, a version, what was turned away, or the constitution where it needs a word."""

    key: str
    observation: Observation | None = None
    version: Version | None = None
    standing: ConstitutionState | None = None
    rejection: Rejection | None = None  # the rules', of which no observation was made


def observation_rows(page: EvolutionPage) -> list[EvolutionRow]:
    """The constitution first where it stops all learning."""
    head = [EvolutionRow("constitution", standing=page.standing)] if page.standing.why else []
    return [*head, *(EvolutionRow(one.id, observation=one) for one in page.observations)]


def version_rows(page: EvolutionPage) -> list[EvolutionRow]:
    """Newest first."""
    return [EvolutionRow(f"v{one.version}", version=one) for one in page.versions]


def rejection_rows(page: EvolutionPage) -> list[EvolutionRow]:
    """Newest first. What a model turned away is an observation as well, and can be taken over."""
    known = {one.id: one for one in page.observations}
    rows = [
        EvolutionRow(one.id, observation=known[one.id]) if one.id in known
        else EvolutionRow(f"away {one.at} {one.session}:{one.line} {one.text}", rejection=one)
        for one in page.rejections
    ]  # fmt: skip
    return list({row.key: row for row in rows}.values())


def _state(one: Observation) -> str:
    return "by model" if objected(one) else _WORDS.get(one.status, str(one.status))


class EvolutionRows(Rows[EvolutionRow]):
    """State, kind, trust, words; of a version number, age and reason."""

    def key(self, row: EvolutionRow) -> str:
        return row.key

    def line(self, row: EvolutionRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        if row.version is not None:
            return self._version(row.version, width, selected)
        if row.rejection is not None:
            return self._rejection(row.rejection, width, selected)
        if row.observation is None:
            why = row.standing.why if row.standing else ""
            return line(width, (Cell("stopped", ink.bad, 9), Cell(why, ink.strong if selected else ink.text)))
        one = row.observation
        waits, stands = one.status is Status.PROPOSED, one.status is Status.ACCEPTED
        said = ink.strong if selected else ink.text if waits or stands else ink.muted
        return line(width, (
            Cell(_state(one), ink.loud if waits else ink.muted, 9),
            Cell(one.text, said),
            *((Cell(str(one.kind), ink.muted, 10), Cell(str(one.trust), ink.muted, 6)) if width >= 64 else ()),
            Cell(f"{one.count}×" if one.count > 1 else "", ink.muted, 4, right=True),
        ))  # fmt: skip

    def _rejection(self, one: Rejection, width: int, selected: bool) -> list[Segment]:
        ink = self.look.ink
        return line(width, (
            Cell("by rules", ink.muted, 9), Cell(one.text, ink.strong if selected else ink.text),
            *((Cell(one.kind, ink.muted, 10), Cell("", ink.muted, 6)) if width >= 64 else ()),
            Cell("", ink.muted, 4),
        ))  # fmt: skip

    def _version(self, one: Version, width: int, selected: bool) -> list[Segment]:
        ink = self.look.ink
        return line(width, (
            Cell(str(one.version), ink.strong if selected else ink.text, 5, right=True),
            Cell(words.age(self.now - times.epoch(one.at)), ink.muted, 6, right=True),
            Cell(one.why, ink.strong if selected else ink.text),
            Cell(words.plural(one.metrics.entries, "entry", "entries"), ink.muted, 11, right=True),
        ))  # fmt: skip

    def words(self, row: EvolutionRow) -> str:
        if row.observation is not None:
            one = row.observation
            return f"{one.text} {one.kind} {one.status} {one.trust} {one.target}"
        if row.rejection is not None:
            return f"{row.rejection.text} {' '.join(row.rejection.reasons)} {row.rejection.whose}"
        return f"{row.version.why} {row.version.by}" if row.version is not None else "constitution"

    def fields(self, row: EvolutionRow) -> dict[str, str]:
        one = row.observation
        if one is None:
            return {}
        session = one.sources[0].session if one.sources else ""
        return {"kind": one.kind, "status": one.status, "trust": one.trust, "file": one.target, "session": session}


def facts_of(row: EvolutionRow, page: EvolutionPage, now: float) -> list[Fact]:
    """Beside the list."""
    if row.observation is not None:
        return _of_observation(row.observation, page, now)
    if row.version is not None:
        one = row.version
        return [
            ("made", moment(times.epoch(one.at), now)), ("by", one.by), ("why", one.why),
            ("entries", words.number(one.metrics.entries)), ("waiting", words.number(one.metrics.waiting)),
            ("size", f"{one.metrics.bytes:,} bytes"), ("hash", one.digest[:16]),
        ]  # fmt: skip
    if row.rejection is not None:
        return _of_rejection(row.rejection, now)
    return [("what", row.standing.why if row.standing else ""), ("then", "nothing is learnt until you approve it: a")]


def _of_rejection(one: Rejection, now: float) -> list[Fact]:
    return [
        ("says", one.text), ("turned away", f"by the {one.whose}"), ("why", "; ".join(one.reasons)),
        ("quote", f"“{one.quote}”"), ("source", f"{_short_session(one.session)}, line {one.line}"),
        ("when", moment(times.epoch(one.at), now)),
        ("then", "nobody takes it over here; what you write into the files of evolved/ yourself stays"),
    ]  # fmt: skip


def _of_observation(one: Observation, page: EvolutionPage, now: float) -> list[Fact]:
    facts: list[Fact] = [("says", one.text), ("status", str(one.status))]
    facts += why_rows(one)
    if objected(one):
        whose = next((away.whose for away in page.rejections if away.id == one.id), one.by)
        facts += [("turned away", f"by the {whose}"), ("then", "a takes it over all the same; u takes that back")]
    other = next((known for known in page.observations if known.id == one.contradicts), None)
    if other is not None:
        facts.append(("against", other.text))
    facts += [
        ("quote", f"“{one.quote}”"), ("trust", str(one.trust)), ("confidence", f"{one.confidence:.0%}"),
        ("seen", f"{one.count}×"),
    ]  # fmt: skip
    for source in one.sources[:_SOURCES]:
        at = f", {times.said(source.at)}" if source.at else ""
        facts.append(("source", f"{_short_session(source.session)}, line {source.line}{at}"))
    facts += [("first", moment(times.epoch(one.at), now)), ("by", one.by or "evolution"), ("id", one.id)]
    return facts


def _short_session(name: str) -> str:
    """The first group of a UUID, by which the session's file is found; any other name as it is."""
    return name.partition("-")[0] if _UUID.fullmatch(name) else ids.short(name)


def change_of(row: EvolutionRow, page: EvolutionPage) -> tuple[str, str]:
    """What it changes, as a title and a diff. That of a version is read when it is asked for."""
    if row.standing is not None:
        return "since the approval", row.standing.diff
    one = row.observation
    if one is None:
        return "", ""
    lines = [f"+ - {one.text}"]
    other = next((known for known in page.observations if known.id == one.contradicts), None)
    if other is not None:
        lines.insert(0, f"- - {other.text}")
    title = (
        "stands in" if one.status is Status.ACCEPTED else "would change" if one.status is Status.PROPOSED else "not in"
    )
    return f"{title} evolved/{one.target}", "\n".join(lines if one.status is not Status.REJECTED else [])
