"""What a command makes where other programs would run or obey it is put aside while it runs, and again at its end."""

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
    """Watches names that have to stay away, and links that have to lead where they do. `made` holds the new names."""

    def __init__(self, absent: tuple[str, ...] = (), links: tuple[tuple[str, str], ...] = ()) -> None:
        self._absent, self._links = absent, links
        self._seen: set[str] = set()
        self.moved: list[str] = []

    def look(self) -> str:
        """Put aside what is there now; why the command must end, where it made the same again."""
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
    """Where a link leads, as it stands in it; empty where it is none."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def move_away(path: str, link: str) -> list[str]:
    """Rename what is there; its new name. Nothing is lost, and nothing runs it. Where `link` is given, one that leads
    there takes its place."""
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
        pass  # it went meanwhile, or the folder is closed to us as well
    return moved


def report(context: Context, moved: Iterable[str]) -> None:
    """For the record: what was put aside, by its new names."""
    for path in moved:
        context.progress(f"put aside as {one_line(path, 300)}: other programs would run or obey it where it stood")
