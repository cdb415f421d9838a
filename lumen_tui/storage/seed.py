"""What a new state folder begins with: the settings, each with its default behind a `#`."""

from __future__ import annotations

import os
import re

from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped

_SET = re.compile(r"^(?=[^\s#\[])", re.MULTILINE)  # a line that sets something


def settings_text() -> str:
    """The commented settings. A checkout's seed may be somebody's own by now: what is set there is commented out."""
    return _SET.sub("# ", shipped("state/lumen.toml").read_text(encoding="utf-8"))


def plant(layout: Layout) -> bool:
    """Write lumen.toml where there is none, and nothing else; False where something stands there."""
    if os.path.lexists(layout.config):
        return False
    files.replace(layout.config, settings_text().encode())
    return True
