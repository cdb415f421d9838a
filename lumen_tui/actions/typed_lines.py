"""The lines that an operator typed into rooms, the oldest first: `sessions/operators/<name>.lines`, text as it is."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from lumen_tui.model.text import one_line
from lumen_tui.queries.digest import visit_path
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean

_KEPT = 200  # lines
_LONGEST = 2000  # cells of one
_FULL = 256 * 1024  # bytes from which the file is cut to the newest lines
_MOST = 4 * _FULL


def _path(layout: Layout, operator: str) -> Path:
    return visit_path(layout, operator).with_suffix(".lines")


def typed_lines(layout: Layout, operator: str) -> Sequence[str]:
    """Return the newest lines, the newest last, each once; none where they cannot be read."""
    try:
        data = files.read(_path(layout, operator), _MOST) or b""
    except (files.StoreError, OSError):
        return ()
    lines = [one_line(line, _LONGEST) for line in data.decode(errors="replace").splitlines() if line.strip()]
    return tuple(reversed(dict.fromkeys(reversed(lines))))[-_KEPT:]


def keep_line(layout: Layout, operator: str, line: str) -> None:
    """Keep one line, with secrets masked. Nothing is kept where the folder cannot be written: the line was run."""
    path = _path(layout, operator)
    with contextlib.suppress(files.StoreError, OSError):
        if not layout.exists():
            return
        directories.make_folder(path.parent)
        size = files.append(path, clean(one_line(line, _LONGEST)).encode(errors="replace") + b"\n", durable=False)
        if size > _FULL:
            files.replace(path, "".join(f"{each}\n" for each in typed_lines(layout, operator)).encode())
