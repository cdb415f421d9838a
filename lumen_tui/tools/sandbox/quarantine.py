"""Quarantine: files that a command creates where other programs would run or obey them are renamed at once."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lumen_tui.model.text import one_line
from lumen_tui.tools.files import opening

if TYPE_CHECKING:
    from lumen_tui.tools.base import Context


class Quarantine:
    """Watches paths that must stay absent and links that must keep their target. `moved` holds the new paths."""

    def __init__(self, absent: tuple[str, ...] = (), links: tuple[tuple[str, str], ...] = ()) -> None:
        self._absent = absent
        self._links = links
        self._seen: set[str] = set()
        self.moved: list[str] = []

    def check(self) -> str:
        """Move away what appeared; return why the command must end where it made the same path again."""
        appeared = [path for path in self._absent if os.path.lexists(path)]
        appeared += [path for path, target in self._links if link_target(path) != target]
        if not appeared:
            return ""
        repeated = [path for path in appeared if path in self._seen]
        self._seen.update(appeared)
        for path in appeared:
            self.moved += move_away(path, dict(self._links).get(path, ""))
        return f"it made again what other programs would run or obey: {one_line(repeated[0], 200)}" if repeated else ""


def link_target(path: str) -> str:
    """Return the target of a link as it is written; empty where the path is no link."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def move_away(path: str, link: str) -> list[str]:
    """Rename what is at `path` and return the new path, if any; where `link` is given, put a link to it in its place.

    Nothing is lost, and nothing runs it under the new name.
    """
    above, name = os.path.split(path)
    new_name = f"{name}.aside-{secrets.token_hex(3)}"
    moved = []
    try:
        with opening.folder(above) as fd:
            if os.path.lexists(path):
                os.rename(name, new_name, src_dir_fd=fd, dst_dir_fd=fd)
                moved.append(os.path.join(above, new_name))
            if link:
                os.symlink(link, name, dir_fd=fd)
    except OSError:
        pass  # it is gone, or the folder is closed to us as well
    return moved


def report(context: Context, moved: Iterable[str]) -> None:
    """Report each moved file as progress of the task."""
    for path in moved:
        context.progress(f"put aside as {one_line(path, 300)}: other programs would run or obey it where it stood")
