"""To find a command by typing a part of it; `?` lists every key by where it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from rich.segment import Segment
from textual.app import ComposeResult
from textual.content import Content

from lumen_tui.model.text import safe
from lumen_tui.tui.commands import shown_key
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.keys import pair_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.screen import Dialog, Keys
from lumen_tui.tui.kit.sheets import Rows
from lumen_tui.tui.patches.one_frame import Sheet
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.theme import Appearance

NAMED = 299.0  # likeness from which the name of a command begins with what was typed
_ENOUGH = 82.0  # per cent of likeness below which a command was not meant
_KEY = max(len(command.shown_key) for command in COMMANDS)  # cells for a key
_SCOPE, _LABEL = 12, 15  # cells for the place where it works, and for its name
_UNKEYED = _KEY + _LABEL + 1  # for a name without a key
NO_KEYS: Mapping[str, str] = MappingProxyType({})
WhyNot = Callable[[RoomCommand], str]


def likeness(query: str, command: RoomCommand, keys: Mapping[str, str] = NO_KEYS) -> float:
    """How well `query` names `command`, 0 to 400: its key, the beginning of its name, a part of it, then spelling.

    `keys` are the operator's own, by action.
    """
    wanted = query.casefold().strip()
    name = f"{command.label} {command.action.replace('_', ' ')}".casefold()
    everything = f"{name} {command.help} {command.scope}".casefold()
    if query.strip() == shown_key(command, keys):
        return 400.0
    if any(word.startswith(wanted) for word in (command.label.casefold(), *name.split())):
        return 300.0 - len(name) / 100
    if all(part in everything for part in wanted.split()):
        return 200.0 - len(name) / 100
    return _spelled_like(wanted, name) if len(wanted) > 2 else 0.0


def _spelled_like(wanted: str, name: str) -> float:
    from rapidfuzz import fuzz  # 40 ms that the screen need not wait for

    score = fuzz.partial_ratio(wanted, name)
    return score if score >= _ENOUGH else 0.0


def ranked(query: str, commands: Sequence[RoomCommand], keys: Mapping[str, str] = NO_KEYS) -> list[RoomCommand]:
    """Return the commands that `query` may mean, the likeliest first; all of them for an empty query."""
    if not query.strip():
        return list(commands)
    scored = [(likeness(query, command, keys), command) for command in commands]
    return [command for score, command in sorted(scored, key=lambda pair: -pair[0]) if score > 0]


class CommandRows(Rows[RoomCommand]):
    """Key, name and help of a command; a disabled one with its reason. The cursor is drawn here: the focus is above."""

    def __init__(self, look: Appearance, keys: Mapping[str, str], why_not: WhyNot) -> None:
        super().__init__(look)
        self.keys = keys
        self.why_not = why_not
        self.current = ""  # key of the row under the cursor
        self.heads: frozenset[str] = frozenset()  # keys of the rows that begin a group

    def key(self, row: RoomCommand) -> str:
        return f"{row.scope}:{row.action}"

    def line(self, row: RoomCommand, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, shapes = self.look.ink, self.look.shapes
        here = self.key(row) == self.current
        why = self.why_not(row)
        name, rest = (ink.muted, ink.muted) if why else (ink.strong if here else ink.text, ink.muted)
        scope = Cell(row.scope.replace("_", " ") if self.key(row) in self.heads else "", ink.muted, _SCOPE, gap=1)
        key = Cell(shown_key(row, self.keys), ink.muted if why else ink.loud, _KEY, gap=1)
        cells = (
            Cell(shapes.chosen if here else "", ink.accent, len(shapes.chosen)),
            *((scope,) if self.heads else ()),
            *(
                (key, Cell(row.label, name, _LABEL))
                if row.keys
                else (Cell(row.label, name, min(_UNKEYED, width // 3)),)
            ),
            Cell(f"not now: {why}" if why else row.help, rest),
        )
        return line(width, cells)

    def words(self, row: RoomCommand) -> str:
        return f"{row.label} {row.action} {row.help} {row.scope}"


class Finder(Dialog[str]):
    """A line to type in over the commands that fit. Answers the action of the one that was chosen.

    Nothing is chosen before something was typed or a key moved: a second enter in a hurry carries nothing out.
    """

    SCOPE = "hits"
    ASK = ""

    def __init__(
        self, heading: str, commands: Sequence[RoomCommand], keys: Mapping[str, str], why_not: WhyNot, front: str = ""
    ) -> None:
        super().__init__(heading)
        self._front = front  # the scope of what was in front: its commands stand first
        self._chosen = False  # whether the cursor was put where it is
        self._commands = tuple(commands)
        self._keys = keys
        self._why_not = why_not

    def body(self) -> ComposeResult:
        yield (asked := TextField(placeholder=self.ASK, id="find"))
        asked.add_class("find")
        self._view = CommandRows(appearance_of(self.app), self._keys, self._why_not)
        view: LineList[RoomCommand] = LineList(self._view, empty="No command matches.", id="list")
        view.can_focus = False
        yield view
        yield StatusLine()

    def keys(self) -> Keys:
        return (pair_of(self, "hit_up", "hit_down", "choose"), *self.offer("hit_take", "back", hit_take="run"))

    def on_mount(self) -> None:
        self.find("")

    def tick(self, now: float) -> None:
        """Say again which commands work: what they are about may have changed behind this."""
        self._list.refresh_changed()

    @property
    def _list(self) -> LineList[RoomCommand]:
        view: LineList[RoomCommand] = self.query_one("#list", LineList)
        return view

    def order(self, query: str) -> list[RoomCommand]:
        """Return what to show for a query, and in which order."""
        return ranked(query, self._commands, self._keys)

    def _behind(self, command: RoomCommand) -> bool:
        """Return whether a command is of another place than the one in front."""
        return command.scope != self._front

    def find(self, query: str) -> None:
        """Show what fits, with the cursor on the first."""
        rows = self.order(query)
        self._chosen = bool(query.strip())
        self._view.heads, self._view.current = self.heads(rows), ""
        self._list.set_rows(rows)
        self._list.action_row("top")
        self.on_line_list_highlighted()  # before the list tells: what it says has its lines in the first layout

    def heads(self, rows: Sequence[RoomCommand]) -> frozenset[str]:
        """Keys of the rows that begin a group; empty where there are no groups."""
        return frozenset()

    def on_line_list_highlighted(self) -> None:
        chosen = self._list.selected if self._chosen else None
        current = self._view.key(chosen) if chosen else ""
        if chosen and current == self._view.current:
            return  # said for the new rows, and once more for the cursor on the first of them
        self._view.current = current
        self._list.refresh_changed()
        self.query_one(StatusLine).show(
            Content.assemble((safe(chosen.help) if chosen else self._unchosen(), "$room-muted"))
        )

    def _unchosen(self) -> str:
        return (
            ""
            if self._chosen
            else f"Type a part of a name, or choose with {pair_of(self, 'hit_up', 'hit_down', '')[0]}."
        )

    def on_input_changed(self, event: TextField.Changed) -> None:
        self.find(event.value)

    def on_input_submitted(self) -> None:
        self.action_take()

    def on_line_list_selected(self) -> None:
        self.action_take()

    def on_mouse_down(self) -> None:
        """Choose the row that is pressed."""
        self._chosen = True

    def action_take(self) -> None:
        if not self._chosen:
            self.query_one(StatusLine).say(self._unchosen())
            return
        chosen = self._list.selected
        why = self._why_not(chosen) if chosen else "No command matches."
        if chosen is None or why:
            self.query_one(StatusLine).say(why, bad=True)
            return
        self.dismiss(chosen.action)

    def action_move(self, how: str) -> None:
        first, self._chosen = not self._chosen, True
        self._list.action_row("top" if first else how)


class HelpScreen(Sheet, Finder):
    """Answers the action of the command to run. `keys` are the operator's own keys by action."""

    ASK = "type to search: a word, a key"

    def __init__(
        self, commands: Sequence[RoomCommand], keys: dict[str, str], why_not: WhyNot | None = None, front: str = ""
    ) -> None:
        super().__init__("Help", commands, keys, why_not or (lambda command: ""), front)

    def order(self, query: str) -> list[RoomCommand]:
        fits = [command for command in self._commands if not query.strip() or likeness(query, command, self._keys) > 0]
        scopes = list(dict.fromkeys(command.scope for command in self._commands))
        return sorted(
            fits, key=lambda command: (bool(self._why_not(command)), self._behind(command), scopes.index(command.scope))
        )

    def heads(self, rows: Sequence[RoomCommand]) -> frozenset[str]:
        first = {command.scope: self._view.key(command) for command in reversed(rows)}
        return frozenset(first.values())
