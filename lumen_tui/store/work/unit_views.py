"""Work units as their files say, the usual ones read without a library: for commands that must start fast.

The front matter that this program writes is lines of `name = "text"` and lists of such texts. Whatever is written in
another way, or is wrong, goes to the full reader, which says what is wrong with it.
"""

from __future__ import annotations

from lumen_tui.model import ids
from lumen_tui.model.views import UnitView, fields_of
from lumen_tui.storage import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FENCE = "+++"


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """Front matter with what came of which discovery under today's names.

    Earlier files have the node's id under `discovered_in` and the work unit under `found_during`.
    """
    found = dict(fields)
    during, named = found.pop("found_during", None), found.get("discovered_in")
    if isinstance(named, str) and named and not ids.is_wu(named):
        found.setdefault("discovery", found.pop("discovered_in"))
    if during is not None:
        found.setdefault("discovered_in", during)
    return found


def read(root: files.StrPath, wu_id: str) -> UnitView | None:
    """One work unit, None where there is none. A ValueError (BadFile) where a person must mend it."""
    data = files.read(f"{root}/work/{ids.check_wu(wu_id)}.md")
    if data is None:
        return None
    found = _usual(data.decode(errors="replace"))
    fields = fields_of(UnitView, {**present(found), "id": wu_id}) if found is not None else None
    return UnitView(**fields) if fields else _in_full(root, wu_id)


def _in_full(root: files.StrPath, wu_id: str) -> UnitView | None:
    from pathlib import Path

    import msgspec

    from lumen_tui.storage.layout import Layout
    from lumen_tui.store.work import lanes

    unit = lanes.read_unit(Layout(Path(root)), wu_id)
    return UnitView(**fields_of(UnitView, msgspec.to_builtins(unit)) or {}) if unit else None


def _usual(text: str) -> dict[str, Any] | None:
    """The fields and the body where everything is written in the usual way; None otherwise."""
    lines = text.split("\n")
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        return None
    end = lines.index(_FENCE, 1)
    found: dict[str, Any] = {"body": "\n".join(lines[end + 1 :]).strip("\n")}
    rest = iter(lines[1:end])
    for line in rest:
        name, equals, value = line.partition(" = ")
        word = _list(rest) if value == "[" else _text(value)
        if not equals or not name.isidentifier() or name in found or word is None:
            return None
        found[name] = word
    return found


def _text(value: str) -> str | None:
    """The text between two quotes that has nothing escaped in it."""
    inner = value[1:-1]
    plain = len(value) > 1 and value[0] == value[-1] == '"' and inner.isprintable()
    return inner if plain and "\\" not in inner and '"' not in inner else None


def _list(lines: Iterator[str]) -> list[str] | None:
    """The texts up to the line that closes the list."""
    found: list[str] = []
    for line in lines:
        if line == "]":
            return found
        word = _text(line.strip().removesuffix(","))
        if word is None or not line.endswith(","):
            return None
        found.append(word)
    return None
