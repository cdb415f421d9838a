"""themes/: an operator's own colours for the room, a file each. One that is wrong is named and not listed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.problem import Problem
from lumen_tui.model.themes import TAKEN, OwnTheme, ThemeFile, no_colours, over_base, unreadable
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import config_errors

_MOST_BYTES = 64 * 1024
_MOST_FILES = 200
_HINT = "fix the file: until then the room keeps the colours that it has"


def theme_files(layout: Layout) -> list[Path]:
    """Return the files that may be themes, by name."""
    return sorted(path for path in layout.themes.glob("*.toml") if not path.name.startswith("."))[:_MOST_FILES]


def list_themes(layout: Layout) -> tuple[tuple[OwnTheme, ...], list[Problem]]:
    """Return the usable themes, and a problem for each of the other files."""
    themes, problems = [], []
    for path in theme_files(layout):
        try:
            themes.append(_read(path))
        except (BadFile, ids.BadId, files.StoreError, OSError) as error:
            line = getattr(error, "line", 0)
            where = f"themes/{path.name}" + (f":{line}" if line else "")
            problems.append(Problem(where=where, what=str(error), hint=_HINT))
    return tuple(themes), problems


def _read(path: Path) -> OwnTheme:
    """Read one theme. Raise BadFile with the line, BadId for a name that no setting could say."""
    name = ids.check_name(path.stem, "theme")
    if name in TAKEN:
        raise BadFile(f"{name!r} is a theme of the room itself: give the file another name")
    data = files.read(path, _MOST_BYTES) or b""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadFile("the file is not UTF-8", data[: error.start].count(b"\n") + 1) from error
    table = frontmatter.parse_toml(text)
    try:
        said = msgspec.convert(table, ThemeFile)
    except msgspec.ValidationError as error:
        wrong = config_errors.in_words(error, ThemeFile, table)
        raise BadFile(wrong, _line(text, config_errors.place(error).partition(".")[0])) from error
    palette = over_base(said, frozenset(table))
    for check in (no_colours, unreadable):
        if complaints := check(palette):
            raise BadFile(_first(complaints), _line(text, next(iter(complaints))))
    return OwnTheme(name, palette)


def _first(complaints: dict[str, str]) -> str:
    """Return one complaint, and the names of the others: a line has no room for all."""
    (name, complaint), *others = complaints.items()
    more = f" (and so {_names(other for other, _ in others)})" if others else ""
    return f"{name}: {complaint}{more}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)


def _line(text: str, name: str) -> int:
    return frontmatter.line_of(text, name) if name else 0
