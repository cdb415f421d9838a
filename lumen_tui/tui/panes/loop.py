"""The last completed loop: what it made, how it went, what it left out, what it cost."""

from __future__ import annotations

from statistics import median
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model import agent, ids, times
from lumen_tui.model.loop import LoopState
from lumen_tui.model.snapshot import Revisions
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.commands import LOOP
from lumen_tui.tui.panes.base import Detail, Pane
from lumen_tui.tui.widgets.bindings import bindings
from lumen_tui.tui.widgets.cells import spread, wrap
from lumen_tui.tui.widgets.lines import ScrolledLines

_EMPTY = "No loop yet. The engine runs one when there is something to do: t gives it a task, B asks for a beat."
_BAR, _SPARKS = 16, 16  # cells
_BESIDE_BAR = 26  # cells for the name and the amounts

Parts = list[tuple[str, Style]]


class LoopPane(Pane):
    """Pane 1."""

    scope, number, name_shown = LOOP, 1, "Loop"
    BINDINGS: ClassVar[list[BindingType]] = bindings(LOOP, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._facts = ScrolledLines(self._lines)

    def compose(self) -> ComposeResult:
        yield self._facts

    def revision(self, revisions: Revisions) -> object:
        return revisions.loop, revisions.tasks, revisions.facts

    def tick(self, now: float) -> None:
        super().tick(now)
        self._facts.redraw()

    def title_words(self) -> str:
        if session := self.snapshot.session:
            return f"1 Loop {words.number(agent.loop_of(session.id))} at work"
        loop = self.snapshot.loop
        return f"1 Loop {words.number(loop.loop)}" if loop else "1 Loop"

    def subtitle_words(self) -> str:
        if session := self.snapshot.session:
            return times.clock(self.now - session.started)
        loop = self.snapshot.loop
        return words.ago(self.now - times.epoch(loop.completed_at)) if loop and loop.completed_at else ""

    def short(self) -> tuple[str, bool]:
        loop = self.snapshot.loop
        if loop is None:
            return "no loop yet", False
        return f"{words.number(loop.loop)} · {self.subtitle_words()} · {loop.health.status}", loop.health.status != "ok"

    def detail(self) -> Detail | None:
        if not self.snapshot.packets:
            return None
        last = self.snapshot.packets[-1]
        told = (("transcript", f"transcripts/{last.session}.jsonl"),) if last.session else ()
        facts = (("loop", str(last.loop)), ("brain", last.brain), ("took", times.span(last.seconds)),
                 ("tokens", words.number(last.usage.tokens)), ("completed", last.completed_at), *told)  # fmt: skip
        out = [f"{item.what}: {item.why}" for item in (*last.abandoned, *last.decided_against)]
        changed = [f"{name.replace('_', ' ')}: {count}" for name, count in last.changed.items() if count]
        parts = (("Came in", last.came_in), ("Done", last.done), ("Decided", last.decided), ("Changed", changed),
                 ("Left out", out), ("Next", last.next), ("Not in its briefing", last.cut))  # fmt: skip
        body = "\n\n".join(f"{name}\n" + "\n".join(f"- {item}" for item in items) for name, items in parts if items)
        return Detail(last.id, facts, body)

    def _lines(self, width: int, height: int) -> list[list[Segment]]:
        loop, ink = self.snapshot.loop, self.look.ink
        if loop is None and self.snapshot.session is None:
            return [spread(width, [(text, ink.muted)], []) for text in wrap(_EMPTY, width)]
        loop = loop or LoopState(0, "")
        now: list[tuple[str, Parts]] = [("now", self._session()), ("rests", self._rests(loop))]
        rows: list[tuple[str, Parts]] = [
            ("made", self._made(loop)), ("health", self._health(loop)), ("tokens", self._tokens(width)),
            ("left out", self._left_out(loop)), ("loops", self._sparks()), ("packet", self._packet(loop)),
        ]  # fmt: skip
        shown = [*now, *rows] if loop.loop else now
        return [spread(width, [(f"{name:<10}", ink.muted), *parts], []) for name, parts in shown if parts]

    def _session(self) -> Parts:
        """What the session that is at work did last."""
        session, ink = self.snapshot.session, self.look.ink
        if session is None:
            return []
        last = session.tail[-1] if session.tail else None
        said = one_line(f"{last.kind}  {last.text}" if last else "starting", 200)
        return [(f"{session.status}  ", ink.accent), (said, ink.text)]

    def _rests(self, loop: LoopState) -> Parts:
        left = times.epoch(loop.rests_until) - self.now if loop.rests_until else 0.0
        if left <= 0 or self.snapshot.session is not None:
            return []
        return [(f"{times.span(left)} more", self.look.ink.text), (f"  {loop.rests_why}", self.look.ink.muted)]

    def _made(self, loop: LoopState) -> Parts:
        ink, made = self.look.ink, loop.last_artifact
        if not (made.path or made.title):
            return [("nothing", ink.muted)]
        name = made.title or made.path.rpartition("/")[2]
        return [(f"{made.kind}  " if made.kind else "", ink.muted), (name, ink.text)]

    def _health(self, loop: LoopState) -> Parts:
        ink, health = self.look.ink, loop.health
        style = {"ok": ink.text, "degraded": ink.accent}.get(health.status, ink.bad)
        return [(health.status, style), (f"  {health.note}" if health.note else "", ink.text)]

    def _tokens(self, width: int) -> Parts:
        ink, shapes, spend = self.look.ink, self.look.shapes, self.snapshot.spend
        forecast = self._forecast()
        if spend.tokens_cap <= 0:
            return [(f"{words.kilo(spend.tokens)} today, no limit{forecast}", ink.text)]
        size = max(0, min(_BAR, width - _BESIDE_BAR - len(forecast)))
        full = min(size, round(size * spend.tokens / spend.tokens_cap))
        bar = ink.bad if spend.full or spend.tokens >= spend.tokens_cap else ink.accent
        amounts = f"  {words.kilo(spend.tokens)} of {words.kilo(spend.tokens_cap)}"
        rest = "-" if shapes.bar == "#" else shapes.bar
        return [
            (shapes.bar * full, bar), (rest * (size - full), ink.faint), (amounts, ink.text), (forecast, ink.accent),
        ]  # fmt: skip

    def _forecast(self) -> str:
        """Where the pace of the last hour leads, while there is something to say."""
        spend = self.snapshot.spend
        if spend.full:
            return ", full"
        left = spend.reached_at - self.now
        return f", full {words.until(left)}" if spend.reached_at and left > 0 else ""

    def _left_out(self, loop: LoopState) -> Parts:
        said = [f"{len(loop.abandoned)} abandoned"] if loop.abandoned else []
        said += [f"{len(loop.decided_against)} decided against"] if loop.decided_against else []
        return [(", ".join(said) or "nothing", self.look.ink.text if said else self.look.ink.muted)]

    def _sparks(self) -> Parts:
        took = [packet.seconds for packet in self.snapshot.packets[-_SPARKS:]]
        if not took:
            return []
        levels, most = self.look.shapes.levels, max([*took, 0.001])
        chart = "".join(levels[min(len(levels) - 1, int(len(levels) * value / most))] for value in took)
        return [(chart, self.look.ink.muted), (f"  median {times.span(median(took))}", self.look.ink.muted)]

    def _packet(self, loop: LoopState) -> Parts:
        ink = self.look.ink
        if not self.snapshot.packets:
            return [("none yet", ink.muted), *self._stalest()]
        last = self.snapshot.packets[-1]
        written = words.ago(self.now - times.epoch(last.completed_at))
        return [(ids.short(last.id), ink.muted), (f"  written {written}", ink.text), *self._stalest()]

    def _stalest(self) -> Parts:
        """The other clock: when the fact that was confirmed longest ago was, and how many have drifted."""
        facts, ink = self.snapshot.facts, self.look.ink
        if not facts.current and not facts.drifted:
            return []
        age = words.age(self.now - facts.stalest) if facts.stalest else "never confirmed"
        said: Parts = [(f"  stalest fact {age}", ink.muted if facts.stalest else ink.text)] if facts.current else []
        return [*said, (f"  {facts.drifted} drifted" if facts.drifted else "", ink.bad)]
