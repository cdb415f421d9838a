"""The `mem:` spellings: the documented commands of the LumenFlow memory layer, told in the words of our own."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.actions import checks
from lumen_tui.cli.lumenflow.rows import NOTHING, ROWS
from lumen_tui.cli.lumenflow.spelling import ours, parser
from lumen_tui.cli.session import Session
from lumen_tui.storage.layout import Layout

_UPKEEP = ("mem:cleanup", "mem:index")
_FAMILIES = ("mem", "signal", "state", "agent", "wu", "lumenflow")


def spelled(words: list[str]) -> str:
    """The documented name at the beginning of the words, or nothing where they are ours."""
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
        from lumen_tui.cli.parser import Usage

        raise Usage(f"there is no command {words[0]!r}; the documented ones are known", checks.nearest(name, ROWS))
    return ""


def run(name: str, words: list[str], root: Path, operator: str) -> int:
    """Carry out a documented command; `words` are those behind its name."""
    from lumen_tui.cli.parser import build_parser

    row = ROWS[name]
    given = parser(name, row).parse_args(words)
    session = Session(_base(given.base_dir) if given.base_dir else root, operator)
    with _hushed(given.quiet, whole=name == "mem:init"):
        if row.run is not None:
            session.must_exist()
            return _code(name, row.run(session, given))
        told = ours(row, given)
        args = build_parser(told[0]).parse_args(told)
        if not args.without_state:
            session.must_exist()
        return _code(name, int(args.run(session, args) or 0))


def _code(name: str, code: int) -> int:
    """That there was nothing to do is as good an end as any, where the documentation has it run again and again."""
    return 0 if code == NOTHING and name in _UPKEEP else code


def _base(text: str) -> Path:
    """The state folder that a base folder means: itself, or the one below it."""
    folder = Path(text).expanduser().absolute()
    below = [folder / ".lumenflow", folder / "state"]
    for place in (folder, *below):
        if Layout(place).exists():
            return place
    return below[0] if below[0].is_dir() else folder


@contextlib.contextmanager
def _hushed(quiet: bool, *, whole: bool) -> Iterator[None]:
    """Without the words beside the result, with `whole` without the result too; errors come through."""
    with contextlib.ExitStack() as stack:
        if quiet:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        if quiet and whole:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        yield
