"""The gate in front of everything that is learnt. Rules only: what is judged, the evidence and the rules come in."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from lumen_tui.model import evolvedfiles, gatepatterns
from lumen_tui.model.evolution import TARGETS, Kind, Observation, Status, Trust
from lumen_tui.model.secrets.screen import MASKED
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


def judge(observation: Observation, evidence: str, rules: Rules) -> Verdict:
    """Judge one proposal. `evidence` is the text of the line that it names."""
    if wrong := (*_form(observation, evidence), *forbidden(observation, rules)):
        return Verdict(Status.REJECTED, wrong)
    if waits := _waits(observation):
        return Verdict(Status.PROPOSED, waits)
    return Verdict(Status.ACCEPTED)


def _form(observation: Observation, evidence: str) -> tuple[str, ...]:
    """Return what is missing: source, quote, shape, place."""
    problems = []
    if not observation.sources or any(not source.session or source.line < 1 for source in observation.sources):
        problems.append("no source: session and line are required")
    if not observation.quote.strip():
        problems.append("no quote")
    elif observation.quote not in evidence:
        problems.append("the quote does not stand in the line it names")
    if len(observation.quote) > MOST_QUOTE:
        problems.append(f"the quote has more than {MOST_QUOTE} characters")
    if len(observation.text.split()) < 2 or len(observation.text) > MOST_TEXT or "\n" in observation.text:
        problems.append(f"a statement is one line of 2 words to {MOST_TEXT} characters")
    if observation.target not in TARGETS:
        problems.append(f"{observation.target or 'no file'} is not one that evolution writes")
    if not 0 < observation.confidence <= 1:
        problems.append("the confidence is not between 0 and 1")
    return tuple(problems)


def forbidden(observation: Observation, rules: Rules) -> tuple[str, ...]:
    """Return why its words must not be learnt, whoever says them."""
    problems = []
    for text in (observation.text, observation.quote):
        if not is_safe(text):
            problems.append("invisible or acting characters")
        if rules.redact(text) != text or "[redacted]" in text or MASKED in text:
            problems.append("a secret")
        problems += gatepatterns.matches(text)
        flat = gatepatterns.flat(text)
        problems += [f"the constitution says never: {phrase}" for phrase in rules.never if phrase_in(phrase, flat)]
    return tuple(dict.fromkeys(problems))


def phrase_in(phrase: str, flat: str) -> bool:
    """Return whether the words of a phrase stand in a flattened text in this order; `*` is up to six words."""
    words = [r"(?:\S+ ){0,6}?" if word == "*" else re.escape(word) + " " for word in phrase.lower().split()]
    return re.search(r"(?<!\S)" + "".join(words), flat.rstrip(".!? ") + " ") is not None


def _waits(observation: Observation) -> tuple[str, ...]:
    """Return why a person has to decide."""
    reasons = []
    if observation.contradicts:
        reasons.append(f"it contradicts {observation.contradicts}")
    if observation.instructs and observation.trust is not Trust.PERSON:
        reasons.append(f"it tells what to do, and no person said it ({observation.trust})")
    elif observation.trust.rank < Trust.AGENT.rank and not (
        observation.kind is Kind.FACT and _FIXED.fullmatch(observation.text)
    ):
        reasons.append(f"it needs the word of a person: it comes from {_FROM[observation.trust]}")
    return tuple(reasons)


def judge_change(before: str, after: str, most_bytes: int) -> tuple[str, ...]:
    """Return why a file must not go from one text to the other; empty where it may."""
    problems = []
    if any(block not in after for block in evolvedfiles.locked(before)):
        problems.append("a locked section would change")
    old, new = evolvedfiles.entries(before), evolvedfiles.entries(after)
    lost = sum(1 for key in old if key not in new)
    if lost > MOST_LOST * len(old):
        problems.append(f"{lost} of {len(old)} earlier entries would be lost in one change")
    size = _size(after)
    if size > most_bytes and size > _size(before):
        problems.append(f"the file would have more than {most_bytes:,} bytes")
    return tuple(problems)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
