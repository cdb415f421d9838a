"""The last completed loop: what it made, how it went, what it left out, what it cost."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model import agent, times
from lumen_tui.model import packets as packet_words
from lumen_tui.model.snapshot import Revisions
from lumen_tui.tui import words
from lumen_tui.tui.commands import LOOP
from lumen_tui.tui.kit.bindings import bindings
from lumen_tui.tui.kit.cells import spread, wrap
from lumen_tui.tui.kit.lines import ScrolledLines
from lumen_tui.tui.panes.base import Detail, Pane
from lumen_tui.tui.panes.loop_rows import loop_rows


class LoopPane(Pane):
    """Pane 1."""

    scope, number, name_shown = LOOP, 1, "Loop"
    BINDINGS: ClassVar[list[BindingType]] = bindings(LOOP, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._facts = ScrolledLines(self._lines)

    def compose(self) -> ComposeResult:
        yield self._facts

    def empty_words(self) -> str:
        return (
            "No loop yet. The engine runs one when there is something to do: "
            f"{self.key('new_task')} gives it a task, {self.key('beat')} asks for a beat."
        )

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
        return " · ".join(part for part in (self._facts.more_words(), self._age()) if part)

    def _age(self) -> str:
        if session := self.snapshot.session:
            return times.clock(self.now - session.started)
        loop = self.snapshot.loop
        return words.ago(self.now - times.epoch(loop.completed_at)) if loop and loop.completed_at else ""

    def short(self) -> tuple[str, bool]:
        loop = self.snapshot.loop
        if loop is None:
            return "no loop yet", False
        return f"{words.number(loop.loop)} · {self._age()} · {loop.health.status}", loop.health.status != "ok"

    def detail(self) -> Detail | None:
        if not self.snapshot.packets:
            return None
        last = self.snapshot.packets[-1]
        told = (("transcript", f"transcripts/{last.session}.jsonl"),) if last.session else ()
        facts = (("loop", str(last.loop)), ("brain", last.brain), ("took", times.span(last.seconds)),
                 ("tokens", words.number(last.usage.tokens)), ("completed", last.completed_at), *told)  # fmt: skip
        _, *parts = packet_words.sections(last)
        body = "\n\n".join(f"{name}\n" + "\n".join(f"- {item}" for item in items) for name, items in parts)
        return Detail(last.id, facts, body, composed=True)

    def _lines(self, width: int, height: int) -> list[list[Segment]]:
        ink = self.look.ink
        if self.snapshot.loop is None and self.snapshot.session is None:
            return [spread(width, [(text, ink.muted)], []) for text in wrap(self.empty_words(), width)]
        rows = loop_rows(self.snapshot, self.now, self.look, width)
        return [spread(width, [(f"{name:<10}", ink.muted), *parts], []) for name, parts in rows]
