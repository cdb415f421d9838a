"""How a documented command becomes one of ours: the flags that it takes, and the words that they stand for."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session
from lumen_tui.model import times

if TYPE_CHECKING:
    from lumen_tui.cli.parser import Parser


class Spelling(NamedTuple):
    """`flags` are words such as `-n/--note`, with `!` behind one that takes no value; the last name is ours.

    `words` names what else it takes: one text (also behind the flag of that name), or several with a `*`.
    """

    ours: tuple[str, ...]
    flags: str
    words: str = ""
    run: Callable[[Session, Namespace], int] | None = None  # where our command alone would not do


_TIMES = ("since", "ttl", "unread_ttl")  # written as the library `ms` reads them


def _flags(row: Spelling) -> Iterator[tuple[list[str], bool]]:
    """The names of each flag, and whether it takes a value."""
    for word in row.flags.split():
        yield word.rstrip("!").split("/"), not word.endswith("!")


def parser(name: str, row: Spelling) -> Parser:
    from lumen_tui.cli.parser import Parser

    made = Parser(prog=f"lumen-tui {name}", description=f"As documented; here it is `lumen-tui {' '.join(row.ours)}`.")
    made.set_defaults(base_dir="", quiet=False)
    for names, takes in _flags(row):
        made.add_argument(*names, **({"default": None} if takes else {"action": "store_true"}))
    if row.words:
        made.add_argument("words", nargs="*", metavar=row.words.rstrip("*"))
    return made


def text(given: Namespace, row: Spelling) -> list[str]:
    """What stands without a flag, or behind the flag that means the same."""
    found = list(getattr(given, "words", ()))
    behind = getattr(given, row.words, None) if row.words else None
    if behind is not None and found:
        raise ActionError(f"--{row.words} was given and {found[0]!r} as well: one of both")
    if len(found) > 1 and not row.words.endswith("*"):
        raise ActionError(f"one {row.words} is taken, and {found[1]!r} came behind it: put it in quotes")
    return [behind] if behind is not None else found


def ours(row: Spelling, given: Namespace) -> list[str]:
    """The words of our own command."""
    made = list(row.ours)
    for names, takes in _flags(row):
        key = names[-1].lstrip("-").replace("-", "_")
        value = getattr(given, key)
        if value in (None, False) or key in ("base_dir", "quiet", row.words):
            continue
        made += [f"{names[-1]}={_time(value) if key in _TIMES else value}"] if takes else [names[-1]]
    said = text(given, row)
    return [*made, *(["--", *said] if said else [])]


_MS = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\Z", re.IGNORECASE)
_UNITS = (("ms", "ms"), ("mil", "ms"), ("s", "s"), ("mo", ""), ("m", "m"), ("h", "h"), ("d", "d"), ("w", "w"))
_MOMENT = 1e11  # milliseconds; a bare number above is a date and not an age


def _time(text: str) -> str:
    """A time as the library `ms` writes it (`2 hours`, or milliseconds since 1970) in our words."""
    found = _MS.match(text.strip())
    if not found:
        return text
    number, word = float(found[1]), found[2].lower()
    if not word:  # an age without a unit is refused, as everywhere
        return times.iso(number / 1000) if number >= _MOMENT else text
    if word in ("y", "yr", "yrs", "year", "years"):
        return f"{number * 365.25}d"
    unit = next((ours for begin, ours in _UNITS if word.startswith(begin)), "")
    return f"{found[1]}{unit}" if unit else text


def plainly(session: Session, row: Spelling, given: Namespace) -> int:
    from lumen_tui.cli.parser import build_parser

    words = ours(row, given)
    args = build_parser(words[0]).parse_args(words)
    return int(args.run(session, args) or 0)
