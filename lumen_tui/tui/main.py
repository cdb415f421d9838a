"""Opening the room on a terminal: the state folder, the engine beside it, the application, and the way out."""

from __future__ import annotations

import sys
from pathlib import Path

from lumen_tui.engine.launch import start_engine
from lumen_tui.store import lease
from lumen_tui.store.files import StoreError
from lumen_tui.store.layout import Layout, distrust

NO_TERMINAL = 2  # exit code
STARTED_HERE = "here"


def run_room(root: Path, *, operator: str, read_only: bool, lean: bool) -> int:
    """Run the room on the state folder `root` until it is left; returns the exit code.

    Returns 2 at once where there is no terminal: the caller says what can be done without one.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return NO_TERMINAL
    layout = Layout(root)
    if not layout.exists() and not _offer_to_create(layout):
        return 1
    if why := distrust(root):
        print(f"lumen-tui: {why}", file=sys.stderr)  # noqa: T201 - the room is not up yet
        return 1
    note = STARTED_HERE if not read_only and _start(layout) else ""
    from lumen_tui.engine.port import RemotePort
    from lumen_tui.tui.app import LumenApp

    port = RemotePort(root, operator, read_only="this room was opened with --read-only" if read_only else "")
    app = LumenApp(port, operator=operator, lean=lean, read_only=read_only, engine_note=note)
    code = app.run()
    return code if isinstance(code, int) else app.return_code or 0


def _offer_to_create(layout: Layout) -> bool:
    """Make the state folder where the operator wants it; True where it is there afterwards."""
    if layout.root.is_dir() and layout.config.exists():
        layout.create()  # a seed is there: nothing to ask
        return True
    try:
        answer = input(f"There is no state folder at {layout.root}. Make one there? [Y/n] ")
    except (EOFError, KeyboardInterrupt):
        return False
    if answer.strip().lower() not in ("", "y", "yes"):
        return False
    try:
        layout.create()
    except StoreError as error:
        print(f"lumen-tui: {error}", file=sys.stderr)  # noqa: T201 - the room is not up yet
        return False
    return True


def _start(layout: Layout) -> bool:
    """Start an engine where none drives; True where this room did. A folder that cannot be written has none."""
    if lease.is_held(layout):
        return False
    try:
        start_engine(layout.root)
    except (StoreError, OSError):
        return False  # the room opens read-only and says why
    return True
