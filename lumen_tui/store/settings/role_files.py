"""The two files a role may have in the state folder, hired and retired, read and put in place together."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.model import ids
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped

Texts = dict[str, str | None]  # "hired" and "retired" -> the file's text, None where there is none
_MARK = "# retired "


def paths(layout: Layout, name: str) -> dict[str, Path]:
    """Where the two files of a role stand."""
    return {"hired": layout.role(name), "retired": layout.retired_role(name)}


def texts(layout: Layout, name: str) -> Texts:
    """Both files as they are."""
    found: Texts = {}
    for kind, path in paths(layout, name).items():
        data = files.read(path)
        found[kind] = None if data is None else data.decode(errors="replace")
    return found


def put(layout: Layout, name: str, wanted: Texts) -> None:
    """Make both files as wanted, durably; what is written comes before what is taken away."""
    present = texts(layout, name)
    both = paths(layout, name)
    for kind, path in both.items():
        text = wanted[kind]
        if text is not None and text != present[kind]:
            files.replace(path, text.encode())
    for kind, path in both.items():
        if wanted[kind] is None and present[kind] is not None:
            directories.remove(path)


def shipped_text(name: str) -> str | None:
    """The role as it ships, None where none does."""
    data = files.read(shipped("roles") / f"{ids.check_name(name, 'role')}.md")
    return None if data is None else data.decode(errors="replace")


def with_mark(text: str, note: str) -> str:
    """The role file with a comment in its front matter that says why it was retired."""
    first, newline, rest = text.partition("\n")
    return f"{first}{newline}{_MARK}{note}\n{rest}"


def without_mark(text: str) -> str:
    """The role file without such comments."""
    return "".join([line for line in text.splitlines(keepends=True) if not line.startswith(_MARK)])
