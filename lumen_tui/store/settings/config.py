"""Settings: lumen.toml (the operator's own, never rewritten) with operator.toml (changed by menus) layered over it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lumen_tui.model.problem import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files, frontmatter, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout

if TYPE_CHECKING:
    from lumen_tui.model.config import Config
    from lumen_tui.store.settings.layering import TomlTable

_SYSTEM = "/ /bin /boot /dev /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /var"
_NEVER = frozenset(_SYSTEM.split())


def grant(named: str, home: str, state: str) -> tuple[str, str]:
    """Return the real path of a folder to grant, and why it is refused, if so; `home` and `state` are real paths."""
    path = os.path.realpath(os.path.expanduser(named))
    if not os.path.isabs(os.path.expanduser(named)):
        return path, "not an absolute path"
    if path in _NEVER:
        return path, "too wide: name the folders in it that are meant"
    if _holds(path, home):
        return path, "too wide, as your home folder is in it: name the folders in it that are meant"
    if _holds(state, path):
        return path, "inside the state folder"
    if not os.path.isdir(path):
        return path, "not a folder" if os.path.lexists(path) else "there is no such folder"
    return path, ""


def refused_grants(layout: Layout, named: Iterable[str], where: str) -> list[Problem]:
    """Return problems for the folders that `where` grants and that no command gets."""
    problems = []
    for folder in dict.fromkeys(named):
        reason = grant(folder, os.path.realpath(os.path.expanduser("~")), os.path.realpath(layout.root))[1]
        if reason:
            message = f"writable names {one_line(folder, 200)}: {reason}"
            problems.append(Problem(where=where, what=message, hint="no command may write there until it is fixed"))
    return problems


def _holds(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder


def load_config(layout: Layout) -> tuple[Config, list[Problem]]:
    """Return the settings in force, and the problems of the two files, named by file and line.

    A broken file or setting never stops the others, and never opens what it had closed.
    """
    from lumen_tui.store.settings import loading  # every setting there is: 5 ms for commands that ask for none

    return loading.load(layout)


def change_operator(layout: Layout, changes: dict[str, object]) -> None:
    """Set dotted keys in operator.toml; a value of None removes the key. BadFile where the file is broken."""
    import tomli_w

    with locks.waiting_lock(layout.lock("operator")):
        text = (files.read(layout.operator) or b"").decode()
        table = frontmatter.parse_toml(text)
        for dotted, value in changes.items():
            _set(table, dotted.split("."), value)
        if table:
            files.replace(layout.operator, tomli_w.dumps(table).encode())
        else:
            directories.remove(layout.operator)


def _set(table: TomlTable, names: list[str], value: object) -> None:
    """Set the value below these names; None removes it, and the tables that are empty then."""
    first, *deeper = names
    if deeper:
        inner = table.setdefault(first, {})
        if not isinstance(inner, dict):
            raise BadFile(f"{first} is no table")
        _set(inner, deeper, value)
        if not inner:
            del table[first]
    elif value is None:
        table.pop(first, None)
    else:
        table[first] = value
