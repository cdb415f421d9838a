"""Commands of the workers and of the signals, and those that move around the room."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from lumen_tui.model.attention import can_wait
from lumen_tui.model.records import Signal
from lumen_tui.model.requests.attention import DismissItems
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.signals import ReadAllSignals, ReadSignals, SendSignal
from lumen_tui.model.requests.tasks import CancelTask
from lumen_tui.tui.handlers.base import NO_ROWS, Handler
from lumen_tui.tui.host import Host
from lumen_tui.tui.panes.base import PanedRoom
from lumen_tui.tui.panes.workers import WorkersPane
from lumen_tui.tui.room_command import SIGNALS, WORKERS


class WorkersHandler(Handler):
    """Cancel, retry, dismiss, open."""

    scope = WORKERS

    @property
    def _none(self) -> str:
        return f"there is no task; {self.key('new_task')} makes one"

    def why_cancel_task(self) -> str:
        row = self.selected
        if row is None:
            return self._none
        if self.rows.marks.keys or not row.status.ended:
            return ""
        return f"the task has ended; {self.key('retry_task')} runs it again"

    def do_cancel_task(self) -> None:
        for task_id in self.rows.targets():
            self.submit(CancelTask(task_id=task_id))

    def why_tell_task(self) -> str:
        row = self.selected
        if row is None:
            return self._none
        return f"the task has ended; {self.key('retry_task')} runs it again" if row.status.ended else ""

    def do_tell_task(self) -> None:
        from lumen_tui.tui.screens.steering import TellForm, ask

        ask(self.host, TellForm(self.selected), self.submit)

    def why_retry_task(self) -> str:
        row = self.selected
        if row is None:
            return self._none
        if self.rows.marks.keys or not (row.status.alive or row.status.parked):
            return ""
        return f"the task is still running; {self.key('cancel_task')} cancels it"

    def do_retry_task(self) -> None:
        from lumen_tui.tui.screens.task_form import retry

        task_ids = self.rows.targets()
        alone = self.selected if task_ids == [self.selected.id] else None
        for task_id in task_ids:
            retry(self.host, alone, task_id, self.submit)

    def again(self, request: Request) -> None:
        if isinstance(request, DismissItems):
            self.submit(replace(request, targets=self._needing()))
        else:
            super().again(request)

    def why_dismiss(self) -> str:
        if self.selected is None:
            return self._none
        return "" if self._needing() else "no failed or lost task here still needs you"

    def do_dismiss(self) -> None:
        self.submit(DismissItems(targets=self._needing()))

    def _needing(self) -> list[str]:
        """Return the tasks the command is about that need a person and will not change by themselves."""
        asked = set(self.rows.targets())
        return [need.target for need in self.snapshot.attention if need.target in asked and can_wait(need)]

    def _model(self) -> str:
        pane = self.room.pane(WORKERS)
        return pane.model_of(self.selected) if isinstance(pane, WorkersPane) else ""

    def open(self) -> None:
        """Open the task in full, with its live tail and its result."""
        self.show_task(self.selected.id, self._model())


class SignalsHandler(Handler):
    """Read, answer, send."""

    scope = SIGNALS

    def __init__(self, room: PanedRoom, host: Host) -> None:
        super().__init__(room, host)
        self.draft: dict[str, Any] = {}  # of a signal: what was typed and not sent

    @property
    def _none(self) -> str:
        return f"there is no signal; {self.key('send_signal')} sends one"

    def why_read_signal(self) -> str:
        if self.selected is None:
            return self._none
        return "it is read already" if not self.selected.unread and not self.rows.marks.keys else ""

    def do_read_signal(self) -> None:
        self.submit(ReadSignals(signal_ids=self.rows.targets()))

    def why_read_all(self) -> str:
        return "" if self.snapshot.unread else "all are read already"

    def do_read_all(self) -> None:
        self.submit(ReadAllSignals())

    def why_answer_signal(self) -> str:
        return self._none if self.selected is None else ""

    def do_answer_signal(self) -> None:
        self.write(self.selected.signal)

    def do_send_signal(self) -> None:
        self.write(None)

    def write(self, reply_to: Signal | None) -> None:
        """Open the form for a signal, or for a reply to one."""
        from lumen_tui.tui.screens.signals import SignalForm

        form = SignalForm(reply_to, self.snapshot.lanes, self.draft)

        def written(request: SendSignal | None) -> None:
            self.draft = {} if request else form.draft
            if request:
                self.host.submit(request, None, lambda _: self._not_sent(request))

        self.host.push_screen(form, written)

    def _not_sent(self, request: SendSignal) -> None:
        """Keep what was typed for the next form, unless something newer was."""
        self.draft = self.draft or request.given()

    def open(self) -> None:
        """Open the signal in full; to open it is to read it."""
        from lumen_tui.tui.screens.signals import SignalDetail

        row = self.selected
        if row.unread and not self.refusal:
            self.host.submit(ReadSignals(signal_ids=[row.signal.id]))

        def left(choice: str | None) -> None:
            if choice == "reply":
                self.write(row.signal)

        self.host.push_screen(SignalDetail(row, self.host.clock()), left)


class PanesHandler(Handler):
    """Focus, zoom, filter, back."""

    def to_pane(self, number: int) -> None:
        """Give pane 1 to 6 the focus."""
        self.room.go_to(self.room.panes[number - 1])

    def step(self, by: int) -> None:
        """Give the next or the previous pane the focus."""
        panes = self.room.panes
        self.room.go_to(panes[(panes.index(self.room.current) + by) % len(panes)])

    def do_next_pane(self) -> None:
        self.step(1)

    def do_previous_pane(self) -> None:
        self.step(-1)

    def do_zoom(self) -> None:
        self.room.toggle_zoom()

    def why_grow(self) -> str:
        return "" if self.room.current.lines_given else "one pane has the screen"

    why_shrink = why_grow

    def do_grow(self) -> None:
        self.room.columns.resize(1)

    def do_shrink(self) -> None:
        self.room.columns.resize(-1)

    def why_sort(self) -> str:
        return "" if self.room.current.sorting is not None else "this pane has one order"

    def do_sort(self) -> None:
        self.room.say(f"Sorted by {self.room.current.sort()}.")

    def why_filter(self) -> str:
        if (rows := self.room.current.rows) is None:
            return "this pane has no list; 3, 4, 5 and 6 have one"
        return "" if rows.model.rows else NO_ROWS

    def do_filter(self) -> None:
        self.room.open_filter()

    def do_back(self) -> None:
        """Drop the nearest thing: marks, then the filter, then the zoom."""
        rows = self.room.current.rows
        if self.room.band.in_front:
            self.room.go_to(self.room.current)
        elif rows is not None and rows.unmark():
            return
        elif rows is not None and rows.filter_text:
            rows.set_filter("")
        elif self.room.zoomed:
            self.do_zoom()
