"""The line below: the keys that work now, and the quiet words about what was just done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from lumen_tui.model.text import one_line
from lumen_tui.tui.commands import COMMANDS, EVERYWHERE, ROWS, RoomCommand, shown_key
from lumen_tui.tui.kit.cells import fit, spread
from lumen_tui.tui.theme import Appearance

# What a narrow window can do without, the first one first. The pane's own commands and the help stay longest.
_DROPPED = (
    "zoom", "roles", "send_signal", "next_need", "mark", "open", "filter", "undo", "new_task", "palette", "why",
)  # fmt: skip


_QUOTED = re.compile("“[^”]*”")
_TITLE = 12  # cells of a title in quotes that are always kept


class Notice(NamedTuple):
    """What the last action said; `until` in seconds since 1970."""

    text: str
    bad: bool = False
    until: float = 0.0


def footer_commands(scope: str, has_rows: bool) -> list[RoomCommand]:
    """What the footer offers while a pane has the focus, in its order."""
    scopes = {scope, EVERYWHERE, ROWS} if has_rows else {scope, EVERYWHERE}
    return [one for one in COMMANDS if one.footer and (one.scope in scopes or one.action == "open")]


def footer(
    commands: list[RoomCommand], keys: Mapping[str, str], notice: Notice | None, width: int, look: Appearance
) -> list[Segment]:
    """The footer on `width` cells: keys from the left, the notice against the right edge."""
    said = f"  {squeezed(one_line(notice.text), max(8, width - 20))}" if notice and notice.text else ""
    right = [(said, look.ink.bad if notice and notice.bad else look.ink.text)] if said else []
    room = width - cell_len(said)
    return spread(width, _keys(_fitting(commands, keys, room), keys, look), right)


def squeezed(text: str, width: int) -> str:
    """`text` on at most `width` cells: titles in quotes give way first, since what was done stands behind them."""
    for quoted in sorted(_QUOTED.findall(text), key=cell_len, reverse=True):
        over = cell_len(text) - width
        if over <= 0:
            return text
        title = quoted[1:-1].removesuffix("…")
        kept = max(_TITLE, cell_len(title) - over)
        if kept < cell_len(title):
            text = text.replace(quoted, f"“{fit(title, kept)}”", 1)
    return text if cell_len(text) <= width else fit(text, width)


def _fitting(commands: list[RoomCommand], keys: Mapping[str, str], room: int) -> list[RoomCommand]:
    kept = list(commands)
    for action in _DROPPED:
        if sum(_size(command, keys) for command in kept) <= room:
            return kept
        kept = [command for command in kept if command.action != action]
    while kept and sum(_size(command, keys) for command in kept) > room:
        kept.pop(-2 if len(kept) > 1 else -1)
    return kept


def _size(command: RoomCommand, keys: Mapping[str, str]) -> int:
    return len(shown_key(command, keys)) + 1 + len(command.label) + 2


def _keys(commands: list[RoomCommand], keys: Mapping[str, str], look: Appearance) -> list[tuple[str, Style]]:
    pieces: list[tuple[str, Style]] = []
    for command in commands:
        pieces.append((shown_key(command, keys), look.ink.loud))
        pieces.append((f" {command.label}  ", look.ink.muted))
    return pieces
