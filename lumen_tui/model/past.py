"""The room at an earlier moment as lines of text: what each pane held, and how that differs from another moment."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from lumen_tui.model import ids, times
from lumen_tui.model.agentstate import agent_status
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.model.work import WorkUnit

MOST = 30  # rows of a pane that are shown
COMPARED = 2000  # and that are compared
_NEWEST_FIRST = "signals"  # the pane whose new rows come before all others
_WIDE = 100  # characters of a row's text

# What no journal says of an earlier moment, by the pane that it is missing in.
UNRECORDED = {
    "loop": "the engine's beats, and when a loop that failed was to be tried again",
    "wake": "wake-state.md as a file: what the last packet left for the next loop stands for it",
    "workers": "tasks that an undo has removed since, and whether a worker was silent: it counts as running",
    "signals": "signals that an undo or a cleanup has removed since",
    "decay": "the decay rule of that day: today's is used",
}
NOT_RECORDED = (
    *UNRECORDED.values(),
    "settings, roles and caps: today's are used",
    "receipts and answers that an undo has removed since; specs as they were before an edit",
    "pauses that the engine made by itself, and the next runs of schedules",
    "files that could not be read, and edits of work units by hand",
)


class PastRow(Struct, frozen=True):
    """A row of a pane: the id of what it is about, and what it said."""

    key: str
    text: str


class PastPane(Struct, frozen=True):
    """One pane; `more` rows were left out."""

    name: str
    rows: tuple[PastRow, ...] = ()
    more: int = 0


class Past(Struct, frozen=True):
    """The room at a moment (ISO date)."""

    at: str
    panes: tuple[PastPane, ...]

    @property
    def moment(self) -> float:
        """Seconds since 1970."""
        return times.epoch(self.at)


class Event(StrEnum):
    """The sorts of what happened, by which one steps through the past."""

    SIGNAL = "signal"
    TASK = "task"
    LOOP = "loop"
    NEED = "needs you"
    ACT = "operator"
    ENGINE = "engine"


class Happening(Struct, frozen=True):
    """One thing that was recorded, with when in seconds since 1970."""

    at: float
    event: Event
    text: str


class PastChange(Struct, frozen=True):
    """A row that is there now and was not, that went, or that said something else."""

    pane: str
    how: str  # appeared | changed | gone
    key: str
    text: str
    before: str = ""


def past_of(snapshot: Snapshot, most: int = MOST) -> Past:
    """Return the panes of a snapshot as text, of a real one or of one that was rebuilt; `most` rows of each."""
    panes = (
        PastPane("state", tuple(_state(snapshot))),
        PastPane("loop-state", tuple(_loop(snapshot))),
        PastPane("wake-state", tuple(_wake(snapshot))),
        _cut("workers", map(_task, snapshot.tasks), len(snapshot.tasks), most),
        _cut(_NEWEST_FIRST, _signals(snapshot), len(snapshot.signals), most),
        _cut("discoveries", _discoveries(snapshot), len(snapshot.discoveries), most),
        _cut("decay", _decay(snapshot), _COUNTS + len(snapshot.fading), most),
        _cut("work units", map(_unit, snapshot.work), len(snapshot.work), most),
        PastPane("needs you", tuple(_needs(snapshot))),
    )
    return Past(times.iso(snapshot.taken), panes)


def _cut(name: str, rows: Iterable[PastRow], count: int, most: int) -> PastPane:
    shown = tuple(islice(rows, most))
    return PastPane(name, shown, max(0, count - len(shown)))


def _loop(snapshot: Snapshot) -> Iterator[PastRow]:
    state = snapshot.loop
    if state is not None and state.loop > 0:
        yield PastRow("loop", f"loop {state.loop} ended {times.exact(times.epoch(state.completed_at))}")
        yield PastRow("health", f"{state.health.status} {one_line(state.health.note, _WIDE)}".strip())
    yield PastRow("unread", f"{snapshot.unread:,} unread of {len(snapshot.signals):,} signals")


def _state(snapshot: Snapshot) -> Iterator[PastRow]:
    """Yield the word of the state and what was at work, what was paused, and what the day had cost."""
    status, spend = agent_status(snapshot, snapshot.taken), snapshot.spend
    yield PastRow("agent", one_line(" ".join((status.state, *status.working)), _WIDE))
    if snapshot.killed:
        yield PastRow("killed", one_line(snapshot.killed, _WIDE))
    for name, how in snapshot.paused.items():
        yield PastRow(name, one_line(how, _WIDE))
    held = f", {spend.held_tokens:,} tokens set aside" if spend.held_tokens else ""
    yield PastRow("spent", f"{spend.tokens:,} tokens, ${spend.usd:.4f} on {spend.day}{held}")
    if reached := "; ".join(spend.reached) or spend.warned:
        yield PastRow("budget", one_line(reached, _WIDE))


def _unit(unit: WorkUnit) -> PastRow:
    words = (unit.status, unit.priority, unit.lane, one_line(unit.title, _WIDE))
    return PastRow(unit.id, "  ".join(word for word in words if word))


def _wake(snapshot: Snapshot) -> Iterator[PastRow]:
    if not snapshot.packets:
        return
    packet = snapshot.packets[-1]
    for number, text in enumerate(packet.next, 1):
        yield PastRow(f"next {number}", one_line(text, _WIDE))
    for number, text in enumerate(packet.constraints, 1):
        yield PastRow(f"constraint {number}", one_line(text, _WIDE))


def state_word(view: TaskView) -> str:
    """Return the state of a task as far as it can be known later: a silent worker is one that runs."""
    return "running" if view.status is Status.STALLED or view.awaits_budget else view.state


def _task(view: TaskView) -> PastRow:
    reason = f": {one_line(view.reason, _WIDE)}" if view.finished and view.reason else ""
    words = f"{state_word(view):<9} {view.spec.role}  {one_line(view.spec.objective, _WIDE)}{reason}"
    return PastRow(view.id, words)


def _signals(snapshot: Snapshot) -> Iterator[PastRow]:
    for row in snapshot.signals:
        signal = row.signal
        mark = "unread" if row.unread else "read"
        words = (mark, signal.priority, signal.wu_id, signal.sender, one_line(signal.message, _WIDE))
        yield PastRow(signal.id, "  ".join(word for word in words if word))


def _discoveries(snapshot: Snapshot) -> Iterator[PastRow]:
    for row in snapshot.discoveries:
        words = (row.node.priority, row.node.wu_id, one_line(row.node.title, _WIDE))
        yield PastRow(row.node.id, "  ".join(word for word in words if word))


_COUNTS = 3  # rows before the nodes


def _decay(snapshot: Snapshot) -> Iterator[PastRow]:
    decay = snapshot.decay
    yield PastRow("active", f"{decay.active:,} active, {decay.protected:,} protected, {decay.pinned:,} pinned")
    yield PastRow("archived", f"{decay.archived:,} archived")
    yield PastRow("due", f"{decay.due:,} due, {decay.within_week:,} decay within 7 days")
    for row in snapshot.fading:
        yield PastRow(row.node_id, f"{row.score:.3f}  {one_line(row.title, _WIDE)}  {times.exact(row.fades_at)}")


def _needs(snapshot: Snapshot) -> Iterator[PastRow]:
    for need in snapshot.attention:
        if need.need is not Need.PROBLEM:
            yield PastRow(need.target, f"{need.need}  {one_line(need.text, _WIDE)}")


def changes(before: Past, after: Past) -> tuple[PastChange, ...]:
    """Return what differs: what appeared and changed, pane by pane, then what is gone."""
    return tuple(change for pair in zip(before.panes, after.panes, strict=True) for change in _pane_changes(*pair))


def _pane_changes(before: PastPane, after: PastPane) -> Iterator[PastChange]:
    """Yield what differs; where rows were left out on the other side, one that is missing there may be among them."""
    then, now = ({row.key: row.text for row in pane.rows} for pane in (before, after))
    for key, text in now.items():
        if key not in then and before.more and after.name != _NEWEST_FIRST:
            continue
        if key not in then:
            yield PastChange(after.name, "appeared", key, text)
        elif then[key] != text:
            yield PastChange(after.name, "changed", key, text, then[key])
    for key in then if not after.more else ():
        if key not in now:
            yield PastChange(after.name, "gone", key, then[key])


def _name(key: str) -> str:
    return ids.short(key) if "-" in key else key


def text_of(past: Past) -> str:
    """Return the panes as text."""
    lines = [f"AS OF {times.exact(past.moment)}"]
    for pane in past.panes:
        more = f", {pane.more:,} more" if pane.more else ""
        lines += ["", f"{pane.name} ({len(pane.rows)}{more})"]
        lines += [f"  {_name(row.key):<14} {row.text}" for row in pane.rows]
    return "\n".join([*lines, "", "not recorded:", *(f"  {text}" for text in NOT_RECORDED)])


_SIGNS = {"appeared": "+", "changed": "~", "gone": "-"}


def changes_text(found: Iterable[PastChange]) -> str:
    """Return differences as text: `+` appeared, `~` changed, `-` gone."""
    lines, pane = list[str](), ""
    for change in found:
        if change.pane != pane:
            pane = change.pane
            lines += ["", pane]
        lines.append(f"  {_SIGNS[change.how]} {_name(change.key)}  {change.text}")
        lines += [f"      was: {change.before}"] if change.before else []
    return "\n".join(lines).strip() or "nothing differs"


_CLOCK = lazy_re(r"(?P<day>today |yesterday )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?")
_UNDERSTOOD = "a time such as 03:12, `yesterday 18:00`, `20m ago` or 2026-11-21T03:12"


def parse_past(text: str, now: float) -> float:
    """Return the seconds since 1970 of a moment that is over, times of day in UTC. ValueError says what it takes."""
    words = " ".join(text.strip().lower().split())
    clock = _CLOCK.fullmatch(words)
    try:
        moment = _at_clock(clock, now) if clock else times.moment(_span(words), now)
    except ValueError:
        raise ValueError(f"{text!r} is no moment: write {_UNDERSTOOD}") from None
    if moment > now:
        raise ValueError(f"{times.exact(moment)} is ahead: only what is over is recorded")
    return moment


def _at_clock(clock: re.Match[str], now: float) -> float:
    hour, minute, second = (int(clock[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(clock[0])
    moment = now - now % times.DAY + hour * times.HOUR + minute * times.MINUTE + second
    if clock["day"] == "yesterday ":
        return moment - times.DAY
    return moment - times.DAY if moment > now and not clock["day"] else moment


def _span(words: str) -> str:
    """`20 m ago` -> `20m`; a date stays as it is."""
    bare = words.removesuffix(" ago")
    compact = bare.replace(" ", "").replace("minutes", "m").replace("minute", "m").replace("min", "m")
    compact = compact.replace("hours", "h").replace("hour", "h").replace("days", "d").replace("day", "d")
    return compact if compact[:1].isdigit() and compact[-1:].isalpha() and "-" not in compact else bare.upper()


def header_words(moment: float) -> str:
    """`AS OF 21 Nov 03:12:44 · read only`: the title of a room that is over."""
    return f"AS OF {time.strftime('%-d %b %H:%M:%S', time.gmtime(moment))} UTC · read only"
