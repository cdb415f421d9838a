"""A room without an engine beside it, on the terminal it was given: `lumen_room.py STATE`."""

from __future__ import annotations

import sys
from pathlib import Path

from lumen_tui.engine.port import RemotePort
from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.main import run_to_end

if __name__ == "__main__":
    sys.exit(run_to_end(LumenApp(RemotePort(Path(sys.argv[1]), "me"), operator="me")))
