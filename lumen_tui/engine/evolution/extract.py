"""From the entries of a session to candidates: offline, the same every time, in one pass.

A candidate is sure, or it says why it is not, and then a person is asked. What a person said is learnt word for word.
`outcomes` learns from commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.engine.evolution import outcomes
from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.model import evolution_words
from lumen_tui.model.evolution import (
    DOMAIN,
    PATTERNS,
    PERSONA,
    TOOLS,
    CallOutcome,
    ExtractionState,
    ObservationKind,
    PendingCall,
    SessionEntry,
    Trust,
)
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line

_NAME = r"`?[A-Za-z][\w.+@/-]{0,40}`?"
_ASKED = lazy_re(
    r"\?|^(?:if|should|could|can|would|shall|may|maybe|perhaps|what|why|how|is|are|do|does|did|when|where|which|who)\b"
    r"(?!n't)(?! not\b)",
    re.I,
)
_POINTS = lazy_re(r"\b(?:this|that|these|those|it|its|them|they|he|she|there|same|again|now)\b", re.I)
_PLACE = lazy_re(
    r"\b(?:in|for|of|within) (?:this|the|our|my) (?:repo|repository|project|codebase|code base)\b|\bfrom now on\b", re.I
)
_STANDING = lazy_re(
    r"^(?:please,? |and |also,? |we )*(?:always|never) (?P<verb>[a-z]+) \S+"
    r"|^(?:from now on|going forward|in (?:the )?future),? "
    r"(?:(?:please|always|never|do not|don't) )*(?P<then>[a-z]+) \S+"
    r"|^(?:(?:please|do not|don't) )*(?P<done>[a-z]+) .+ from now on[.!]?$",
    re.I,
)
_OF_THE_PRODUCT = lazy_re(
    r"\b(?:users?|shows?|displays?|renders?|appears?|returns?|visible|screen|pages?|buttons?)\b", re.I
)
_AGREED = lazy_re(r"^(?:(?:we|i)(?:'ve| have)? (?:now )?(?:decided|agreed|settled|chosen)|decision:) \S+ \S+", re.I)
_NUMBERED = lazy_re(r"\b(?:option|approach|variant|version|plan|step|item|phase|part|number|point) \w{1,2}\b", re.I)
_DECISION = lazy_re(
    rf"{_AGREED.pattern}|^it was decided\b|\bthe decision is\b"
    r"|^(?:ok(?:ay)?,? |yes,? |so,? )?(?:let's|let us|we(?:'ll| will)) "
    r"(?:use|go with|keep|stick|stay|switch|move|drop)\b",
    re.I,
)
_CHOICE = lazy_re(
    rf"\b(?:use|using|prefer|go with|take|choose|pick|want|switch to)\s+(?P<new>{_NAME})(?P<what>(?: \w+){{0,2}}?),?\s+"
    rf"(?:instead of|rather than|over|and not|not)\s+(?P<old>{_NAME})",
    re.I,
)
_CHOSEN = lazy_re(rf"^(?:(?:please|ok(?:ay)?|yes|no|and|also),? |(?:let's|let us) )*{_CHOICE.pattern[2:]}", re.I)
_TOLD = lazy_re(
    r"\b(?:always|never|(?:from now on|going forward|in (?:the )?future),?(?: please| always| never| do not| don't)*)"
    r" (?P<verb>[a-z]+)",
    re.I,
)
_RULE = lazy_re(
    r"\bas a rule\b|\bevery time\b|^(?:please[, ]+)?(?:remember|make sure|be sure) (?:to|that)\b|^(?:i|we) prefer\b"
    r"|^(?:please )?prefer \S+|^every (?:commit|change|file|test|answer|function)\b",
    re.I,
)
_DO_NOT = lazy_re(
    r"^(?:(?:please|no|and|also)[,.!]? )*(?:do not|don't|dont) "
    r"(?!worry|care|mind|forget|think|know|have|need)[a-z]+ \S+",
    re.I,
)
_STYLE = lazy_re(
    r"\b(?:answers?|repl(?:y|ies)|responses?|respond|tone|concise|brief|short|language|english|german"
    r"|french|spanish|polite|emoji|emojis|explain|explanations?|summar(?:y|ies|ise|ize)|greet|speak"
    r"|words|humou?r|verbose|apologi[sz]e)\b",
    re.I,
)
_TOOLISH = lazy_re(
    r"`[^`]+`|\b(?:use|using|run|prefer|install|tool|command|cli|library|package|editor|linter|formatter|framework)\b",
    re.I,
)
_FACT = lazy_re(
    r"^(?P<what>(?:the|our) [\w`.-]+(?: [\w`.-]+){0,4}) (?:"
    r"(?:lives?|(?:is|are) (?:stored|kept|located)) (?:in|at|under) (?P<path>`?(?:~|\.{1,2})?/?[\w.-]+/[\w./-]+`?)"
    r"|(?:runs?|listens?|(?:is|are) served) on port (?P<port>`?\d{2,5}`?)(?!\d|\.\d)"
    rf"|(?:needs|uses|requires|is pinned to) (?P<version>`?{_NAME} v?\d+\.\d+(?:\.\d+)*`?))",
    re.I,
)
_FAULT = lazy_re(
    r"\b(?:errors?|bugs?|issues?|problems?|failures?|warnings?|mistakes?|screenshots?|not|no|was|were|but|when|if|while|yet|until)\b",
    re.I,
)
_UNSURE = "a person said it, perhaps for that moment only"
_NOT_A_PERSON = lazy_re(r"^(?:decision: |(?:we|i)(?:'ve| have)? decided\b)", re.I)


def learn_said(entry: SessionEntry) -> Iterator[LearningCandidate]:
    """Yield what is worth keeping in one message; nothing of what nobody is known to have said."""
    if entry.trust is Trust.PERSON:
        plain = evolution_words.is_plain(entry.text)
        for sentence in evolution_words.own_sentences(entry.text):
            if not _ASKED.search(sentence) and (candidate := _of_person(entry, sentence, plain)):
                yield candidate
    elif entry.trust in (Trust.AGENT, Trust.WORKER):
        for sentence in evolution_words.own_sentences(entry.text):
            if _NOT_A_PERSON.search(sentence) and "?" not in sentence:
                yield _candidate(entry, ObservationKind.DECISION, sentence, 0.4)


def _of_person(entry: SessionEntry, sentence: str, plain: bool) -> LearningCandidate | None:
    """Return what a person's sentence says for good, or may say; None for all else."""
    clear = plain and not _POINTS.search(_PLACE.sub("", sentence))
    if sure := _sure_kind(sentence) if clear else None:
        return _candidate(entry, sure, sentence, 0.9)
    if fact := _fact(entry, sentence, "" if clear else _UNSURE):
        return fact
    kinds = (
        (_DECISION, ObservationKind.DECISION),
        (_RULE, ObservationKind.RULE),
        (_CHOICE, ObservationKind.RULE),
        (_DO_NOT, ObservationKind.CORRECTION),
    )
    kind = next((kind for pattern, kind in kinds if pattern.search(sentence)), None)
    if any(order["verb"].lower() in evolution_words.VERBS for order in _TOLD.finditer(sentence)):
        kind = kind or ObservationKind.RULE
    if kind is None or len(sentence.split()) < 4 or evolution_words.is_attributed(sentence):
        return None
    return _candidate(entry, kind, sentence, 0.6, _UNSURE)


