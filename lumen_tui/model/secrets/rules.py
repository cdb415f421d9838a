"""The table made usable: templates turned into patterns, each compiled when a text first holds its keyword."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from lumen_tui.model.secrets.assigned import ASSIGNED
from lumen_tui.model.secrets.tokens import TOKENS

ALPHABETS = {
    "d": "0-9", "h": "0-9a-f", "H": "0-9A-Fa-f", "l": "a-z0-9", "U": "A-Z0-9", "a": "A-Za-z0-9", "w": "A-Za-z0-9_",
    "-": "A-Za-z0-9_-", "b": "A-Za-z0-9+/=", "B": "A-Z2-7", ".": "A-Za-z0-9_.~-",
    "%": "A-Za-z0-9%",
}  # fmt: skip
UUID = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# A token begins where no word goes on: behind an escape or a percent code of other text one may begin as well.
BEGINS = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"
_RUN = re.compile(r"\{(?:(u)|([dhHlUaw\-bB.%])(=?)(\d+)(?:,(\d+))?)\}")
_WEAK = 3  # characters of a beginning that other words share


class Rule(NamedTuple):
    """One form of a token."""

    name: str
    keyword: str  # what a text must hold for it
    template: str

    @property
    def weak(self) -> bool:
        """Whether its beginning is so short that what follows must look random."""
        return len(self.template.partition("{")[0]) <= _WEAK


class Named(NamedTuple):
    """One form of a value behind a name."""

    name: str
    words: tuple[str, ...]  # one of which the name holds
    form: re.Pattern[str]


def _run(match: re.Match[str]) -> str:
    uuid, alphabet, exact, least, most = match.groups()
    if uuid:
        return UUID
    letters = ALPHABETS[alphabet]
    if most or least == "1":
        return f"[{letters}]{{{least},{most or least}}}"
    ends = f"(?![{letters}])" if exact and match.end() == len(match.string) else ""
    return f"[{letters}]{{{least}}}{ends}" if exact else f"[{letters}]{{{least},}}"


def pattern(template: str) -> str:
    """Return the regular expression of a template."""
    parts, end = [], 0
    for match in _RUN.finditer(template):
        parts += [re.escape(template[end : match.start()]), _run(match)]
        end = match.end()
    return "".join((*parts, re.escape(template[end:])))


@lru_cache(None)
def token_rules() -> tuple[Rule, ...]:
    """Return the rules of `TOKENS`."""
    rows = (line.split() for line in TOKENS.strip().splitlines())
    return tuple(Rule(row[0], row[2] if len(row) > 2 else row[1].partition("{")[0], row[1]) for row in rows)


@lru_cache(None)
def compiled(rule: Rule) -> re.Pattern[str]:
    """Return where a token of this rule stands."""
    return re.compile(BEGINS + pattern(rule.template))


@lru_cache(None)
def named_rules() -> tuple[Named, ...]:
    """Return the rules of `ASSIGNED`."""
    rules = []
    for line in ASSIGNED.strip().splitlines():
        name, words, *forms = line.split()
        shapes = "|".join(UUID if form == "u" else f"[{ALPHABETS[form[0]]}]{{{form[1:]}}}" for form in forms)
        rules.append(Named(name, tuple(words.split(",")), re.compile(shapes, re.IGNORECASE)))
    return tuple(rules)
