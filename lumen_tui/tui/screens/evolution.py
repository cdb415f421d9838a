"""What was learnt, what it changed and why; accept, reject, edit, and restore an earlier version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.widgets import Static

from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.constitution import ConstitutionState
from lumen_tui.model.evolution import Observation, ObservationStatus, Rejection, Version, objected, why_rows
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.requests import evolution as requests
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.queries.pages import EvolutionPage, diff_between, read_evolution_page
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of, show_why
from lumen_tui.tui.kit import editor, jobs
from lumen_tui.tui.kit.keys import key_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, edge_title, line
from lumen_tui.tui.kit.parts import Fact, Facts, coloured
from lumen_tui.tui.kit.questions import ConfirmKey, ReasonPrompt
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, beside, chosen_row, fill

_CHANGE_TITLES = {ObservationStatus.ACCEPTED: "in", ObservationStatus.PROPOSED: "would change"}
_WORDS = {"proposed": "pending", "accepted": "learnt", "superseded": "replaced"}  # by status
_UUID = lazy_re(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SOURCES = 5  # that are named


class EvolutionRow(NamedTuple):
    """An observation, a version, what was rejected, or the constitution where it needs a word."""

    key: str
    observation: Observation | None = None
    version: Version | None = None
    standing: ConstitutionState | None = None
    rejection: Rejection | None = None  # the rules', of which no observation was made


def observation_rows(page: EvolutionPage) -> list[EvolutionRow]:
    """Return the constitution first where it stops all learning."""
    head = [EvolutionRow("constitution", standing=page.constitution)] if page.constitution.why else []
    return [*head, *(EvolutionRow(observation.id, observation=observation) for observation in page.observations)]


def version_rows(page: EvolutionPage) -> list[EvolutionRow]:
    """Newest first."""
    return [EvolutionRow(f"v{version.version}", version=version) for version in page.versions]


def rejection_rows(page: EvolutionPage) -> list[EvolutionRow]:
    """Newest first. What a model rejected is an observation as well, and can be taken over."""
    observations = {observation.id: observation for observation in page.observations}
    rows = [
        EvolutionRow(rejection.id, observation=observations[rejection.id])
        if rejection.id in observations
        else EvolutionRow(_rejection_key(rejection), rejection=rejection)
        for rejection in page.rejections
    ]
    return list({row.key: row for row in rows}.values())


def _rejection_key(rejection: Rejection) -> str:
    return f"away {rejection.at} {rejection.session}:{rejection.line} {rejection.text}"


def _state(observation: Observation) -> str:
    return "by model" if objected(observation) else _WORDS.get(observation.status, str(observation.status))


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
            reason = row.standing.why if row.standing else ""
            return line(width, (Cell("stopped", ink.bad, 9), Cell(reason, ink.strong if selected else ink.text)))
        observation = row.observation
        waits = observation.status is ObservationStatus.PROPOSED
        stands = observation.status is ObservationStatus.ACCEPTED
        style = ink.strong if selected else ink.text if waits or stands else ink.muted
        return line(
            width,
            (
                Cell(_state(observation), ink.loud if waits else ink.muted, 9),
                Cell(observation.text, style),
                *(
                    (Cell(str(observation.kind), ink.muted, 10), Cell(str(observation.trust), ink.muted, 6))
                    if width >= 64
                    else ()
                ),
                Cell(f"{observation.count}×" if observation.count > 1 else "", ink.muted, 4, right=True),
            ),
        )

    def _rejection(self, rejection: Rejection, width: int, selected: bool) -> list[Segment]:
        ink = self.look.ink
        return line(
            width,
            (
                Cell("by rules", ink.muted, 9),
                Cell(rejection.text, ink.strong if selected else ink.text),
                *((Cell(rejection.kind, ink.muted, 10), Cell("", ink.muted, 6)) if width >= 64 else ()),
                Cell("", ink.muted, 4),
            ),
        )

    def _version(self, version: Version, width: int, selected: bool) -> list[Segment]:
        ink = self.look.ink
        return line(
            width,
            (
                Cell(str(version.version), ink.strong if selected else ink.text, 5, right=True),
                Cell(words.age(self.now - times.epoch(version.at)), ink.muted, 6, right=True),
                Cell(version.why, ink.strong if selected else ink.text),
                Cell(words.plural(version.metrics.entries, "entry", "entries"), ink.muted, 11, right=True),
            ),
        )

    def words(self, row: EvolutionRow) -> str:
        if row.observation is not None:
            observation = row.observation
            return (
                f"{observation.text} {observation.kind} {observation.status} {observation.trust} {observation.target}"
            )
        if row.rejection is not None:
            return f"{row.rejection.text} {' '.join(row.rejection.reasons)} {row.rejection.whose}"
        return f"{row.version.why} {row.version.by}" if row.version is not None else "constitution"

    def fields(self, row: EvolutionRow) -> dict[str, str]:
        observation = row.observation
        if observation is None:
            return {}
        session = observation.sources[0].session if observation.sources else ""
        return {
            "kind": observation.kind,
            "status": observation.status,
            "trust": observation.trust,
            "file": observation.target,
            "session": session,
        }


def facts_of(row: EvolutionRow, page: EvolutionPage, now: float) -> list[Fact]:
    """Beside the list."""
    if row.observation is not None:
        return _of_observation(row.observation, page, now)
    if row.version is not None:
        version = row.version
        return [
            ("made", times.dated(times.epoch(version.at), now)),
            ("by", version.by),
            ("why", version.why),
            ("entries", words.number(version.metrics.entries)),
            ("waiting", words.number(version.metrics.waiting)),
            ("size", f"{version.metrics.bytes:,} bytes"),
            ("hash", version.digest[:16]),
        ]
    if row.rejection is not None:
        return _of_rejection(row.rejection, now)
    return [("what", row.standing.why if row.standing else ""), ("then", "nothing is learnt until you approve it: a")]


def _of_rejection(rejection: Rejection, now: float) -> list[Fact]:
    return [
        ("text", rejection.text),
        ("rejected", f"by the {rejection.whose}"),
        ("why", "; ".join(rejection.reasons)),
        ("quote", f"“{rejection.quote}”"),
        ("source", f"{_short_session(rejection.session)}, line {rejection.line}"),
        ("when", times.dated(times.epoch(rejection.at), now)),
        ("then", "it cannot be accepted here; what you write into evolved/ yourself stays"),
    ]


def _of_observation(observation: Observation, page: EvolutionPage, now: float) -> list[Fact]:
    facts: list[Fact] = [("text", observation.text), ("status", str(observation.status))]
    facts += why_rows(observation)
    if objected(observation):
        names = (rejection.whose for rejection in page.rejections if rejection.id == observation.id)
        whose = next(names, observation.by)
        facts += [("rejected", f"by the {whose}"), ("then", "a accepts it anyway; u undoes that")]
    opposite = next((candidate for candidate in page.observations if candidate.id == observation.contradicts), None)
    if opposite is not None:
        facts.append(("against", opposite.text))
    facts += [
        ("quote", f"“{observation.quote}”"),
        ("trust", str(observation.trust)),
        ("confidence", words.percent(observation.confidence)),
        ("seen", f"{observation.count}×"),
    ]
    for source in observation.sources[:_SOURCES]:
        at = f", {times.stamp_of(source.at)}" if source.at else ""
        facts.append(("source", f"{_short_session(source.session)}, line {source.line}{at}"))
    facts += [
        ("first", times.dated(times.epoch(observation.at), now)),
        ("by", observation.by or "evolution"),
        ("id", observation.id),
    ]
    return facts


def _short_session(name: str) -> str:
    """Return the first group of a UUID, by which the session's file is found; any other name as it is."""
    return name.partition("-")[0] if _UUID.fullmatch(name) else ids.short(name)