def _sure_kind(sentence: str) -> ObservationKind | None:
    """Return what a sentence that is clearly a person's own lays down; None where it may be about one moment."""
    if chosen := _CHOICE.search(sentence):
        if not _are_tools(chosen) or not (_CHOSEN.search(sentence) or _STANDING.search(sentence)):
            return None
        return ObservationKind.DECISION if _DECISION.search(sentence) else ObservationKind.RULE
    if (standing := _STANDING.search(sentence)) and not _OF_THE_PRODUCT.search(sentence):
        verb = standing["verb"] or standing["then"] or standing["done"]
        return ObservationKind.RULE if verb.lower() in evolution_words.VERBS else None
    if _AGREED.search(sentence) and not _NUMBERED.search(sentence):
        return ObservationKind.DECISION
    return None


def _are_tools(match: re.Match[str]) -> bool:
    return all(match[name].strip("`.,").lower() in evolution_words.TOOL_NAMES for name in ("new", "old"))


def _candidate(
    entry: SessionEntry, kind: ObservationKind, quote: str, confidence: float, doubt: str = ""
) -> LearningCandidate:
    subject, value = choice(quote)
    return LearningCandidate(
        kind,
        statement(quote),
        target_of(kind, quote),
        quote,
        entry.text,
        entry.source,
        entry.trust,
        confidence,
        subject,
        value,
        doubt,
    )


