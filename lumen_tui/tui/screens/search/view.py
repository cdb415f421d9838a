"""How hits are drawn: what it is, how old, the words that matched in bold; and one of them in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.segment import Segment

from lumen_tui.model import ids
from lumen_tui.model.searching import Found, Hit, why
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, fit, line, push
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.rows_sheet import Rows
from lumen_tui.tui.kit.timestamps import moment
from lumen_tui.tui.theme import Look

_WIDE = 100  # columns from which work unit and trust have a column
_AROUND = 300  # characters of what was said before and after a hit
_HEAD = 22  # cells before the excerpt


class HitRows(Rows[Hit]):
    """The cursor is drawn here: the focus is in the line above."""

    def __init__(self, look: Look, now: float) -> None:
        super().__init__(look, now)
        self.current = ""  # ref of the row under the cursor

    def key(self, row: Hit) -> str:
        return row.ref

    def line(self, row: Hit, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, shapes = self.look.ink, self.look.shapes
        here = row.ref == self.current
        wide = width >= _WIDE
        cells = (
            Cell(shapes.cursor if here else " ", ink.accent, 1),
            Cell(row.type, ink.strong if here else ink.muted, 12, gap=1),
            Cell(words.age(self.now - row.at) if row.at else "", ink.muted, 6, right=True, gap=1),
            *((Cell(row.wu_id, ink.muted, 8), Cell(row.trust, ink.muted, 9)) if wide else ()),
        )
        size = _HEAD + (21 if wide else 0)
        drawn = line(size - 1, cells)
        push(drawn, " ", ink.muted)
        room = width - size
        near = "beside: " if row.neighbour_of else ""
        for text, hit in ((near, False), *row.excerpt):
            size = min(room, cell_len(text))
            push(drawn, fit(text, size), ink.loud if hit else ink.text if here else ink.muted)
            room -= size
        push(drawn, " " * room, ink.muted)
        return drawn

    def words(self, row: Hit) -> str:
        return f"{row.ref} {row.title}"


def summary(found: Found) -> str:
    """How much there is; of nothing the list itself speaks."""
    many = f"more than {found.matches - 1:,}" if found.matches > 1000 else f"{found.matches:,}"
    beside = sum(1 for hit in found.hits if hit.neighbour_of)
    near = f" and {beside} beside {'it' if found.matches == 1 else 'them'}" if beside else ""
    said = f"{many} found{near}" if found.matches else ""
    less = f"without {', '.join(found.dropped)}: nearly everywhere" if found.dropped else ""
    return " · ".join(part for part in (said, less) if part)


def reasons(hit: Hit) -> str:
    """Why a hit stands where it does, and whose word it is."""
    whose = f" · by {hit.by}" if hit.by else ""
    status = f" · {hit.status}" if hit.status not in ("", "open") else ""
    return f"{ids.short(hit.ref)} · {why(hit)}{whose}{status}"


def facts(hit: Hit, now: float) -> Iterator[Fact]:
    """One hit, name by name."""
    yield "id", hit.ref
    yield "what", f"{hit.type} · {hit.kind}"
    yield "when", moment(hit.at, now) if hit.at else "unknown"
    for name, value in (
        ("status", hit.status), ("tags", " ".join(hit.tags)), ("work unit", hit.wu_id), ("lane", hit.lane),
        ("by", hit.by), ("trust", hit.trust), ("source", hit.source), ("session", hit.session), ("place", hit.place),
    ):  # fmt: skip
        if value:
            yield name, value
    yield "found by", why(hit)


def told(parts: Sequence[tuple[str, str, str]], ref: str) -> str:
    """What was said around a hit, one part below the other; only the hit itself in full."""
    shown = [(name, by, text.strip() if name == ref else _cut(text.strip())) for name, by, text in parts]
    return "\n\n".join(f"{'>' if name == ref else '-'} {by}, {_place(name)}\n{text}" for name, by, text in shown)


def _cut(text: str) -> str:
    return text if len(text) <= _AROUND else f"{text[:_AROUND].rstrip()} …"


def _place(name: str) -> str:
    return f"line {name.rpartition(':')[2].partition('.')[0]}"
