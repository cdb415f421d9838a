"""The black box: the room as it was at any moment, by the same panes, rebuilt from the journals. Nothing acts in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult

from lumen_tui.model import past, times
from lumen_tui.model.past import Event, Happening
from lumen_tui.model.snapshot import Attention, Snapshot
from lumen_tui.queries.black_box import BlackBox
from lumen_tui.tui.chrome import AROUND
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.jobs import Loader, looked
from lumen_tui.tui.kit.keys import Scoped
from lumen_tui.tui.kit.lines import Lines, spread
from lumen_tui.tui.kit.sheets import ReadingScreen
from lumen_tui.tui.room_command import ROWS, RoomCommand
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.room_screen import RoomScreen
from lumen_tui.tui.screen_commands import SCREENS
from lumen_tui.tui.theme import Appearance

# What may be done here: it looks, and no more.
_LOOKING = frozenset(
    {
        *(command.action for command in COMMANDS if command.scope == ROWS),
        *(f"pane_{number}" for number in range(1, 7)),
        *("next_pane", "previous_pane", "next_need", "previous_need", "filter", "sort", "zoom", "copy"),
        *("help", "back", "quit", "redraw", "how_to_leave"),
    }
)
_OFFERED = ("moment_back", "moment_on", "hour_back", "hour_on", "moment_sort", "black_box", "since", "past_save")
_BEHIND = ("filter", "zoom", "help", "back")  # of the room's own
_WIDE = 100  # cells from which the day has more of them
_DAY_WIDE, _DAY_NARROW = 24, 12  # cells of the day
Move = Callable[[float], float]  # from one moment to another; 0 where there is none on that side


class View(NamedTuple):
    """What was read for one moment."""

    snapshot: Snapshot
    last: Happening | None  # what had just happened
    complaint: str = ""


class Journey:
    """Where one is in the past, and how one got there. What touches the disk runs in one thread at a time."""

    def __init__(self, root: Path, operator: str, clock: Callable[[], float]) -> None:
        self._box = BlackBox(root, operator)
        self._clock = clock
        self._moves: list[Move] = [self._to_last]
        self.moment = clock()
        self.event: Event | None = None  # the only sort that one steps through
        self.last: Happening | None = None

    def close(self) -> None:
        """Close the journals."""
        self._box.close()

    def add(self, move: Move) -> None:
        """Ask for a move: the next look carries out all that were asked for."""
        self._moves.append(move)

    def look(self) -> View:
        """Carry out the moves, and read the room there. Touches the disk."""
        moment, complaint = self.moment, ""
        while self._moves:
            there = min(self._moves.pop(0)(moment), self._clock())
            complaint = "" if there else "Nothing is recorded on that side."
            moment = there or moment
        return View(self._box.at(moment, self._clock()), self._box.happenings.last(moment), complaint)

    def arrive(self, view: View) -> None:
        """Be where a look led."""
        self.moment, self.last = view.snapshot.taken, view.last

    def beside(self, step: int) -> Move:
        """Return the move to what happened next, or before, of the sort that is stepped through."""
        look, event = self._box.happenings.after if step > 0 else self._box.happenings.before, self.event

        def move(moment: float) -> float:
            happening = look(moment, event)
            return happening.at if happening else 0.0

        return move

    def _to_last(self, moment: float) -> float:
        happening = self._box.happenings.last(moment)
        return happening.at if happening else moment

    def next_event(self) -> None:
        """Step through the next sort of event alone; behind the last one through all of them."""
        sorts = (None, *Event)
        self.event = sorts[(sorts.index(self.event) + 1) % len(sorts)]

    def differences(self) -> str:
        """Return what differs from now. Touches the disk."""
        now = self._clock()
        before, after = (past.past_of(self._box.at(at, now), past.COMPARED) for at in (self.moment, now))
        return past.changes_text(past.changes(before, after))

    def line(self, width: int, look: Appearance) -> list[Segment]:
        """Return the moment, its place in the day, and what had just happened, on `width` cells."""
        moment, now, last = self.moment, self._clock(), self.last
        style = look.ink.loud + Style(reverse=True)
        gap = moment - last.at if last else 0.0
        event = f"{last.event.value}: {last.text}" if last else "nothing recorded before"
        event += f", {times.span(gap)} before" if gap >= 1 else ""
        day = _day(moment, _DAY_WIDE if width >= _WIDE else _DAY_NARROW, look)
        sort = f" {self.event.value} only " if self.event else ""
        return spread(width, [(f" PAST {_dated(moment, now)}  {day}  {event}", style)], [(sort, style)])


def _day(moment: float, cells: int, look: Appearance) -> str:
    """Return the day on so many cells, filled up to a moment."""
    shapes, full = look.shapes, int(cells * (moment % times.DAY) / times.DAY)
    return shapes.bar * full + shapes.cursor + shapes.rule * (cells - full - 1)


def _dated(moment: float, now: float) -> str:
    """`25 Nov 06:59:59 UTC, 1 h ago`; with the year where it is another one."""
    then, today = time.gmtime(moment), time.gmtime(now)
    year = "" if then.tm_year == today.tm_year else " %Y"
    return f"{time.strftime(f'%-d %b{year} %H:%M:%S UTC', then)}, {times.ago(now - moment)}"


class PastRoom(Scoped, RoomScreen):
    """The room of one moment, in front of the one of now. It opens where something happened last."""

    SCOPE = "black_box"

    def __init__(self, host: Host, root: Path) -> None:
        super().__init__(host)
        self.columns.around = AROUND + 1
        for pane in self.panes:
            missing = past.UNRECORDED.get(pane.scope, "")
            pane.nothing_then = "Nothing at this moment." + (f" Not in the journals: {missing}." if missing else "")
        self._journey = Journey(root, host.operator, host.clock)
        self._view: Loader[View] = Loader(self, self._journey.look, self._take)

    def compose(self) -> ComposeResult:
        yield Lines(lambda width, _height: [self._journey.line(width, self._host.look)], id="scrubber")
        yield from super().compose()

    def begin(self) -> None:
        """Read the first moment. Nothing moves by itself after that."""
        self._view.load()

    def on_unmount(self) -> None:
        self._journey.close()

    # In time.

    @property
    def now(self) -> float:
        """The moment that is shown, in seconds since 1970."""
        return self._journey.moment

    def _take(self, view: View) -> None:
        self._journey.arrive(view)
        self.show(view.snapshot, self.now)
        self.query_one("#scrubber", Lines).redraw()
        if view.complaint:
            self.say(view.complaint)

    def _move(self, move: Move) -> None:
        self._journey.add(move)
        self._view.load()

    def action_go(self, seconds: int) -> None:
        """Go so many seconds on, or back."""
        self._move(lambda moment: max(1.0, moment + seconds))

    def action_events(self, step: int) -> None:
        """Go to what happened next, or before, of the sort that is stepped through."""
        self._move(self._journey.beside(step))

    def action_sort(self) -> None:
        """Step through the next sort of event alone."""
        self._journey.next_event()
        self.query_one("#scrubber", Lines).redraw()

    def action_ask(self) -> None:
        """Ask for another moment."""
        from lumen_tui.tui.screens.black_box import MomentForm

        def asked(moment: float | None) -> None:
            if moment is not None:
                self._move(lambda _: moment)

        self._host.push_screen(MomentForm(self._host.clock()), asked)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """As Textual has it; where one types a filter the arrows move in its text."""
        return not (action in ("go", "events") and not self.query_one("#footer").display)

    # As text.

    def action_since(self) -> None:
        """Show what differs from now."""
        from lumen_tui.tui.screens.black_box import SinceThen

        self._host.push_screen(SinceThen(self.now, self._journey.differences))

    def action_save(self) -> None:
        """Write the room as it was into a file of the operator's."""
        self.run_worker(self._save(), group="save")

    async def _save(self) -> None:
        from lumen_tui.tui.screens.black_box import save_as

        save_as(self, await looked(self, lambda: past.text_of(past.past_of(self.snapshot))))

    # Nothing acts.

    @property
    def refusal(self) -> str:
        """Why nothing can be written from here."""
        return f"this is the past; {shown_key(BY_ACTION['back'], self.snapshot.config.keys)} goes back to now"

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out: whatever does more than look."""
        if command.scope == self.SCOPE:
            return ""
        return super().why_not(command) if command.action in _LOOKING else self.refusal

    def action_do(self, action: str) -> None:
        """Carry out a command that looks; leave where there is nothing to drop."""
        if action == "back" and self._bare:
            self.dismiss(None)
        elif action == "help" and self._host.screen is self:
            self._help()
        else:
            super().action_do(action)

    @property
    def _bare(self) -> bool:
        """Whether there are no marks, no filter and no zoom that going back would drop first."""
        rows = self.current.rows
        busy = rows is not None and (rows.marks.keys or rows.filter_text)
        return not (busy or self.zoomed or self.band.in_front)

    def _help(self) -> None:
        from lumen_tui.tui.screens.help import HelpScreen

        own, keys = SCREENS[self.SCOPE], dict(self.snapshot.config.keys)
        others = [command for command in COMMANDS if command.action not in {each.action for each in own}]
        self._host.push_screen(HelpScreen((*own, *others), keys, self.why_not, self.SCOPE), self._chosen)

    def _chosen(self, action: str | None) -> None:
        command = next((each for each in SCREENS[self.SCOPE] if each.action == action), None)
        if command is not None:
            self.call_later(self.run_action, command.call)
        elif action:
            self.action_do(action)

    def open_row(self) -> None:
        """Show the selected row in full, as it was."""
        if detail := self.current.detail():
            facts = [fact for fact in detail.facts if fact[1]]
            self._host.push_screen(ReadingScreen(f"{detail.title}, as it was", detail.body, facts))

    def open_need(self, need: Attention | None) -> None:
        """Say that nothing is answered here."""
        self.say(f"open: {self.refusal}")

    def offered(self) -> list[RoomCommand]:
        """Return what the footer offers: the moves in time first."""
        own = {command.action: command for command in SCREENS[self.SCOPE]}
        behind = [BY_ACTION[action] for action in _BEHIND]
        return [*(own[action] for action in _OFFERED), *(each for each in behind if not self.why_not(each))]
