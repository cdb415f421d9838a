"""Settings: lumen.toml (the operator's own, never rewritten) with operator.toml (changed by menus) layered over it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.storage import directories, files, frontmatter, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout

if TYPE_CHECKING:
    from lumen_tui.model.config import Config
    from lumen_tui.model.problem import Problem
    from lumen_tui.store.settings.layering import TomlTable


def load_config(layout: Layout) -> tuple[Config, list[Problem]]:
    """Return the settings in force, and the problems of the two files, named by file and line.

    A broken file or setting never stops the others, and never opens what it had closed.
    """
    from lumen_tui.store.settings import loading  # every setting there is: 5 ms for commands that ask for none

    return loading.load(layout)


def setting_files(layout: Layout) -> list[Path]:
    """Return the files and folders by whose state `load_config` may answer anew."""
    return [layout.config, layout.operator, layout.roles, layout.retired_roles]


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
