"""What a new state folder begins with: the settings, each with its default behind a `#`."""

from __future__ import annotations

import os
import re
from importlib import resources
from pathlib import Path

from lumen_tui.store import files
from lumen_tui.store.layout import Layout

_SET = re.compile(r"^(?=[^\s#\[])", re.MULTILINE)  # a line that sets something


def settings_text() -> str:
    """The commented settings. A checkout's seed may be somebody's own by now: what is set there is commented out."""
    package = Path(str(resources.files("lumen_tui")))
    inside = package / "shipped" / "state" / "lumen.toml"
    path = inside if inside.exists() else package.parent / "state" / "lumen.toml"
    return _SET.sub("# ", path.read_text(encoding="utf-8"))


def plant(layout: Layout) -> bool:
    """Write lumen.toml where there is none, and nothing else; False where something stands there."""
    if os.path.lexists(layout.config):
        return False
    files.replace(layout.config, settings_text().encode())
    return True
