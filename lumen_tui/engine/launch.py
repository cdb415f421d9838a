"""Starting an engine as its own process in its own session: it outlives the room that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout


def start_engine(root: Path) -> subprocess.Popen[bytes]:
    """Start an engine on `root`; what it says goes to engine.log. Where one is running, this one ends at once."""
    log = files.open_append(Layout(root).engine_log)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "lumen_tui", "--engine-only", "--state", str(root)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
