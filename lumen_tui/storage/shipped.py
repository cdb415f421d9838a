"""Files that come with the program, and the settings of a new state folder that are made from one of them."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from lumen_tui.model.patterns import lazy_re
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout

_SETTING = lazy_re(r"^(?=[^\s#\[])", re.MULTILINE)  # a line that sets something


@cache  # the room calls this at every refresh
def shipped(name: str) -> Path:
    """Return the folder or file of that name: `roles`, `styles`, `state/lumen.toml`.

    They are inside the package in a wheel and beside it in a checkout. The path comes from this module's own:
    `importlib.resources` would cost every start 3 ms, and the program never runs from a zip.
    """
    package = Path(__file__).resolve().parents[1]
    inside = package / "shipped" / name
    return inside if inside.exists() else package.parent / name


def read_shipped(path: Path) -> bytes | None:
    """Return the content of a file that comes with the program; None where there is none.

    It is of whoever installed the program, and may be shared: uv links what it installs to its cache.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def settings_text() -> str:
    """Return the commented settings. What somebody set in the seed of a checkout is commented out."""
    return _SETTING.sub("# ", shipped("state/lumen.toml").read_text(encoding="utf-8"))


def write_settings(layout: Layout) -> bool:
    """Write lumen.toml where there is none; return whether it was written."""
    if os.path.lexists(layout.config):
        return False
    files.replace(layout.config, settings_text().encode())
    return True
