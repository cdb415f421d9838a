"""The engine, the room or one task, by the options of `lumen-tui`; hot verbs and commands never load this."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path
    from types import SimpleNamespace

    Options = argparse.Namespace | SimpleNamespace

NO_TERMINAL = (
    "the room needs a terminal; without one use `lumen-tui --engine-only` to drive the agent "
    'or `lumen-tui run "OBJECTIVE"` for one task.'
)
CANNOT_PLACE_TEXT = (
    "TERM={} names a terminal that cannot place text, and the room needs one that can: set TERM to what it is, such as "
    "TERM=xterm-256color, or use `lumen-tui status` and the other commands (`lumen-tui help` lists them)."
)


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that the room, the engine and `run` share."""
    parser.add_argument("--state", metavar="DIR", help="the state folder ($LUMEN_STATE, ./state in a checkout)")
    parser.add_argument("--operator", default="", help="who you are in receipts and journals (your login name)")


def _state(options: Options) -> Path:
    from pathlib import Path

    from lumen_tui.storage.layout import default_root, from_home

    if options.state:
        return from_home(options.state).absolute()
    return default_root(dict(os.environ), Path.cwd()).absolute()


def _operator(options: Options) -> str:
    from lumen_tui.storage.origin import operator_name

    return str(options.operator or operator_name(os.environ))


def room_or_engine(words: list[str]) -> int:
    """Drive the agent without a room where that is asked for, or where there is no terminal; else open the room."""
    if "--engine-only" in words or _no_terminal():
        return _by_options(words)
    from lumen_tui.tui.patches.way_out import way_out

    try:
        way_out.prepare()
        _paint_early(words)
        code = _by_options(words)
    except BaseException:  # the first paint may be on the screen
        way_out.give_back(screen=True)
        raise
    way_out.give_back(screen=False)
    return code


_SWITCHES = {"--read-only": "read_only", "--lean": "lean", "--accessible": "accessible", "--demo": "demo"}


def _room_options(words: list[str]) -> SimpleNamespace | None:
    """Return the options of a room in plain words; None where argparse is to look at them, which takes 6 ms to load."""
    from types import SimpleNamespace

    options: dict[str, object] = {"state": None, "operator": "", "engine_only": False, "version": False}
    options |= dict.fromkeys(_SWITCHES.values(), False)
    rest = iter(words)
    for word in rest:
        if word in _SWITCHES:
            options[_SWITCHES[word]] = True
        elif word in ("--state", "--operator") and not (value := next(rest, "-")).startswith("-"):
            options[word[2:]] = value
        else:
            return None
    return SimpleNamespace(**options)


def _by_options(words: list[str]) -> int:
    options = _room_options(words) or _parser().parse_args(words)
    if options.version:
        from lumen_tui import __version__

        print(f"lumen-tui {__version__}")
        return 0
    return _engine(options) if options.engine_only else _room(options)


