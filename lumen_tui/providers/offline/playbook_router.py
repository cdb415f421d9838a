"""Which playbook answers an objective: one that understands every word of it, or none.

A playbook names the words it needs and the words it knows. A single word that it does not know (delete, not,
except, why) means that the objective asks for something else, and then it does not answer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

import msgspec

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.offline.grammar import NoMatch, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.objective_parser import NOWHERE, ParsedObjective, SearchRoot, parse
from lumen_tui.providers.offline.periods import Period
from lumen_tui.providers.offline.playbooks import KINDS
from lumen_tui.providers.offline.playbooks.patterns import with_pattern
from lumen_tui.providers.offline.vocabulary import COMMON, TURNING, nearest

__all__ = ["CAN_ANSWER", "NoMatch", "PlaybookPlan", "SearchRoot", "choose", "reread", "synonym_fault"]

_HOW_TO = lazy_re(
    r"\bhow (?:do|can|could|would|should|to|might) (?:i|you|we|one|they|people)\b|\bhow to\b"
    r"|\b(?:script|function|program|code) (?:to|that|which)\b"
)
CAN_ANSWER = tuple(dict.fromkeys(kind.can for kind in KINDS))
_KNOWN = COMMON.union(TURNING, *(kind.knows for kind in KINDS), *(group for kind in KINDS for group in kind.needs))


def choose(
    objective: str, constraints: tuple[str, ...] = (), place: SearchRoot = NOWHERE, now: float = 0.0
) -> PlaybookPlan | NoMatch:
    """Return the plan for an objective, or why there is none. It never guesses."""
    if _HOW_TO.search(objective.lower()):
        return NoMatch("looks things up, and this asks how something is done")
    ask = _corrected(parse(objective, place, now))
    limit = _constraint_number(constraints)
    refusals: list[NoMatch] = []
    candidates = [candidate for candidate in (ask, with_pattern(ask, now)) if candidate is not None]
    for loose, candidate, kind in itertools.product((False, True), candidates, KINDS):
        plan = _plan(kind, candidate, place, limit, loose=loose)
        if isinstance(plan, PlaybookPlan):
            return plan
        refusals += [plan] if plan else []
    return (
        refusals[0]
        if refusals
        else NoMatch("has no playbook that understands every word of this objective" + _strange(ask))
    )


def synonym_fault(word: str, known: str) -> str:
    """Return why playbooks cannot read a word as one that they know, or empty."""
    if known not in _KNOWN - TURNING:
        return f"no playbook knows the word {known[:40]!r}"
    if word in _KNOWN:
        return f"playbooks know the word {word[:40]!r} already"
    return "" if re.fullmatch(r"[a-z]{3,30}", word) else f"{word[:40]!r} is no plain word"


def reread(objective: str, synonyms: Mapping[str, str]) -> str:
    """Return an objective with each word that stands for a known one replaced by it; paths and quotations stay."""
    good = {word: known for known, word in synonyms.items() if not synonym_fault(word, known)}
    if not good:
        return objective
    pattern = rf"(?<![\w/.'\"`-])(?:{'|'.join(map(re.escape, good))})(?![\w/.'\"`-])"
    return re.sub(pattern, lambda match: good[match.group().lower()], objective, flags=re.IGNORECASE)


def _corrected(ask: ParsedObjective) -> ParsedObjective:
    """Read words with one letter wrong as the known words that they are."""
    slips = {word: near for word in ask.words if word not in _KNOWN and (near := nearest(word, _KNOWN))}
    if not slips:
        return ask
    text = re.sub(r"[\w-]+", lambda match: slips.get(match.group().lower(), match.group()), ask.text)
    words = tuple(slips.get(word, word) for word in ask.words)
    return msgspec.structs.replace(ask, words=words, text=text, slips=tuple(slips.items()))


def _strange(ask: ParsedObjective) -> str:
    """Return which playbook comes nearest, and the words that stand in its way."""
    words = set(ask.words)
    near = [kind for kind in reversed(KINDS) if kind.needs and all(words & group for group in kind.needs)]
    kind = min(near, key=lambda kind: len(words - kind.knows - COMMON), default=None)
    known = kind.knows | COMMON if kind else _KNOWN - TURNING
    strange = [f"{word[:40]!r}" for word in dict.fromkeys(ask.words) if word not in known]
    if kind and strange:
        return f"; the nearest, {kind.name} ({kind.can}), does not know {', '.join(strange[:3])}"
    if kind:
        return f"; the nearest, {kind.name} ({kind.can}), takes its words, and not what they ask for together"
    return f" (none knows {', '.join(strange[:3])})" if strange else ""


def _plan(
    kind: PlaybookKind, ask: ParsedObjective, place: SearchRoot, limit: int, *, loose: bool
) -> PlaybookPlan | NoMatch | None:
    words = set(ask.words)
    if not all(words & group for group in kind.needs):
        return None
    strange = words - kind.knows - COMMON - _named_in_paths(ask)
    if strange and (not loose or "terms" not in kind.takes or strange & TURNING):
        return None
    if bool(strange) != loose:
        return None
    fields = kind.fields(ask)
    if fields is None:
        return None
    if refusal := _unplaced(kind, ask, place):
        return refusal
    return _with_parameters(kind, ask, place, limit, fields, _terms(ask, strange))


def _named_in_paths(ask: ParsedObjective) -> set[str]:
    """Return words that say again what a path says: `nginx errors in /var/log/nginx/error.log`."""
    parts = {part for path in ask.paths for part in re.split(r"[/._-]+", path.lower()) if len(part) > 2}
    return {word for word in ask.words if word in parts and word not in TURNING}


def _terms(ask: ParsedObjective, strange: set[str]) -> tuple[str, ...]:
    """Return the words that only the data can explain, as they were typed."""
    tokens = [token.strip(".'") for token in re.findall(r"[^\s,;:?!()\"`]+", ask.text)]
    return tuple(dict.fromkeys(token for token in tokens if token.lower() in strange))


def _unplaced(kind: PlaybookKind, ask: ParsedObjective, place: SearchRoot) -> NoMatch | None:
    """Return why the paths and parameters don't fit the playbook, if so."""
    if kind.which and not ask.paths:
        return NoMatch(f"needs to know {kind.which}: name it")
    if not ask.paths and not place.folder and not kind.anywhere:
        return NoMatch("needs to know where: name a folder or file with its whole path, such as /var/log")
    paths = 2 if "second" in kind.takes else 1
    if len(ask.paths) > paths:
        return NoMatch(
            f"takes {'one folder' if paths == 1 else 'two'} at a time, and this names {len(ask.paths)}: "
            + ", ".join(ask.paths)
        )
    given = {
        "quoted": len(ask.quoted) - ask.has("both"),
        "slashed": len(ask.slashed),
        "number": len(ask.numbers),
        "extension": len(ask.extensions),
        "period": len(ask.periods),
        "size": bool(ask.least or ask.most),
    }
    if "figure" in kind.takes:  # it tells for itself what its numbers are
        del given["number"]
    if any(count > (name in kind.takes) for name, count in given.items()):
        return NoMatch("cannot tell what all the numbers, kinds of file, texts or dates in this objective are for")
    return None


