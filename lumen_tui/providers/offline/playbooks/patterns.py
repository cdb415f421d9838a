"""A text to look for that an objective names without quotes, by the words around it."""

from __future__ import annotations

import re

import msgspec

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.offline.grammar import Asked
from lumen_tui.providers.offline.objective_parser import parameters
from lumen_tui.providers.offline.playbooks.search import REGEX_ONLY, SEARCH
from lumen_tui.providers.offline.vocabulary import COMMON, TURNING, words

_WORD = r"(?:word|string|text|phrase|term|pattern|regex|regexp|regular expression|exact text|literal|expression)"
_SAYS = (
    r"contain(?:s|ing)?|mention(?:s|ing|ed)?|match(?:es|ing)?|includ(?:e|es|ing)|say(?:s|ing)?|hold(?:s|ing)?"
    r"|ha(?:s|ve|ving)|referenc(?:e|es|ing)|with|without|lacking"
)
_SEARCH = (
    r"search(?: for)?|grep(?: for)?|look(?:ing)? for|occurrences? of|references? to|uses? of|usages? of|find"
    r"|find(?: all| every)?(?: the)?(?: lines?| places?| occurrences? of| uses? of| references? to)"
)
_STOP = (
    r"(?=\s+(?:in|under|within|inside|below|across|appear|appears|occur|occurs|is|are|show|there|anywhere|used|and tell"
    r"|ignoring|case|at all)\b|\s*[?!]|[.]?\s*$)"
)
_TERM = r"(?P<term>[^\s\"'?,;]{2,80}?)"
_ASKED = r"where|how often|how many times|files?|which files?"
_HELPER = r"is|are|does|do|was|were|did|use|uses|using|mention|do we|do i"
_SEEN = r"used|mentioned|called|referenced|appear|appears|occur|occurs|show up|found|come up"
_BARE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:{_SAYS}|{_SEARCH}) (?:(?:the|a|all) )?(?:{_WORD} )?{_TERM}{_STOP}",
        rf"\b(?:we|i|they|it|you|code) (?:use|call|mention|reference|refer to) {_TERM}{_STOP}",
        rf"\b(?:is|are) {_TERM} (?:used|mentioned|called|referenced|found)\b",
        rf"\b(?:{_ASKED}) (?:{_HELPER}) (?:call |use )?(?:the |a )?(?:{_WORD} )?{_TERM} *(?:{_SEEN}|in\b|{_STOP})",
    )
)
_PHRASE = lazy_re(
    rf"\b(?:search(?: for)?|grep(?: for)?|look for|match(?:es|ing)?|regex|regexp|pattern|regular expression) "
    rf"(?:the )?(?:{_WORD} )?(?P<term>\S.*?)(?=\s+(?:in|under|within|inside|below)\s*$|\s*$|\s*\?)",
    re.IGNORECASE,
)
_BOTH = lazy_re(
    r"\b(?:both|lines? (?:with|containing|that contain)|contain(?:s|ing)?)(?: both)? (?:the words? )?"
    r"(?P<first>[\w@#%+=.:-]{2,60}) and (?P<second>[\w@#%+=.:-]{2,60})",
    re.IGNORECASE,
)
_KIND = r"function|class|method|constant|variable"
_DEFINED = lazy_re(
    r"\b(?:where (?:is|are|was)|find where|definition of|where do(?:es)? (?:we|it))(?: the)?"
    rf"(?: (?:{_KIND}))? (?P<term>[\w$.]+)(?: (?:{_KIND}))?"
    r"(?P<defined> (?:is |get |gets |being )?(?:defined|declared|implemented))?"
    r"|\bdefines? (?:the )?(?:function |class |method )?(?P<that>[\w$]+)",
    re.IGNORECASE,
)
_IMPORTED = lazy_re(
    r"\b(?:import|imports|imported|importing) (?P<term>[\w.@/-]+)"
    r"|\b(?:is|are|where is|where are) (?P<that>[\w.@/-]+) imported",
    re.IGNORECASE,
)


def with_pattern(ask: Asked, now: float) -> Asked | None:
    """Return the objective with an unquoted text to look for taken out of its words; None where there is none.

    One word is taken for a text as it is; more of them only where they can be nothing but a regular expression.
    """
    if ask.quoted or ask.slashed:
        return None
    for taker in (_taken_both, _taken_definition, _taken_word, _taken_expression):
        if taken := taker(ask.raw):
            raw, quoted = taken
            return parameters(msgspec.structs.replace(ask, raw=raw, quoted=quoted), now)
    return None


def _taken_both(text: str) -> tuple[str, tuple[str, ...]] | None:
    match = _BOTH.search(text)
    if match and "both" not in match.group().lower() and (_ordinary(match["first"]) or _ordinary(match["second"])):
        return None
    return (_without(text, match) + " both", (match["first"], match["second"])) if match else None


def _taken_definition(text: str) -> tuple[str, tuple[str, ...]] | None:
    match = _DEFINED.search(text)
    kind = re.search(rf"\b(?:{_KIND})\b", match.group(), re.IGNORECASE) if match else None
    if match and (match["that"] or match["defined"] or (kind and "." not in match["term"])):
        return _without(text, match) + " defined", (match["term"] or match["that"],)
    match = _IMPORTED.search(text)
    term = (match["term"] or match["that"]) if match else ""
    if match and term.lower() not in COMMON:
        return _without(text, match) + " imported", (term.rstrip("."),)
    return None


def _taken_word(text: str) -> tuple[str, tuple[str, ...]] | None:
    commits = re.search(r"\bcommit(?:s|ted)?\b", text, re.IGNORECASE) is not None
    for pattern in _BARE:
        for match in pattern.finditer(text):
            term = match["term"].rstrip(".:")
            if term and not (term.lower() in COMMON if commits else _ordinary(term)):
                return text[: match.start("term")] + " " + text[match.start("term") + len(term) :], (term,)
    return None


def _ordinary(term: str) -> bool:
    """Whether a word is one of the language of questions rather than a text to look for."""
    plain = term.islower() and term.isalpha()
    return term.lower() in COMMON or (plain and (term in TURNING or term in SEARCH.knows or term in _MEANT_OTHERWISE))


_MEANT_OTHERWISE = words(
    "errors warnings commits duplicates todos fixmes size sizes changes changed modified owner permissions "
    "version port value column row rows content contents folders data functions classes methods comments code "
    "logs large small big old new recent empty broken open closed free used disk memory processes ports users "
    "problems failures exceptions"
)


def _taken_expression(text: str) -> tuple[str, tuple[str, ...]] | None:
    match = _PHRASE.search(text)
    if not match or not REGEX_ONLY.search(match["term"]):
        return None
    return _without(text, match) + " search", (match["term"].strip(),)


def _without(text: str, match: re.Match[str]) -> str:
    return text[: match.start()] + " " + text[match.end() :]