def change_of(row: EvolutionRow, page: EvolutionPage) -> tuple[str, str]:
    """Return what it changes, as a title and a diff. That of a version is read when it is asked for."""
    if row.standing is not None:
        return "since the approval", row.standing.diff
    observation = row.observation
    if observation is None:
        return "", ""
    lines = [f"+ - {observation.text}"]
    opposite = next((candidate for candidate in page.observations if candidate.id == observation.contradicts), None)
    if opposite is not None:
        lines.insert(0, f"- - {opposite.text}")
    title = _CHANGE_TITLES.get(observation.status, "not in")
    return f"{title} evolved/{observation.target}", "\n".join(
        lines if observation.status is not ObservationStatus.REJECTED else []
    )


_NAMED = 5  # observations that a question names
_RULES = "The rules rejected this: it cannot be accepted here. What you write into evolved/ yourself stays."


def not_one(screen: EvolutionScreen) -> str:
    """Return why a key that is about one observation does nothing on another row."""
    return f"Go to an observation first: {key_of(screen, 'evolution_versions')} goes back to them."


_PARTS = {"versions": version_rows, "rejected": rejection_rows}
_EMPTY = {
    "versions": "No versions yet: everything that is learnt makes one. {key} goes back.",
    "rejected": "No rejections yet: what the gate refuses appears here, with the reason. {key} goes back.",
}


