"""Commands of the signals pane."""

from __future__ import annotations

from typing import Any

from lumen_tui.model.records import Signal
from lumen_tui.model.requests.signals import ReadAllSignals, ReadSignals, SendSignal
from lumen_tui.tui.commands import SIGNALS
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.host import Host
from lumen_tui.tui.panes.base import PanedRoom


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
        self._write(self.selected.signal)

    def do_send_signal(self) -> None:
        self._write(None)

    def _write(self, reply_to: Signal | None) -> None:
        from lumen_tui.tui.screens.signals import SignalForm

        form = SignalForm(reply_to, self.snapshot.lanes, self.draft)

        def written(request: SendSignal | None) -> None:
            self.draft = {} if request else form.draft
            if request:
                self.host.submit(request, None, lambda _: self._not_sent(request))

        self.host.push_screen(form, written)

    def _not_sent(self, request: SendSignal) -> None:
        """The next form begins with what was typed, unless something newer was."""
        self.draft = self.draft or request.given()

    def open(self) -> None:
        """The signal in full; to open it is to read it."""
        from lumen_tui.tui.screens.signals import SignalDetail

        row = self.selected
        if row.unread and not self.refusal:
            self.host.submit(ReadSignals(signal_ids=[row.signal.id]))

        def left(choice: str | None) -> None:
            if choice == "reply":
                self._write(row.signal)

        self.host.push_screen(SignalDetail(row, self.host.clock()), left)