def _parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="lumen-tui",
        description="The control room of a persistent autonomous agent.",
        epilog="State commands: lumen-tui VERB --help; `lumen-tui help` lists them.",
        allow_abbrev=False,
    )
    _add_common(parser)
    parser.add_argument("--engine-only", action="store_true", help="drive the agent without a room")
    parser.add_argument("--once", action="store_true", help="with --engine-only: one beat")
    parser.add_argument("--beats", type=int, default=0, metavar="N", help="with --engine-only: N beats")
    parser.add_argument("--log-format", choices=("text", "jsonl"), default="text", help="with --engine-only")
    parser.add_argument("--read-only", action="store_true", help="look, change nothing")
    parser.add_argument("--lean", action="store_true", help="few bytes: no colour, ASCII shapes")
    parser.add_argument("--accessible", action="store_true", help="to be read aloud: one column, states in words")
    parser.add_argument(
        "--demo", action="store_true", help="two weeks of recorded work in a throw-away folder, with live workers"
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    return parser


def _engine(options: Options) -> int:
    gc.disable()  # importing makes nothing that could be collected: an eighth of the start
    from lumen_tui.model.quick_imports import import_basics

    import_basics()
    from lumen_tui import crashes
    from lumen_tui.headless.engine_only import run_engine

    crashes.watch_threads()
    return run_engine(_state(options), beats=1 if options.once else options.beats, log_format=options.log_format)


def _room(options: Options) -> int:
    if problem := _no_terminal():
        print(f"lumen-tui: {problem}", file=sys.stderr)
        return 2
    gc.disable()  # importing makes nothing that could be collected
    from lumen_tui.model.quick_imports import import_basics

    import_basics()
    if options.demo:
        return _demo(options)
    root = _state(options)
    if problem := _room_problem(root):
        return _refuse(problem)
    return _open(root, options)


def _refuse(reason: str) -> int:
    from lumen_tui.tui.patches.way_out import way_out

    way_out.give_back(screen=True)  # the first paint may be on the screen
    print(f"lumen-tui: {reason}", file=sys.stderr)
    return 1


def _open(root: Path, options: Options) -> int:
    from lumen_tui import crashes
    from lumen_tui.tui.main import run_room
    from lumen_tui.tui.patches.way_out import way_out

    crashes.watch_threads()
    way_out.prepare()  # the filling of a demo had signals of its own
    return run_room(
        root,
        operator=_operator(options),
        read_only=options.read_only,
        lean=options.lean,
        accessible=options.accessible or _set_accessible(root),
    )


def _set_accessible(root: Path) -> bool:
    """Return whether the settings ask for it; they are read only where they speak of it, for a quick start."""
    from lumen_tui.storage import files
    from lumen_tui.storage.layout import Layout

    layout = Layout(root)
    try:
        settings = (files.read(layout.config) or b"") + b"\n" + (files.read(layout.operator) or b"")
    except (files.StoreError, OSError):
        return False
    if not any(line.lstrip().startswith(b"accessible") for line in settings.splitlines()):
        return False
    from lumen_tui.store.settings.config import load_config

    return load_config(layout)[0].room.accessible


def _room_problem(root: Path) -> str:
    """Return why there can be no room on this folder, or the empty string."""
    from lumen_tui.storage.files import StoreError
    from lumen_tui.tui.main import prepare

    try:
        return prepare(root)
    except StoreError as error:
        return str(error)


def _demo(options: Options) -> int:
    from lumen_tui.headless import demo

    gc.enable()  # it is filled for seconds
    root = demo.make_folder()
    with demo.Sitter(root) as sitter:
        _fill_interruptibly(lambda: demo.fill(root, sitter.model()))
        code = _open(root, options)
    if code == 0 and (remains := sitter.left_over()):  # after a signal nobody reads it
        print(f"lumen-tui: {remains}", file=sys.stderr)
    return code


def _fill_interruptibly(fill: Callable[[], None]) -> None:
    """Fill the demo; end at once on INT, where `asyncio.run` would wait for its threads."""
    import signal

    from lumen_tui.tui.patches.way_out import way_out

    def leave(number: int, _frame: object) -> None:
        os.write(2, b"lumen-tui: stopped while the demo was being filled; what was made is being removed\n")
        way_out.leave(128 + number)

    signal.signal(signal.SIGINT, leave)
    fill()


def _no_terminal() -> str:
    """Return why no room can be drawn here, or the empty string."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return NO_TERMINAL
    kind = os.environ.get("TERM", "")
    return CANNOT_PLACE_TEXT.format(kind) if kind.lower() in ("dumb", "unknown") else ""


def _paint_early(words: list[str]) -> None:
    """Show the last screen at once where the room is going to open on an existing folder."""
    options = _room_options(words)
    if options is None or options.accessible or options.demo:
        return
    root = os.path.expanduser(options.state or os.environ.get("LUMEN_STATE") or "state")
    if os.path.isdir(os.path.join(root, "memory")):
        from lumen_tui.tui import first_paint

        first_paint.show(root, lean=options.lean)


def run_task(words: list[str]) -> int:
    """Run the one task of `lumen-tui run`."""
    import argparse

    from lumen_tui.cli.main import BAD_INPUT, refuse
    from lumen_tui.cli.parser import Parser, UsageError, request_of
    from lumen_tui.headless import runs
    from lumen_tui.model.requests.tasks import NewTask

    parser = Parser(prog="lumen-tui run", description="Run one task to its end and print its result.")
    _add_common(parser)
    parser.add_argument("run", help=argparse.SUPPRESS)
    parser.fields(NewTask, "objective", "role", "model", "constraints", "timeout_seconds", "folder")
    parser.fields(NewTask, "host", "resources")
    try:
        options = parser.parse_args(words)
    except UsageError as error:
        return refuse(str(error), error.candidates, BAD_INPUT)
    options.folder = os.path.abspath(options.folder)
    return runs.run_task(_state(options), _operator(options), request_of(NewTask, options))