def choice(text: str) -> tuple[str, str]:
    """Parse "X instead of Y": the pair as a subject, X as the value; both empty if there is no such choice."""
    match = _CHOICE.search(text)
    if not match:
        return "", ""
    new, old = (match[name].strip("`.,").lower() for name in ("new", "old"))
    return (f"choice:{'|'.join(sorted((new, old)))}", new) if new != old else ("", "")


def statement(sentence: str) -> str:
    """Return a sentence as one line that begins with a capital. No word is left out: "no" may be all it says."""
    text = one_line(sentence, 380).rstrip(" ;,:—–-")
    return text[:1].upper() + text[1:]


def target_of(kind: ObservationKind, text: str) -> str:
    """Return the file that a statement belongs to."""
    if kind is ObservationKind.DECISION:
        return TOOLS if _CHOICE.search(text) else DOMAIN
    if _STYLE.search(text):
        return PERSONA
    return TOOLS if _TOOLISH.search(text) else PATTERNS


def _fact(entry: SessionEntry, sentence: str, doubt: str) -> LearningCandidate | None:
    hit = _FACT.search(sentence)
    if hit is None or _FAULT.search(sentence):
        return None
    sort = next(name for name in ("path", "port", "version") if hit[name])
    subject = " ".join(hit["what"].strip("` ").lower().split()).removeprefix("the ").removeprefix("our ")
    value = hit[sort].strip("`").lower().rstrip(".")
    return LearningCandidate(
        ObservationKind.FACT,
        statement(sentence),
        DOMAIN,
        sentence,
        entry.text,
        entry.source,
        entry.trust,
        0.8,
        f"{sort}:{subject}",
        value,
        doubt,
    )


class Extractor:
    """Takes the entries of one session in their order; `held` is what it must not forget between two calls."""

    def __init__(self, held: ExtractionState) -> None:
        self.held = held

    def take(self, entry: SessionEntry) -> Iterator[LearningCandidate]:
        """Yield what can be learnt from one entry."""
        if entry.kind == "said":
            yield from learn_said(entry)
        elif entry.kind == "call":
            outcomes.note_call(entry, self.held)
        elif call := self.held.calls.pop(entry.call_id, None):
            yield from _answers(entry, call) if call.offered else outcomes.learn_from_result(entry, call, self.held)


_ASKS_WHICH = lazy_re(
    r"^(?:which|what) (?:\w+ )?(?:tools?|librar(?:y|ies)|frameworks?|databases?|languages?|licen[cs]e|provider|platform"
    r"|backend|frontend|stack|protocol|package manager|test runner|linter)\b(?!.*\b(?:this|that|these|here|it)\b)"
    r"[\w ,'/-]{0,100}\?$",
    re.I,
)
_PLAINLY_ASKED = lazy_re(r"[^\n\"“”`<>]{8,200}\?")
_ONE_STEP = lazy_re(r"\b(?:next|proceed|first|start|continue|now|today|begin|happen\w*|wrong|like to do)\b", re.I)
_NO_CHOICE = lazy_re(r"(?:yes|no|none|neither|both|skip|other|not|nothing|later|cancel|ok(?:ay)?|sure|n/?a)\b", re.I)
_RECOMMENDED = lazy_re(r"\s*\(recommended\)$", re.I)
_A_NAME = lazy_re(r"(?!.*\b(?:always|never|must)\b)[\w.+#/&()-]+(?: [\w.+#/&()-]+){0,7}", re.I)
_ONE_ANSWER = "it answers a question, perhaps for that moment only"


def _answers(entry: SessionEntry, call: PendingCall) -> Iterator[LearningCandidate]:
    """Yield what the person chose of what was offered. The question's words are the agent's: they have to be plain."""
    if (
        call.trust is not Trust.AGENT
        or entry.ended is not CallOutcome.OK
        or any('"' in question for question in call.offered)
    ):
        return
    for question, labels in call.offered.items():
        chosen = [label for label in labels if label and f'"{question}"="{label}"' in entry.text]
        if len(chosen) != 1 or _NO_CHOICE.match(chosen[0]):
            continue
        if _ONE_STEP.search(question) or not _PLAINLY_ASKED.fullmatch(question):
            continue
        yield LearningCandidate(
            ObservationKind.DECISION,
            statement(f"{question} {_RECOMMENDED.sub('', chosen[0])}"),
            DOMAIN,
            chosen[0],
            chosen[0],
            entry.source,
            Trust.PERSON,
            0.9,
            f"question:{' '.join(question.lower().split())[:120]}",
            chosen[0].lower(),
            "" if _ASKS_WHICH.match(question) and _A_NAME.fullmatch(chosen[0]) else _ONE_ANSWER,
            offered=True,
        )
