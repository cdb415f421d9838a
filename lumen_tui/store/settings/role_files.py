"""The two files a role may have in the state folder, hired and retired, read and written together."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.model import ids
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped

Texts = dict[str, str | None]  # "hired" and "retired" -> the file's text, None where there is none
_MARK = "# retired "


def paths(layout: Layout, name: str) -> dict[str, Path]:
    """Return the paths of the two files of a role."""
    return {"hired": layout.role(name), "retired": layout.retired_role(name)}


def texts(layout: Layout, name: str) -> Texts:
    """Return the current texts of both files."""
    by_kind: Texts = {}
    for kind, path in paths(layout, name).items():
        data = files.read(path)
        by_kind[kind] = None if data is None else data.decode(errors="replace")
    return by_kind


def put(layout: Layout, name: str, new_texts: Texts) -> None:
    """Give both files new texts, durably; writing comes before removing."""
    present = texts(layout, name)
    both = paths(layout, name)
    for kind, path in both.items():
        text = new_texts[kind]
        if text is not None and text != present[kind]:
            files.replace(path, text.encode())
    for kind, path in both.items():
        if new_texts[kind] is None and present[kind] is not None:
            directories.remove(path)


def shipped_text(name: str) -> str | None:
    """Return the text of a shipped role; None where there is none."""
    data = files.read(shipped("roles") / f"{ids.check_name(name, 'role')}.md")
    return None if data is None else data.decode(errors="replace")


def with_mark(text: str, note: str) -> str:
    """Return the role file with a comment in its front matter that says why it was retired."""
    first, newline, body = text.partition("\n")
    return f"{first}{newline}{_MARK}{note}\n{body}"


def without_mark(text: str) -> str:
    """Return the role file without such comments."""
    return "".join([line for line in text.splitlines(keepends=True) if not line.startswith(_MARK)])
