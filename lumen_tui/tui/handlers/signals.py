"""Commands of the signals pane."""

from __future__ import annotations

from typing import Any

from lumen_tui.model.records import Signal
from lumen_tui.tui.commands import SIGNALS
from lumen_tui.tui.handlers.base import Handler

_NONE = "there is no signal; i sends one"


class SignalsHandler(Handler):
    """Read, answer, send."""

    scope = SIGNALS

    def why_read_signal(self) -> str:
        if self.selected is None:
            return _NONE
        return "it is read already" if not self.selected.unread and not self.rows.marks.keys else ""

    def do_read_signal(self) -> None:
        self.submit("signal.read", signal_ids=self.rows.targets())

    def why_read_all(self) -> str:
        return "" if self.snapshot.unread else "all are read already"

    def do_read_all(self) -> None:
        self.submit("signal.read_all")

    def why_answer_signal(self) -> str:
        return _NONE if self.selected is None else ""

    def do_answer_signal(self) -> None:
        self._write(self.selected.signal)

    def do_send_signal(self) -> None:
        self._write(None)

    def _write(self, reply_to: Signal | None) -> None:
        from lumen_tui.tui.screens.signal_form import SignalForm

        def written(arguments: dict[str, Any] | None) -> None:
            if arguments:
                self.room.lumen.submit("signal.send", **arguments)

        self.room.lumen.push_screen(SignalForm(reply_to, self.snapshot.lanes), written)

    def open(self) -> None:
        """The signal in full; to open it is to read it."""
        from lumen_tui.tui.screens.signal_detail import SignalDetail

        row = self.selected
        if row.unread and not (self.snapshot.read_only or self.room.lumen.read_only):
            self.room.lumen.submit("signal.read", signal_ids=[row.signal.id])

        def left(choice: str | None) -> None:
            if choice == "reply":
                self._write(row.signal)

        self.room.lumen.push_screen(SignalDetail(row, self.room.lumen.clock()), left)
