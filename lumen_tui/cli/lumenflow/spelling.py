"""Translation of a documented command into one of ours: the flags that it takes, and the words that they mean."""

from __future__ import annotations

import functools
import re
from argparse import Action, Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session
from lumen_tui.model import times
from lumen_tui.model.patterns import lazy_re

if TYPE_CHECKING:
    from lumen_tui.cli.parser import Parser


class Spelling(NamedTuple):
    """One documented command.

    `flags` are words such as `-n/--note`; the last name is ours, and says what it means and whether it takes a value.
    Where our command has no such option, `!` is after one that takes no value. `words` names what else it takes: one
    text (also after the flag of that name), or several with a `*`.
    """

    ours: tuple[str, ...]
    flags: str
    words: str = ""
    run: Callable[[Session, Namespace], int] | None = None  # where our command alone would not do


_TIMES = ("since", "ttl", "unread_ttl")  # written as the library `ms` reads them


_NOT_OURS = ("--base-dir", "--quiet")  # of every documented command, whatever ours has under the name


class Flag(NamedTuple):
    """One flag of a documented command: its names, and our option of the last name, where there is one."""

    names: list[str]
    own: Action | None
    takes_value: bool


@functools.cache
def _own_options(command: tuple[str, ...]) -> dict[str, Action]:
    """Return the options of our own command, by name."""
    from lumen_tui.cli.parser import build_parser

    declared = build_parser(command[0])
    for word in command:
        declared = declared.below().get(word, declared)
    return declared.options()


def _flags(row: Spelling) -> Iterator[Flag]:
    own_options = _own_options(row.ours)
    for word in row.flags.split():
        names = word.rstrip("!").split("/")
        own = own_options.get(names[-1]) if names[-1] not in _NOT_OURS else None
        yield Flag(names, own, own.nargs != 0 if own else not word.endswith("!"))


def parser(name: str, row: Spelling) -> Parser:
    """Return the parser of a documented command."""
    from lumen_tui.cli.parser import Parser

    command = Parser(
        prog=f"lumen-tui {name}", description=f"As documented; here it is `lumen-tui {' '.join(row.ours)}`."
    )
    command.set_defaults(base_dir="", quiet=False)
    for flag in _flags(row):
        text = flag.own.help if flag.own else None
        if flag.takes_value:
            command.add_argument(*flag.names, default=None, help=text)
        else:
            command.add_argument(*flag.names, action="store_true", help=text)
    if row.words:
        command.add_argument("words", nargs="*", metavar=row.words.rstrip("*"))
    return command


def text(options: Namespace, row: Spelling) -> list[str]:
    """Return the words without a flag, or the value of the flag that means the same. Raise ActionError for both."""
    words = list(getattr(options, "words", ()))
    named = getattr(options, row.words, None) if row.words else None
    if named is not None and words:
        raise ActionError(f"--{row.words} was given and {words[0]!r} as well: one of both")
    if len(words) > 1 and not row.words.endswith("*"):
        raise ActionError(f"one {row.words} is taken, and {words[1]!r} came behind it: put it in quotes")
    return [named] if named is not None else words


def ours(row: Spelling, options: Namespace) -> list[str]:
    """Return the words of our own command."""
    words = list(row.ours)
    for flag in _flags(row):
        name = flag.names[-1]
        key = name.lstrip("-").replace("-", "_")
        value = getattr(options, key)
        if value in (None, False) or key in ("base_dir", "quiet", row.words):
            continue
        words += [f"{name}={_time(value) if key in _TIMES else value}"] if flag.takes_value else [name]
    texts = text(options, row)
    return [*words, *(["--", *texts] if texts else [])]


_MS = lazy_re(r"(\d+(?:\.\d+)?)\s*([a-z]*)\Z", re.IGNORECASE)
_UNITS = (("ms", "ms"), ("mil", "ms"), ("s", "s"), ("mo", ""), ("m", "m"), ("h", "h"), ("d", "d"), ("w", "w"))
_MOMENT = 1e11  # milliseconds; a bare number above is a date and not an age


def _time(text: str) -> str:
    """Translate a time of the library `ms` (`2 hours`, or milliseconds since 1970) into our form."""
    match = _MS.match(text.strip())
    if not match:
        return text
    number = float(match[1])
    word = match[2].lower()
    if not word:  # an age without a unit is refused, as everywhere
        return times.iso(number / 1000) if number >= _MOMENT else text
    if word in ("y", "yr", "yrs", "year", "years"):
        return f"{number * 365.25}d"
    unit = next((ours for begin, ours in _UNITS if word.startswith(begin)), "")
    return f"{match[1]}{unit}" if unit else text


def run_own(session: Session, row: Spelling, options: Namespace) -> int:
    """Carry out our own command for a documented one; return the exit code."""
    from lumen_tui.cli.parser import build_parser

    words = ours(row, options)
    args = build_parser(words[0]).parse_args(words)
    return int(args.run(session, args) or 0)
