"""The gate in front of everything that is learnt. Rules only: what is judged, the evidence and the rules come in."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from lumen_tui.model import evolvedfiles, gatepatterns
from lumen_tui.model.evolution import TARGETS, Kind, Observation, Status, Trust
from lumen_tui.model.secrets.redaction import MASKED
from lumen_tui.model.text import is_safe

MOST_TEXT = 400  # characters of a statement
MOST_QUOTE = 600
MOST_LOST = 0.25  # share of a file's earlier entries that one change may take away
_FROM = {Trust.WORKER: "a worker", Trust.TOOL: "the output of a command", Trust.WEB: "the web"}
# The only shapes in which what a tool or a worker said is taken over without a person: names and numbers, no prose.
_SLOT = r"`?[A-Za-z][A-Za-z0-9_.+-]{0,30}`?"
_FIXED = re.compile(
    rf"(?:In `[\w.-]{{1,40}}`: )?{_SLOT} (?:is at version v?\d[\w.+-]{{0,20}}|listens on port \d{{2,5}})\.?"
)


class Rules(Struct, frozen=True):
    """What the gate needs to know beside the proposal."""

    never: tuple[str, ...] = ()  # the constitution's list
    redact: Callable[[str], str] = str  # takes secrets out; a text that it changes holds one


class Verdict(Struct, frozen=True):
    """Accepted, proposed or rejected, and why not accepted."""

    status: Status
    reasons: tuple[str, ...] = ()


def judge(one: Observation, evidence: str, rules: Rules) -> Verdict:
    """Judge one proposal. `evidence` is the text of the line that it names."""
    if wrong := (*_form(one, evidence), *forbidden(one, rules)):
        return Verdict(Status.REJECTED, wrong)
    if waits := _waits(one):
        return Verdict(Status.PROPOSED, waits)
    return Verdict(Status.ACCEPTED)


def _form(one: Observation, evidence: str) -> tuple[str, ...]:
    """What is missing: source, quote, shape, place."""
    found = []
    if not one.sources or any(not source.session or source.line < 1 for source in one.sources):
        found.append("no source: session and line are required")
    if not one.quote.strip():
        found.append("no quote")
    elif one.quote not in evidence:
        found.append("the quote does not stand in the line it names")
    if len(one.quote) > MOST_QUOTE:
        found.append(f"the quote has more than {MOST_QUOTE} characters")
    if len(one.text.split()) < 2 or len(one.text) > MOST_TEXT or "\n" in one.text:
        found.append(f"a statement is one line of 2 words to {MOST_TEXT} characters")
    if one.target not in TARGETS:
        found.append(f"{one.target or 'no file'} is not one that evolution writes")
    if not 0 < one.confidence <= 1:
        found.append("the confidence is not between 0 and 1")
    return tuple(found)


def forbidden(one: Observation, rules: Rules) -> tuple[str, ...]:
    """Why its words must not be learnt, whoever says them."""
    found = []
    for text in (one.text, one.quote):
        if not is_safe(text):
            found.append("invisible or acting characters")
        if rules.redact(text) != text or "[redacted]" in text or MASKED in text:
            found.append("a secret")
        found += gatepatterns.matches(text)
        flat = gatepatterns.flat(text)
        found += [f"the constitution says never: {phrase}" for phrase in rules.never if phrase_in(phrase, flat)]
    return tuple(dict.fromkeys(found))


def phrase_in(phrase: str, flat: str) -> bool:
    """Whether the words of a phrase stand in a flattened text in this order; `*` is up to six words."""
    words = [r"(?:\S+ ){0,6}?" if word == "*" else re.escape(word) + " " for word in phrase.lower().split()]
    return re.search(r"(?<!\S)" + "".join(words), flat.rstrip(".!? ") + " ") is not None


def _waits(one: Observation) -> tuple[str, ...]:
    """Why a person has to decide."""
    found = []
    if one.contradicts:
        found.append(f"it contradicts {one.contradicts}")
    if one.instructs and one.trust is not Trust.PERSON:
        found.append(f"it tells what to do, and no person said it ({one.trust})")
    elif one.trust.rank < Trust.AGENT.rank and not (one.kind is Kind.FACT and _FIXED.fullmatch(one.text)):
        found.append(f"it needs the word of a person: it comes from {_FROM[one.trust]}")
    return tuple(found)


def judge_change(before: str, after: str, most_bytes: int) -> tuple[str, ...]:
    """Why a file must not go from one text to the other; empty where it may."""
    found = []
    if any(block not in after for block in evolvedfiles.locked(before)):
        found.append("a locked section would change")
    old, new = evolvedfiles.entries(before), evolvedfiles.entries(after)
    lost = sum(1 for key in old if key not in new)
    if lost > MOST_LOST * len(old):
        found.append(f"{lost} of {len(old)} earlier entries would be lost in one change")
    size = _size(after)
    if size > most_bytes and size > _size(before):
        found.append(f"the file would have more than {most_bytes:,} bytes")
    return tuple(found)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