class EvolutionScreen(LoadedSheet[EvolutionRow, EvolutionPage]):
    """The list, what the selected one says and comes from, and one line on what the last action did."""

    SCOPE = "evolution"
    OF_ROWS = frozenset({"evolution_accept", "evolution_reject", "evolution_edit"})
    EMPTY = "Nothing learnt yet: that happens when sessions end. `lumen-tui evolve --all` reads Claude Code's as well."

    def __init__(self, port: Port, snapshot: Snapshot, refusal: str = "", session: str = "") -> None:
        super().__init__("Evolution", snapshot.taken, lambda: read_evolution_page(self._layout))
        self._port, self._refusal, self._snapshot = port, refusal, snapshot
        self._narrowed = f"status:proposed session:{session}" if session else ""
        self._layout = Layout(Path(snapshot.root))
        self.page = EvolutionPage()
        self._part = ""  # versions | rejected; else what was learnt
        self.reasons: tuple[str, ...] = ()  # that were given for a rejection, newest first

    def rows_view(self) -> EvolutionRows:
        return EvolutionRows(appearance_of(self.app), self._now)

    def body(self) -> ComposeResult:
        yield from beside(list(super().body()))

    def keys(self) -> Keys:
        acts = self.offer("evolution_accept", "evolution_reject", "evolution_edit")
        parts = self.offer("evolution_versions", "evolution_rejected", "evolution_trials")
        returns = ("evolution_restore",) if self.page.versions else ()
        return (*acts, *parts, *self.offer(*returns, "undo"), *self.offer("why", "filter", "back"))

    def _loaded(self, page: EvolutionPage) -> None:
        self.page = page
        rows = _PARTS.get(self._part, observation_rows)(page)
        waiting = sum(1 for observation in page.observations if observation.status == "proposed")
        aside = f"{waiting} pending · {words.plural(page.rejected_count, 'rejection')} · version {len(page.versions)}"
        self.rows.empty = (
            _EMPTY[self._part].format(key=key_of(self, f"evolution_{self._part}")) if self._part else self.EMPTY
        )
        fill(self, rows, f"Evolution: {self._part}" if self._part else "Evolution", aside)
        if self._narrowed:
            self.rows.set_filter(self._narrowed)
            self._narrowed = ""
        self.on_line_list_highlighted(None)

    def on_line_list_highlighted(self, _event: LineList.Highlighted | None) -> None:
        row = self.rows.selected
        self.show_facts()
        title, text = change_of(row, self.page) if row else ("", "")
        self.query_one(".detail").border_title = edge_title(title) if title else None
        self._show_change(text)
        if row is not None and row.version is not None:
            self.run_worker(self._load_change(row), group="diff", exclusive=True)

    def show_facts(self) -> None:
        row = self.rows.selected
        self.query_one(Facts).show(facts_of(row, self.page, self._now) if row else ())

    def _show_change(self, text: str) -> None:
        prompt = self.query_one(".prompt", Static)
        prompt.update(coloured(text, appearance_of(self.app)))
        prompt.display = bool(text)

    async def _load_change(self, row: EvolutionRow) -> None:
        """Load what a version changed against the one before it."""
        number = row.version.version if row.version else 0
        try:
            text = await jobs.looked(self, diff_between, self._layout, number - 1, number)
        except (LookupError, OSError, files.StoreError) as error:
            text = f"! {error}"
        if self.rows.selected is row:
            self.query_one(".detail").border_title = edge_title(f"what version {number} changed")
            self._show_change(text)

    def opened(self, row: EvolutionRow) -> None:
        if row.observation is not None:
            observation = row.observation
            facts = facts_of(row, self.page, self._now)[1:]
            self.app.push_screen(ReadingScreen(str(observation.kind), observation.text, facts))
        else:
            self.query_one(".detail").focus()

    def action_why(self) -> None:
        row = chosen_row(self)
        if row is not None and row.observation is None:
            self.say("Only observations have a recorded cause.")
        elif row is not None:
            show_why(self.app, row.key)

    def action_turn(self, part: str) -> None:
        """To another part, and with the same key back to what was learnt."""
        self._part = "" if self._part == part else part
        self._loaded(self.page)

    def action_trials(self) -> None:
        from lumen_tui.tui.screens.trials import TrialsScreen

        self.app.push_screen(TrialsScreen(self._port, self._snapshot, self._refusal))

    def action_do(self, name: str) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
            return
        self.say("")
        self.run_worker(_JOBS[name](self), group="ask", exclusive=True)

    def chosen_observations(self) -> list[str]:
        """Return the marked observations, or the selected one; a sentence where there is none."""
        chosen = [key for key in self.rows.targets() if key.startswith("evo-")]
        if not chosen:
            row = self.rows.selected
            self.say(_RULES if row is not None and row.rejection else not_one(self), bad=True)
        return chosen

    async def submit(self, request: Request) -> None:
        if await jobs.submit(self, self._port, request):
            self.loader.load()