def _with_parameters(
    kind: PlaybookKind,
    ask: ParsedObjective,
    place: SearchRoot,
    limit: int,
    fields: dict[str, object],
    terms: tuple[str, ...],
) -> PlaybookPlan | NoMatch:
    number = ask.numbers[0] if ask.numbers and "figure" not in kind.takes else limit or kind.default(ask)
    if not 1 <= number <= 1000:
        return NoMatch(f"reports between 1 and 1000 entries, not {number}")
    plan = PlaybookPlan(
        playbook=kind.name,
        path=ask.paths[0] if ask.paths else place.folder,
        second=ask.paths[1] if len(ask.paths) > 1 else "",
        number=min(number, limit or number),
        days=ask.periods[0].newer if ask.periods else 0.0,
        name=f"*.{ask.extensions[0]}" if ask.extensions else "",
        terms=terms,
        least=ask.least,
        most=ask.most,
        period=ask.periods[0] if ask.periods else Period(),
    )
    return msgspec.structs.replace(plan, **fields)


def _constraint_number(constraints: tuple[str, ...]) -> int:
    for text in constraints:
        if match := re.search(r"\b(?:top|at most|no more than|first) (\d{1,4})\b(?! (?:step|call|tool))", text, re.I):
            return int(match.group(1))
    return 0
