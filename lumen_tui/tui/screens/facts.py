"""The facts: how fresh each is, when it was written and when last confirmed from outside, and what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.segment import Segment
from textual.content import Content
from textual.widget import Widget

from lumen_tui.engine.port import Port
from lumen_tui.model import freshness, ids, times
from lumen_tui.model.facts import parse_probe, probe_words
from lumen_tui.model.freshness import FactState, Phase
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.facts import AddProbe, CheckFacts, ConfirmFacts, RetireFacts
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.fields import Offers, TextField
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, act, fill

_NARROW = 90  # columns below which the source is left out
_SLIM = 56  # and below which only the claim and the age of its confirmation are left


class FactRows(Rows[FactState]):
    """Phase by fill, claim, both clocks, source; below the selected one what the last probe saw."""

    def key(self, row: FactState) -> str:
        return row.fact.id

    def line(self, row: FactState, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, phase = self.look.ink, row.phase(self.now)
        fills = freshness.ASCII_FILLS if self.look.shapes.bar == "#" else freshness.FILLS
        style = ink.bad if phase is Phase.DRIFTED else ink.muted if phase is Phase.FRESH else ink.loud
        confirmed = words.age(self.now - row.confirmed) if row.confirmed else "never"
        cells = [
            Cell(str(phase), style, 7) if self.look.spoken else Cell(fills[phase], style, 4),
            Cell(row.fact.title, ink.strong if selected else ink.text if row.current else ink.muted),
        ]
        clock = ink.text if row.confirmed else ink.loud
        if width < _SLIM:
            return line(width, [*cells, Cell(confirmed, clock, 7, right=True)])
        cells += [
            Cell(row.confirmed_words(self.now), clock, 17),
            Cell(f"written {words.age(self.now - row.fact.written)}", ink.muted, 15),
        ]
        if width >= _NARROW:
            cells.append(Cell(_status(row), ink.muted, min(24, width // 5)))
        return line(width, cells)

    def more(self, row: FactState, width: int) -> list[Segment]:
        ink = self.look.ink
        problem = row.failing and f"probe failed: {row.failing}"
        nothing = "not probed yet" if row.fact.probes else "no probe: only a person confirms it"
        evidence = problem or row.evidence or nothing
        used = humanize(f"used by {', '.join(row.used_by)}: ") if row.used_by else ""
        return line(width, [Cell("", ink.muted, 4), Cell(f"{used}{evidence}", ink.bad if row.drifted else ink.muted)])

    def words(self, row: FactState) -> str:
        return f"{row.fact.title} {row.fact.source} {row.evidence} {row.fact.id}"

    def fields(self, row: FactState) -> dict[str, str]:
        fact = row.fact
        return {
            "phase": row.phase(self.now).value,
            "class": fact.span_class,
            "source": fact.source,
            "by": fact.by,
            "wu": fact.wu_id,
            "id": fact.id,
            "status": fact.status,
            "age": f"{self.now - row.confirmed:.0f}",
        }


def _status(row: FactState) -> str:
    return row.fact.status if not row.current else row.fact.source


class ProbeForm(FormScreen[str]):
    """Answers a probe as it is written."""

    SEND = "add"

    def __init__(self, claim: str, offers: Sequence[str]) -> None:
        super().__init__("Add a probe")
        self._claim, self._offers = one_line(claim, 100), offers

    def rows(self) -> Iterable[Widget]:
        yield row("probe", Offers(self._offers, id="probe", placeholder="such as: port 8080", numbered=True))

    def preview(self) -> Content:
        return Content.assemble(
            ("Confirms: ", "$room-muted"),
            self._claim,
            (
                "\nKIND TARGET [AT] [~ REGEX] [= EXPECTED]; file, hash, text, json, output, exit, http, git, port",
                "$room-muted",
            ),
        )

    def read(self) -> str:
        text = self.query_one("#probe", TextField).text
        try:
            parse_probe(text, "p1")
        except ValueError as error:
            raise Invalid(str(error), "probe") from None
        return text


class FreshnessScreen(LoadedSheet[FactState, Sequence[FactState]]):
    """The list, what has drifted and what was confirmed longest ago first. A superseded fact stays until settled."""

    SCOPE = "facts"
    OF_ROWS = frozenset({"facts_confirm", "facts_probe", "facts_add_probe", "facts_retire"})
    WHY = True
    REPEATS = frozenset({"fact.confirm", "fact.check", "fact.retire"})
    EMPTY = 'No facts yet: `lumen-tui fact add "CLAIM" --probe PROBE` notes one.'
    TWO_LINES = True

    def __init__(
        self, port: Port, now: float, read: Callable[[], Sequence[FactState]], refusal: str = "", at: str = ""
    ) -> None:
        super().__init__("Freshness", now, read)
        self._port, self._refusal, self._at, self._everything = port, refusal, at, False

    def rows_view(self) -> FactRows:
        return FactRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        acts = self.offer("facts_confirm", "facts_probe", "facts_add_probe", "facts_retire", "undo", "facts_all")
        return (*acts, *super().keys())

    def _loaded(self, states: Sequence[FactState]) -> None:
        listed = [state for state in states if self._everything or _listed(state)]
        listed.sort(key=lambda state: (not state.alarming, not (state.drifted and not state.settled), state.confirmed))
        view = freshness.view(states)
        drifted = f", {view.drifted} drifted" if view.drifted else ""
        fill(self, listed, "Freshness", f"{words.plural(view.current, 'fact')}{drifted}")
        if self._at and self.rows.select_key(self._at):
            self._at = ""

    def action_all(self) -> None:
        self._everything = not self._everything
        self.loader.load()

    def action_confirm(self) -> None:
        self._act(ConfirmFacts)

    def action_check(self) -> None:
        self._act(CheckFacts, "Probing …")

    def action_retire(self) -> None:
        self._act(RetireFacts)

    def _act(self, kind: type[ConfirmFacts | CheckFacts | RetireFacts], meanwhile: str = "") -> None:
        targets = self.rows.targets()
        if not self._refused(targets):
            self.say(meanwhile)
            self.run_worker(act(self, self._port, kind(fact_ids=targets)), group="act")

    def _refused(self, targets: Sequence[str] = ("",)) -> bool:
        refusal = self._refusal or ("" if targets else "no fact is selected")
        if refusal:
            self.say(refusal, bad=True)
        return bool(refusal)

    def action_undo(self) -> None:
        if not self._refused():
            self.run_worker(act(self, self._port, Undo()), group="act")

    def action_add_probe(self) -> None:
        chosen = self.rows.selected
        if self._refused(self.rows.targets()) or chosen is None:
            return
        from lumen_tui.tools.probes.batch import suggest

        known_probes = {probe_words(probe) for probe in chosen.fact.probes}
        offers = [text for probe in suggest(chosen.fact.claim) if (text := probe_words(probe)) not in known_probes]

        def filled(text: str | None) -> None:
            if text:
                self.run_worker(act(self, self._port, AddProbe(fact_id=chosen.fact.id, probe=text)), group="act")

        self.app.push_screen(ProbeForm(chosen.fact.title, offers), filled)

    def opened(self, row: FactState) -> None:
        fact = row.fact
        self.app.push_screen(ReadingScreen(f"Fact {ids.short(fact.id)}", fact.claim, list(_facts(row, self._now))))


def _listed(state: FactState) -> bool:
    return state.current or (state.fact.status == "superseded" and not state.settled)


def _facts(state: FactState, now: float) -> Iterable[Fact]:
    fact, phase = state.fact, state.phase(now)
    yield "phase", f"{freshness.FILLS[phase]} {phase}"
    yield "confirmed", f"{times.dated(state.confirmed, now)} by {state.confirmed_by}" if state.confirmed else "never"
    yield "written", times.dated(fact.written, now)
    yield "holds for", f"{times.days(fact.span)} ({fact.span_class})"
    if state.drifted:
        yield "drifted", times.dated(state.drifted, now)
        yield "seen", state.value or "not given"
    yield "last probe", f"{times.dated(state.probed, now)}: {state.evidence}" if state.probed else "none yet"
    if state.failing:
        yield "probe failed", state.failing
    for probe in fact.probes:
        yield f"probe {probe.id}", probe_words(probe)
    yield "used by", humanize(", ".join(state.used_by)) or "nothing known"
    yield "source", fact.source or "not given"
    yield "by", fact.by or "unknown"
    yield "status", fact.status
    for name, value in (("supersedes", fact.supersedes), ("was", fact.was), ("superseded by", fact.superseded_by)):
        if value:
            yield name, humanize(value)
    yield "id", fact.id
