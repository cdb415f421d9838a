"""Changes that have to prove themselves: champion and challenger side by side, tried, promoted and rolled back."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widgets import Static

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.abtests import USUAL_TASKS, ABResult
from lumen_tui.model.budget import dollars
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.evolution import PromoteCandidate, RollBack, SplitTasks, TakeCandidate, WithdrawCandidate
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.trials import PairedCase, TrialReport, p_words
from lumen_tui.queries.trial_page import TrialPage, TriedCandidate, read_trial_page, under_way
from lumen_tui.storage import process
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact, Facts, coloured
from lumen_tui.tui.kit.questions import ConfirmKey
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, act, beside, chosen_row, fill

_TICK = 0.2  # seconds between two words on how far a trial is
_LOOK = 0.5  # the same of one that asks a model, and takes minutes
_MOST = 40  # cases that are named
_OUTCOMES = {True: "passes", False: "fails", None: "unmeasured"}
_WIDTH = len("challenger")


class TrialRows(Rows[TriedCandidate]):
    """State, what it would change, fixes and regressions, the chance that it is luck."""

    def key(self, row: TriedCandidate) -> str:
        return row.id

    def line(self, row: TriedCandidate, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        style = ink.strong if selected else ink.muted if row.state == "withdrawn" else ink.text
        loud = {"passed": ink.loud, "in force": ink.strong}.get(row.state, ink.muted)
        figures = (Cell(_figures(row.trial), ink.muted, 18, right=True),) if width >= 64 else ()
        return line(width, (Cell(row.state, loud, 12), Cell(row.title, style), *figures))

    def words(self, row: TriedCandidate) -> str:
        return f"{row.title} {row.state} {row.candidate.why} {row.candidate.by}"


def _figures(trial: TrialReport | None) -> str:
    return f"+{trial.fixes} -{trial.regressions}  {p_words(trial.p)}" if trial is not None and trial.measured else ""


def facts_of(row: TriedCandidate, now: float, live: ABResult | None = None) -> list[Fact]:
    """Beside the list."""
    facts = _facts(row, now)
    if live is not None and live.test.candidate == row.id:
        facts.insert(2, ("A/B", live.words))
    return facts


def _facts(row: TriedCandidate, now: float) -> list[Fact]:
    candidate, trial = row.candidate, row.trial
    facts: list[Fact] = [("change", row.title), ("state", row.state), ("why", candidate.why)]
    facts += [("by", candidate.by), ("trust", str(candidate.trust))]
    if trial is None:
        return [*facts, ("id", row.id)]
    facts += [("trial", trial.words), ("cases", f"{trial.measured} of {trial.cases} measured, look {trial.look}")]
    if trial.measured:
        facts.append(("cost", f"{trial.costs[0]:,g} {trial.unit} as it is, {trial.costs[1]:,g} with it"))
    facts += [("paid", dollars(trial.usd))] if trial.usd else []
    facts += [("against", reason) for reason in trial.objections]
    facts += [("tried", times.dated(times.epoch(trial.at), now)), ("id", row.id)]
    return facts


def seen_of(row: TriedCandidate) -> str:
    """Return what a person looks at before deciding: the cases that differ, or the text where nothing measures it."""
    return row.candidate.edit.text if row.state == "for a person" else side_by_side(row.trial)


def side_by_side(trial: TrialReport | None) -> str:
    """Return the cases on which the two differ: a fix is added, a regression taken away, as in a diff."""
    if trial is None or not trial.differing:
        return ""
    worst_first = sorted(trial.differing, key=lambda pair: pair.fixed)
    rows = [_columns(" ", "champion", "challenger", ""), *map(_pair, worst_first[:_MOST])]
    return "\n".join(row.rstrip() for row in rows)


def _pair(pair: PairedCase) -> str:
    sign = "!" if pair.flaky else "+" if pair.fixed else "-"
    must = "must hold: " if pair.must else ""
    return _columns(sign, _OUTCOMES[pair.champion], _OUTCOMES[pair.challenger], f"{must}{pair.words}")


def _columns(sign: str, champion: str, challenger: str, words: str) -> str:
    return f"{sign} {champion:<{_WIDTH}} {challenger:<{_WIDTH}} {words}"


class _Question(NamedTuple):
    """What a person is asked before something is done."""

    title: str
    lines: tuple[str, ...]
    verb: str
    request: Request
    facts: Sequence[tuple[str, str]] = ()


def _promote(row: TriedCandidate) -> _Question:
    edit = row.candidate.edit
    works = f"role {edit.role} works like this" if edit.role else "it is like this"
    lines = (f"From the next task on {works}.", _words_of(row))
    return _Question("Promote", lines, "promote", PromoteCandidate(candidate=row.id), [("the change", edit.sentence)])


def _take(row: TriedCandidate) -> _Question:
    lines = ("Nothing here can show what it does: it is your own word.",)
    change = [("the change", row.candidate.edit.text or row.candidate.edit.sentence)]
    return _Question("Take over", lines, "take it over", TakeCandidate(candidate=row.id), change)


def _split(row: TriedCandidate) -> _Question:
    role = row.candidate.edit.role
    lines = (f"Every second of the next {USUAL_TASKS} tasks of {role} works with it; f ends that.", _words_of(row))
    return _Question("A/B test", lines, "divide them", SplitTasks(candidate=row.id))


_QUESTIONS: dict[str, Callable[[TriedCandidate], _Question]] = {"promote": _promote, "take": _take, "split": _split}
_BACK = ("The version before comes into force again, byte for byte; u takes that back.",)
_ROLL_BACK = _Question("Roll back", _BACK, "roll back", RollBack())


class ModelTrialWatch:
    """The trial that asks a model, in a process of its own: begun, looked at while it runs, asked to end."""

    def __init__(self, screen: TrialsScreen, layout: Layout) -> None:
        self._screen, self._layout = screen, layout
        self._child: subprocess.Popen[bytes] | None = None
        self._timer: Timer | None = None

    async def begin(self, operator: str, candidate: str) -> None:
        """Start it. OSError, StoreError."""
        from lumen_tui.engine.launch import start_trial

        self._child = await jobs.looked(self._screen, start_trial, self._layout.root, operator, candidate)
        self.follow()
        self._screen.loader.load()  # it can be stopped now

    def follow(self) -> None:
        """Look from now on how far it is, until its end."""
        if self._timer is None:
            self._timer = self._screen.set_interval(_LOOK, self._look)

    def _look(self) -> None:
        now = under_way(self._layout)
        if now is not None:
            self._screen.say(f"{now.words}.")
        elif self._child is None or self._child.poll() is not None:
            self._over()

    def _over(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        code = self._child.returncode if self._child is not None else 0
        self._child = self._timer = None
        failed = code not in (0, 1)
        self._screen.say("The trial came to no end: engine.log says why." if failed else "", bad=failed)
        self._screen.loader.load()

    def stop(self) -> str:
        """Ask it to end, and return what to say of that."""
        now = under_way(self._layout)
        if now is None:
            return "No trial asks a model now."
        process.send([now.pid], signal.SIGTERM)
        return "Stopped: what is under way ends by itself, and the next trial goes on from there."


class TrialsScreen(LoadedSheet[TriedCandidate, TrialPage]):
    """Candidates, what the last trial of each showed, and the cases on which champion and challenger differ."""

    SCOPE = "trials"
    OF_ROWS = frozenset({"trials_try", "trials_promote", "trials_take", "trials_split", "trials_withdraw"})
    EMPTY = "Nothing is proposed: `lumen-tui evolve run` proposes what recorded work asks for, and tries it."

    def __init__(self, port: Port, snapshot: Snapshot, refusal: str = "") -> None:
        self._layout = Layout(Path(snapshot.root))
        super().__init__("Trials", snapshot.taken, partial(read_trial_page, self._layout))
        self._port, self._refusal = port, refusal
        self._page: TrialPage | None = None
        self._left = threading.Event()
        self._far = ""
        self._live: ABResult | None = None
        self._watch = ModelTrialWatch(self, self._layout)

    def rows_view(self) -> TrialRows:
        return TrialRows(appearance_of(self.app), self._now)

    def body(self) -> ComposeResult:
        yield from beside(list(super().body()))

    def keys(self) -> Keys:
        stops = ("trials_stop",) if self._page is not None and self._page.now is not None else ()
        returns = ("trials_rollback",) if self._page is not None and self._page.ledger else ()
        changes = ("trials_promote", "trials_take", "trials_split", *returns, "trials_withdraw")
        acts = self.offer("trials_try", *stops, *changes, "undo")
        return (*acts, *self.offer("filter", "back"))

    def on_unmount(self) -> None:
        self._left.set()

    def _loaded(self, page: TrialPage) -> None:
        self._page = page
        in_force = f"{words.plural(page.edits, 'edit')} in force" if page.edits else "no edit in force"
        fill(self, page.tried, "Trials", f"{in_force} · {words.plural(len(page.ledger), 'step')}")
        self._live = page.live
        if page.fault:
            self.say(page.fault, bad=True)
        if page.now is not None:
            self._watch.follow()
        self.on_line_list_highlighted(None)

    def on_line_list_highlighted(self, _event: LineList.Highlighted | None) -> None:
        self.show_facts()
        row = self.rows.selected
        text = seen_of(row) if row is not None else ""
        prompt = self.query_one(".prompt", Static)
        prompt.update(coloured(text, appearance_of(self.app)))
        prompt.display = bool(text)

    def show_facts(self) -> None:
        row = self.rows.selected
        self.query_one(Facts).show(facts_of(row, self._now, self._live) if row is not None else ())

    def opened(self, row: TriedCandidate) -> None:
        self.app.push_screen(ReadingScreen(row.title, seen_of(row), facts_of(row, self._now, self._live)))

    def action_do(self, name: str) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
            return
        self.say("")
        if name == "undo":
            self._begin(Undo())
        elif name == "split" and self._live is not None and not self._live.test.ended:
            self._begin(SplitTasks())
        elif name == "stop":
            self.say(self._watch.stop())
        elif name == "rollback":
            self.run_worker(self._confirmed(_ROLL_BACK), group="ask", exclusive=True)
        elif (row := chosen_row(self)) is not None:
            if name == "withdraw":
                self._begin(WithdrawCandidate(candidate=row.id))
            else:
                job = self._try(row) if name == "try" else self._confirmed(_QUESTIONS[name](row))
                self.run_worker(job, group="ask", exclusive=True)

    def _begin(self, request: Request) -> None:
        self.run_worker(act(self, self._port, request), group="ask", exclusive=True)

    async def _confirmed(self, asked: _Question) -> None:
        """Carry a request out, once a person said yes to it."""
        key = ConfirmKey(asked.title, asked.lines, "confirm_yes", asked.verb, asked.facts)
        if await self.app.push_screen_wait(key):
            await act(self, self._port, asked.request)

    async def _try(self, row: TriedCandidate) -> None:
        """Try a candidate: in a thread, or where a model is asked in a process that outlives the room."""
        from lumen_tui.engine.evolution.trial import asked_of

        try:
            asked = await jobs.looked(self, asked_of, self._layout.root, row.id)
        except (ActionError, StoreError) as error:
            self.say(str(error), bad=True)
            return
        if not asked:
            await self._replay(row)
            return
        lines = ("Champion and challenger do the tasks of the cases again.", asked)
        if await self.app.push_screen_wait(ConfirmKey("Ask a model", lines, "confirm_yes", "ask it")):
            await self._ask(row)

    async def _replay(self, row: TriedCandidate) -> None:
        """Put recorded calls to the gate; leaving the screen stops that, and the next trial goes on from there."""
        from lumen_tui.engine.evolution.trial import tried

        ticking = self.set_interval(_TICK, self._tell)
        ask = partial(tried, self._layout.root, row.id, self._port.client, self._note, self._left.is_set)
        try:
            report = await jobs.looked(self, ask, holds_keys=False)
            self.say(f"{'passed' if report.passed else 'not passed'}: {report.words}", bad=not report.passed)
        except (ActionError, StoreError) as error:
            self.say(str(error), bad=True)
        finally:
            ticking.stop()
            self._far = ""
        self.loader.load()

    async def _ask(self, row: TriedCandidate) -> None:
        try:
            await self._watch.begin(self._port.client, row.id)
        except (StoreError, OSError) as error:
            self.say(str(error), bad=True)
            return
        self.say("Begun: it goes on when you leave; c stops it.")

    def _note(self, far: str) -> None:
        """Take how far it is; called in the thread that tries."""
        self._far = far

    def _tell(self) -> None:
        if self._far:
            self.say(f"{self._far.capitalize()}: champion and challenger are put to the gate.")


def _words_of(row: TriedCandidate) -> str:
    return row.trial.words if row.trial is not None else "It was not tried yet: B tries it."
