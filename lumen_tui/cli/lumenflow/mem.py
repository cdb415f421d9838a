"""The `mem:` spellings: the documented commands of the LumenFlow memory layer, carried out by our own commands."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.actions import refusal
from lumen_tui.cli.lumenflow.rows import NOTHING, ROWS
from lumen_tui.cli.lumenflow.spelling import ours, parser
from lumen_tui.cli.session import Session
from lumen_tui.storage.layout import Layout

_UPKEEP = ("mem:cleanup", "mem:index")
_FAMILIES = ("mem", "signal", "state", "agent", "wu", "lumenflow")


def spelled(words: list[str]) -> str:
    """Return the documented name at the beginning of the words, or the empty string where they are ours."""
    if not words or (words[0] == "signal-cleanup" and {"-h", "--help"} & set(words)):
        return ""  # that one is ours as well
    name = (
        words[0].replace("-", ":", 1) if words[0].startswith(tuple(f"{family}-" for family in _FAMILIES)) else words[0]
    )
    if " ".join(words[:2]) in ROWS:
        return " ".join(words[:2])
    if name in ROWS:
        return name
    if name.startswith(tuple(f"{family}:" for family in _FAMILIES)):
        from lumen_tui.cli.parser import UsageError

        raise UsageError(
            f"there is no command {words[0]!r}; the documented ones are known", refusal.nearest(name, ROWS)
        )
    return ""


def run(name: str, words: list[str], root: Path, operator: str) -> int:
    """Carry out a documented command with the `words` after its name; return the exit code."""
    from lumen_tui.cli.parser import build_parser

    row = ROWS[name]
    options = parser(name, row).parse_args(words)
    session = Session(_base(options.base_dir) if options.base_dir else root, operator)
    with _hushed(options.quiet, whole=name == "mem:init"):
        if row.run is not None:
            session.must_exist()
            return _code(name, row.run(session, options))
        command = ours(row, options)
        args = build_parser(command[0]).parse_args(command)
        if not args.without_state:
            session.must_exist()
        return _code(name, int(args.run(session, args) or 0))


def _code(name: str, code: int) -> int:
    """Return 0 for `nothing to do` of a command that the documentation has run periodically."""
    return 0 if code == NOTHING and name in _UPKEEP else code


def _base(text: str) -> Path:
    """Return the state folder that a base folder means: itself, or the one below it."""
    folder = Path(text).expanduser().absolute()
    below = [folder / ".lumenflow", folder / "state"]
    for place in (folder, *below):
        if Layout(place).exists():
            return place
    return below[0] if below[0].is_dir() else folder


@contextlib.contextmanager
def _hushed(quiet: bool, *, whole: bool) -> Iterator[None]:
    """Suppress standard error where `quiet`, with `whole` the result too; errors are still raised."""
    with contextlib.ExitStack() as stack:
        if quiet:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        if quiet and whole:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        yield
