"""What happened before and after a moment, by its sort, from the journals that record it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import EngineEvent, Packet
from lumen_tui.model.past import Event, Happening
from lumen_tui.model.records import Signal
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import Transition, words_of
from lumen_tui.storage.dated_lines import DatedLine, DatedLines
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.action_line import decode_action_line

_WIDE = 160  # characters of what is said of one
_TICK = 0.0005  # seconds: dates are recorded in milliseconds


def _signal(line: bytes) -> str:
    signal = decode_safe(line, Signal)
    return f"{signal.priority} {signal.sender}: {signal.message}" if signal.sender else signal.message


def _event(line: bytes) -> str:
    return decode_safe(line, EngineEvent).text


def _loop(line: bytes) -> str:
    packet = decode_safe(line, Packet)
    return f"loop {packet.loop} {'failed' if packet.failed else 'ended'}"


def _need(line: bytes) -> str:
    transition = decode_safe(line, Transition)
    return f"{words_of(transition)}: {transition.need} {transition.text}"


def _act(line: bytes) -> str:
    action = decode_action_line(line)
    return f"{action.by}: {action.summary}"


class _Source(NamedTuple):
    """A journal, which of its lines are meant, and what one of them says."""

    event: Event
    journal: DatedLines
    words: Callable[[bytes], str]
    wanted: Callable[[bytes], bool] = bool


def _of_task(line: bytes) -> bool:
    return b'"task_id":"' in line


def _of_engine(line: bytes) -> bool:
    return not _of_task(line)


def _begun(line: bytes) -> bool:
    """Return whether a line is no end of an action: that has the date of its beginning."""
    return b'"stage":"done"' not in line and b'"stage":"dropped"' not in line


class Happenings:
    """Looks up what is beside a moment. A look opens each journal anew, and reads little of it."""

    def __init__(self, layout: Layout) -> None:
        logs = [DatedLines(path, b"at") for path in (layout.events, layout.earlier_events)]
        self._sources = (
            _Source(Event.SIGNAL, DatedLines(layout.signals, b"created_at"), _signal),
            _Source(Event.ACT, DatedLines(layout.actions, b"at"), _act, _begun),
            _Source(Event.LOOP, DatedLines(layout.packets, b"completed_at"), _loop),
            _Source(Event.NEED, DatedLines(layout.transitions, b"at"), _need),
            *(_Source(Event.TASK, log, _event, _of_task) for log in logs),
            *(_Source(Event.ENGINE, log, _event, _of_engine) for log in logs),
        )

    def after(self, moment: float, event: Event | None = None) -> Happening | None:
        """Return the first thing after a moment, of one sort or of any; None where nothing is recorded."""
        beside = [(dated, each) for each in self._of(event) if (dated := each.journal.after(moment, each.wanted))]
        return _told(*min(beside, key=_date)) if beside else None

    def before(self, moment: float, event: Event | None = None) -> Happening | None:
        """Return the last thing before a moment, of one sort or of any; None where nothing is recorded."""
        beside = [(dated, each) for each in self._of(event) if (dated := each.journal.before(moment, each.wanted))]
        return _told(*max(beside, key=_date)) if beside else None

    def last(self, moment: float) -> Happening | None:
        """Return what happened last up to a moment; None where nothing is recorded."""
        return self.before(moment + _TICK)

    def _of(self, event: Event | None) -> Iterator[_Source]:
        return (source for source in self._sources if event in (None, source.event))


def _date(beside: tuple[DatedLine, _Source]) -> float:
    return beside[0].at


def _told(dated: DatedLine, source: _Source) -> Happening:
    try:
        text = one_line(source.words(dated.line), _WIDE)
    except UNDECODABLE:
        text = "a line that cannot be read"
    return Happening(dated.at, source.event, text)