async def _accept(screen: EvolutionScreen) -> None:
    row = screen.rows.selected
    if row is not None and row.standing is not None:
        await _approve(screen, row)
    elif chosen := screen.chosen_observations():
        await screen.submit(requests.AcceptLearnings(ids=chosen))


async def _approve(screen: EvolutionScreen, row: EvolutionRow) -> None:
    diff = row.standing.diff if row.standing else ""
    lines = ("From then on the agent reads this text, and learning resumes.",)
    if await screen.app.push_screen_wait(
        ConfirmKey("Approve the constitution", lines, "confirm_yes", "approve", [("what changed", diff)])
    ):
        await screen.submit(requests.ApproveConstitution())


async def _reject(screen: EvolutionScreen) -> None:
    chosen = screen.chosen_observations()
    if not chosen:
        return
    texts = [observation.text for observation in screen.page.observations if observation.id in chosen]
    reason = await screen.app.push_screen_wait(ReasonPrompt("Reject", screen.reasons, texts[:_NAMED]))
    if reason is not None:
        screen.reasons = tuple(dict.fromkeys((reason, *screen.reasons)))
        await screen.submit(requests.RejectLearnings(ids=chosen, reason=reason))


async def _edit(screen: EvolutionScreen) -> None:
    row = screen.rows.selected
    if row is None or row.observation is None:
        screen.say(not_one(screen), bad=True)
        return
    try:
        text = editor.edit(screen.app, row.observation.text + "\n")
    except editor.NoEditor as error:
        screen.say(str(error), bad=True)
        return
    if text is None:
        screen.say("Nothing was changed.")
    else:
        await screen.submit(requests.EditLearnings(ids=row.key, text=text))


async def _restore(screen: EvolutionScreen) -> None:
    row = screen.rows.selected
    if row is None or row.version is None:
        screen.say(f"Go to a version first: {key_of(screen, 'evolution_versions')} lists them.", bad=True)
        return
    await screen.submit(requests.RestoreVersion(version=row.version.version))


async def _undo(screen: EvolutionScreen) -> None:
    await screen.submit(Undo())


# What the keys do. Each is a job of its own, because some ask something first.
_JOBS: dict[str, Callable[[EvolutionScreen], Awaitable[None]]] = {
    "accept": _accept,
    "reject": _reject,
    "edit": _edit,
    "restore": _restore,
    "undo": _undo,
}
