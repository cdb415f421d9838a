"""The replay of one task: how far it is, and then what it found."""

from __future__ import annotations

import threading
from functools import partial

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from lumen_tui.engine.port import Port
from lumen_tui.engine.replaying import replayed
from lumen_tui.model import ids
from lumen_tui.model.replay import ReplayReport, ShadowBase, lines
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.parts import Fact, Facts, StatusLine
from lumen_tui.tui.kit.sheets import ReadingScreen

_TICK = 0.2  # seconds
_MOST_LINES = 2_000
_BEGAN_FROM = {
    ShadowBase.COMMIT: "the commit that it began from",
    ShadowBase.NOW: "the folder as it is now",
    ShadowBase.NONE: "nothing: no call was made again",
}


class ReplayScreen(ReadingScreen[None]):
    """Replays the task while it is open; leaving it stops that."""

    def __init__(self, port: Port, task_id: str) -> None:
        super().__init__(f"Replay of {one_line(ids.short(task_id), 64)}", "It begins.")
        self._left = threading.Event()
        self._done = (0, 0)
        ask = partial(replayed, port.root, task_id, self._note_progress, self._left.is_set)
        self._loader: jobs.Loader[ReplayReport] = jobs.Loader(self, ask, self._found, self._failed)

    def body(self) -> ComposeResult:
        yield from super().body()
        yield StatusLine()

    def on_mount(self) -> None:
        self._loader.load()
        self.set_interval(_TICK, self._tell)

    def on_unmount(self) -> None:
        self._left.set()

    def _note_progress(self, done: int, total: int) -> None:
        """Take how far it is; called in the thread that replays."""
        self._done = done + 1, total

    def _tell(self) -> None:
        done, total = self._done
        if total:
            self.say(f"Call {done:,} of {total:,}: they are judged by the rules as they are now.")

    def _found(self, report: ReplayReport) -> None:
        facts: list[Fact] = [("role", report.role), ("began from", _BEGAN_FROM[report.base])]
        report_lines = lines(report, steps=True)
        more = [f"… {len(report_lines) - _MOST_LINES:,} more lines: lumen-tui replay {report.task_id} --steps"]
        self._show("\n".join(report_lines[:_MOST_LINES] + more * (len(report_lines) > _MOST_LINES)), facts)

    def _failed(self, reason: str) -> None:
        self._show(reason, [])

    def _show(self, text: str, facts: list[Fact]) -> None:
        self._done = (0, 0)
        self._text = text
        self.query_one(".words", Static).update(Content(text))
        self.query_one(Facts).show(facts)
        self.say("")
