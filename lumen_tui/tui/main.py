"""Opening the room on a terminal: the state folder, the engine beside it, the application, and the way out."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.engine.launch import start_engine
from lumen_tui.storage import lease
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout, distrust
from lumen_tui.tui.patches.way_out import last_words

if TYPE_CHECKING:
    from lumen_tui.tui.app import LumenApp

# xterm's window operations 22 and 23: the terminal's title is ours while the room is open
_KEEP_TITLE, _TITLE_BACK = "\x1b[22;0t", "\x1b[23;0t"
# Seconds. The event loop gives its turn away whenever it looks for a key; at the usual 5 ms a thread that reads a large
# folder makes each of a hundred steps to the first screen so much longer.
_TURN = 0.0005
_SOON = 0.5  # seconds
_ASKED_FOR = "the room was opened with --read-only"


def run_room(root: Path, *, operator: str, read_only: bool, lean: bool, accessible: bool = False) -> int:
    """Run the room on the state folder `root` until it is left; returns the exit code.

    The caller has made sure that there is a terminal. What becomes of an engine that was started here is settled
    in the room, by `on_quit` of the configuration.
    """
    lean = not _takes_signs() or lean
    layout = Layout(root)
    engine = None if read_only else _start(layout)
    sys.setswitchinterval(_TURN)
    gc.disable()  # until all is read
    from lumen_tui.tui.patches.quick_textual import import_textual

    import_textual()
    from lumen_tui.engine.port import RemotePort
    from lumen_tui.tui.app import LumenApp

    port = RemotePort(root, operator, read_only=_ASKED_FOR if read_only else "")
    app = LumenApp(
        port,
        operator=operator,
        lean=lean,
        accessible=accessible,
        read_only=read_only,
        engine=engine,
        all_read=_collect_garbage,
    )
    sys.stdout.write(_KEEP_TITLE)
    return run_to_end(app)


def run_to_end(app: LumenApp) -> int:
    """Run the application until what was typed last is saved, or the operator waits no longer; return its exit code."""
    try:
        code = app.run()
    finally:
        last_words(_TITLE_BACK)
    _finish(app)
    return code if isinstance(code, int) else app.return_code or 0


def _finish(app: LumenApp) -> None:
    try:
        if app.finish(_SOON):
            last_words("lumen-tui: saving the last changes; interrupt it to leave without them\n")
        while app.finish(_SOON):
            pass
    except KeyboardInterrupt:
        last_words(f"lumen-tui: not saved: {app.finish(0)} changes\n")


def _collect_garbage() -> None:
    """Begin with what comes from here on: what is there stays, and walking it makes the slowest keys twice as slow."""
    gc.freeze()
    gc.enable()


def _takes_signs() -> bool:
    """Return whether the locale has the signs of frames; where not, what it lacks is sent as question marks."""
    try:
        "│─✓".encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        return False
    return True


def prepare(root: Path) -> str:
    """Make the state folder usable, with the operator's consent; returns why it is not, or the empty string."""
    layout = Layout(root)
    if not layout.exists():
        if not (layout.config.exists() or _consent(layout)):
            return f"there is no state folder at {root}"
        try:
            layout.create()
        except StoreError as error:
            return str(error)
    return distrust(root)


def _consent(layout: Layout) -> bool:
    try:
        answer = input(f"There is no state folder at {layout.root}. Create one there? [Y/n] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("", "y", "yes")


def _start(layout: Layout) -> subprocess.Popen[bytes] | None:
    """Start an engine where none is running. A folder that cannot be written has none."""
    if lease.is_held(layout):
        return None
    try:
        return start_engine(layout.root)
    except (StoreError, OSError):
        return None  # the room opens read-only and says why
