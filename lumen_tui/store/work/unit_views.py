"""Work units read from their files, usually without a library, for commands that must start fast.

The front matter that this program writes is lines of `name = "text"` and lists of such texts. Whatever is written in
another way, or is wrong, goes to the full reader, which says what is wrong with it.
"""

from __future__ import annotations

from lumen_tui.model import ids
from lumen_tui.model.views import UnitView, fields_of, present_unit_fields
from lumen_tui.storage import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FENCE = "+++"


def read(root: files.StrPath, wu_id: str) -> UnitView | None:
    """Return one work unit; None where there is none. A ValueError (BadFile) where a person must fix it."""
    data = files.read(f"{root}/work/{ids.check_wu(wu_id)}.md")
    if data is None:
        return None
    fields_read = _usual(data.decode(errors="replace"))
    fields = fields_of(UnitView, {**present_unit_fields(fields_read), "id": wu_id}) if fields_read is not None else None
    return UnitView(**fields) if fields else _in_full(root, wu_id)


def _in_full(root: files.StrPath, wu_id: str) -> UnitView | None:
    from pathlib import Path

    import msgspec

    from lumen_tui.storage.layout import Layout
    from lumen_tui.store.work import lanes

    unit = lanes.read_unit(Layout(Path(root)), wu_id)
    return UnitView(**fields_of(UnitView, msgspec.to_builtins(unit)) or {}) if unit else None


def _usual(text: str) -> dict[str, Any] | None:
    """Return the fields and the body where everything is written in the usual way; None otherwise."""
    lines = text.split("\n")
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        return None
    end = lines.index(_FENCE, 1)
    fields: dict[str, Any] = {"body": "\n".join(lines[end + 1 :]).strip("\n")}
    numbered_lines = iter(lines[1:end])
    for line in numbered_lines:
        name, equals, value = line.partition(" = ")
        field_value = _list(numbered_lines) if value == "[" else _text(value)
        if not equals or not name.isidentifier() or name in fields or field_value is None:
            return None
        fields[name] = field_value
    return fields


def _text(value: str) -> str | None:
    """Return the text between two quotes; None where anything is escaped in it."""
    inner = value[1:-1]
    plain = len(value) > 1 and value[0] == value[-1] == '"' and inner.isprintable()
    return inner if plain and "\\" not in inner and '"' not in inner else None


def _list(lines: Iterator[str]) -> list[str] | None:
    """Return the texts up to the line that closes the list."""
    texts: list[str] = []
    for line in lines:
        if line == "]":
            return texts
        item = _text(line.strip().removesuffix(","))
        if item is None or not line.endswith(","):
            return None
        texts.append(item)
    return None
