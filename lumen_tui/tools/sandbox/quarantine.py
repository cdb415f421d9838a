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
        self.made: list[str] = []

    def look(self) -> str:
        """Put aside what is there now; why the command must end, where it made the same again."""
        there = [path for path in self._absent if os.path.lexists(path)]
        there += [path for path, wanted in self._links if link_target(path) != wanted]
        if not there:
            return ""
        again = [path for path in there if path in self._seen]
        self._seen.update(there)
        for path in there:
            self.made += move_away(path, dict(self._links).get(path, ""))
        return f"it made again what other programs would run or obey: {one_line(again[0], 200)}" if again else ""


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
    new = f"{name}.aside-{secrets.token_hex(3)}"
    made = []
    try:
        with opening.folder(above) as fd:
            if os.path.lexists(path):
                os.rename(name, new, src_dir_fd=fd, dst_dir_fd=fd)
                made.append(os.path.join(above, new))
            if link:
                os.symlink(link, name, dir_fd=fd)
    except OSError:
        pass  # it went meanwhile, or the folder is closed to us as well
    return made


def report(context: Context, made: Iterable[str]) -> None:
    """For the record: what was put aside, by its new names."""
    for path in made:
        context.progress(f"put aside as {one_line(path, 300)}: other programs would run or obey it where it stood")
