"""What two short statements have in common, whatever their wording: the words that carry meaning, a no, figures."""

from __future__ import annotations

import re

from lumen_tui.model.patterns import lazy_re

_NEGATION = lazy_re(r"\b(never|not|no|don't|dont|doesn't|without|avoid|stop|isn't|aren't|won't|can't|cannot)\b", re.I)
_NO = lazy_re(r"^no[,.!:] ", re.I)
_WORDS = lazy_re(r"[a-z0-9][a-z0-9._/+-]*", re.I)
_FILLERS = "a an the please to of is are be and or that this it we you i always never do not don't"
_EMPTY = frozenset(_FILLERS.split())
_FIGURES = lazy_re(r"\d+(?:\.\d+)*")


def normal(text: str) -> str:
    """Return the words that carry meaning, for comparing: lower case, without fillers and negations."""
    return " ".join(word for raw in _WORDS.findall(text) if (word := raw.lower().strip("./-")) not in _EMPTY and word)


def negative(text: str) -> bool:
    """Return whether it says not to; a "No," before it does not turn it round."""
    return len(_NEGATION.findall(_NO.sub("", text))) % 2 == 1


def figures(text: str) -> tuple[str, ...]:
    """Return the numbers in it: statements that differ in one are never the same."""
    return tuple(_FIGURES.findall(text))
