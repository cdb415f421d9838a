"""From the entries of a session to candidates: offline, the same every time, in one pass.

Messages give decisions, corrections, rules and facts in plain sentences; `outcomes` learns from commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.engine.evolution import outcomes
from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.model.evolution import (
    DOMAIN,
    PATTERNS,
    PERSONA,
    TOOLS,
    ExtractionState,
    ObservationKind,
    SessionEntry,
    Trust,
)
from lumen_tui.model.text import one_line
from lumen_tui.store.sessions.transcripts import is_question

_NAME = r"`?[A-Za-z][\w.+@/-]{0,40}`?"
_ASKED = re.compile(
    r"\?\s*$|^(?:if|should|could|can|would|shall|maybe|perhaps|what if|why|how|is|are|do|does|did|when"
    r"|which|who)\b(?!n't)(?! not\b)",
    re.I,
)
_DO_NOT = re.compile(r"^(?:please[, ]+)?(?:do not|don't|dont|stop|never again)\s+\w+", re.I)
_DECISION = re.compile(
    r"\b(?:we(?:'ve| have)?|i(?:'ve| have)?|it (?:was|is)) (?:now )?(?:decided|agreed|settled|chosen"
    r"|chose)\b|^decision: |^(?:ok(?:ay)?,? |yes,? |so,? )?(?:let's|let us) (?:use|go with|keep"
    r"|stick (?:to|with)|switch to|drop|not|move to|make|put|call|stay with)\b|\bwe(?:'ll"
    r"| will) (?:use|go with|keep|stick|stay|switch|move|drop|not)\b|^(?:go|going) with \S+"
    r"|\bthe decision is\b",
    re.I,
)
_SETTLED = re.compile(r"\b(?:decided|agreed|settled on|chose)\b|^decision: ", re.I)
_CHOICE = re.compile(
    r"\b(?:use|using|prefer|go with|take|choose|pick|want"
    rf"|switch to)\s+(?P<new>{_NAME})(?P<what>(?: \w+){{0,2}}?),?\s+(?:instead of|rather than|over"
    rf"|and not|not)\s+(?P<old>{_NAME})",
    re.I,
)
_CORRECTION = re.compile(
    r"^(?:no|nope|nah|wrong|stop|actually|wait|hm+)\b[,.:;!—– -]+\s*\S|^(?:that(?:'s| is)"
    r"|this is) (?:wrong|not (?:right|correct|what))\b|^not (?:quite|like that|that)\b"
    r"|^you (?:should have|shouldn't have|forgot|must not|broke|missed)\b|^i (?:said|told you"
    r"|asked (?:you )?(?:for|to)|meant)\b|^instead,? ",
    re.I,
)
_RULE = re.compile(
    r"^(?:please[, ]+|and |but |also,? |remember:? |note:? )*(?:always|never)\s+\w+|\b(?:you|we"
    r"|i) (?:should |must )?(?:always|never)\s+\w+|\bfrom now on\b|\bin (?:the )?future\b,? "
    r"|^(?:please[, ]+)?(?:make sure|be sure|remember) (?:to|that)\b|^(?:i|we) (?:prefer|like|want"
    r"|expect|insist)\b|^(?:please )?prefer \S+|\b(?:must|should) (?:always|never|not)\b"
    r"|^every (?:time|commit|change|file|test|answer|function)\b|^(?:answer|reply|respond|write"
    r"|speak) (?:me )?(?:in|with|briefly|short)\b|\beach time\b|\bas a rule\b",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:no|nope|nah|wrong|stop|actually|wait|hm+|ok|okay|yes|and|but|also|please|so)\b[,.:;!—– -]+\s*)+", re.I
)
_STYLE = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|respond|tone|concise|brief|short|language|english|german"
    r"|french|spanish|polite|emoji|emojis|explain|explanations?|summar(?:y|ies|ise|ize)|greet|speak"
    r"|words|humou?r|verbose|apologi[sz]e)\b",
    re.I,
)
_TOOLISH = re.compile(
    r"`[^`]+`|\b(?:use|using|run|prefer|install|tool|command|cli|library|package|editor|linter|formatter|framework)\b",
    re.I,
)
_FACTS = re.compile(
    rf"(?P<what>(?:the |our |my )?[\w`./ -]{{2,50}}?) (?:(?:is|are|lives?|stands?|stays?|sits?|resides?"
    r"|is stored|is kept|are stored) (?:now )?(?:in|at|under|on) (?P<path>`?(?:~"
    rf"|\.{{1,2}})?/?[\w.-]+/[\w./-]+`?)|(?:runs?|listens?|is listening|is running|is|serves?"
    r"|is served) (?:now )?on (?:port )?(?P<port>`?(?:localhost:|127\.0\.0\.1:"
    rf"|port )?\d{{2,5}}`?)(?!\d|\.\d)|(?:is|runs?|uses?|needs?|requires?|is on|is pinned to"
    rf"|are on) (?:on |at )?(?:version )?(?P<version>`?(?:{_NAME} )?v?\d+\.\d+(?:\.\d+)*`?)|(?:is"
    rf"|are) called (?P<name>`?[\w./-]{{2,40}}`?))",
    re.I,
)
_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.S)
_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+(?=[\"'(`A-Z0-9a-z])")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_PASTED = re.compile(r"^\s*(?:>|\$ |# |@|at \S+\(|File \"|Traceback|\d{4}-\d\d-\d\d|[+-]{3} |\{|\[|\||<)|^(?: {4}|\t)")
_LONG_MESSAGE = 6000  # characters from which the middle of a message is taken as pasted
_KEPT = 2000


def learn_said(entry: SessionEntry) -> Iterator[LearningCandidate]:
    """Yield what is worth keeping in one message."""
    if entry.trust not in (Trust.PERSON, Trust.AGENT):
        yield from _worker_words(entry)
        return
    for sentence in sentences(entry.text):
        candidate = _of_person(entry, sentence) if entry.trust is Trust.PERSON else _of_agent(entry, sentence)
        if candidate is not None:
            yield candidate


def _of_person(entry: SessionEntry, sentence: str) -> LearningCandidate | None:
    core = _LEAD.sub("", sentence)
    if _ASKED.search(core) and not _DO_NOT.search(core):
        return None
    if _CORRECTION.search(sentence) and len(core.split()) >= 3:
        return _candidate(entry, ObservationKind.CORRECTION, sentence, core, 0.85)
    if _DO_NOT.search(sentence) and len(core.split()) >= 3:
        return _candidate(entry, ObservationKind.CORRECTION, sentence, core, 0.8)
    if _DECISION.search(core):
        return _candidate(entry, ObservationKind.DECISION, sentence, core, 0.9)
    if _RULE.search(core) or _CHOICE.search(core):
        return _candidate(entry, ObservationKind.RULE, sentence, core, 0.9)
    return _fact(entry, sentence, 0.8)


def _of_agent(entry: SessionEntry, sentence: str) -> LearningCandidate | None:
    """Return a decision that an agent states; nothing else of its own words counts."""
    core = _LEAD.sub("", sentence)
    if _ASKED.search(core) or not _SETTLED.search(core) or not _DECISION.search(core):
        return None
    return _candidate(entry, ObservationKind.DECISION, sentence, core, 0.5)


def _worker_words(entry: SessionEntry) -> Iterator[LearningCandidate]:
    """Yield plain decisions of a worker; the gate lets none of them pass by itself."""
    for sentence in sentences(entry.text):
        if re.search(r"^(?:decision: |we (?:have )?decided\b|i (?:have )?decided\b)", sentence, re.I):
            yield _candidate(entry, ObservationKind.DECISION, sentence, sentence, 0.4)


def _candidate(
    entry: SessionEntry, kind: ObservationKind, quote: str, core: str, confidence: float
) -> LearningCandidate:
    subject, value = choice(core)
    return LearningCandidate(
        kind,
        statement(core),
        target_of(kind, core),
        quote,
        entry.text,
        entry.source,
        entry.trust,
        confidence,
        subject,
        value,
    )


def choice(text: str) -> tuple[str, str]:
    """Parse "X instead of Y": the pair as a subject, X as the value; both empty if there is no such choice."""
    match = _CHOICE.search(text)
    if not match:
        return "", ""
    new, old = (match[name].strip("`.,").lower() for name in ("new", "old"))
    return (f"choice:{'|'.join(sorted((new, old)))}", new) if new != old else ("", "")


def statement(core: str) -> str:
    """Return a sentence as one line that begins with a capital."""
    text = one_line(core, 380).rstrip(" ;,:—–-")
    return text[:1].upper() + text[1:]


def target_of(kind: ObservationKind, core: str) -> str:
    if kind is ObservationKind.DECISION:
        return TOOLS if _CHOICE.search(core) else DOMAIN
    if _STYLE.search(core):
        return PERSONA
    return TOOLS if _TOOLISH.search(core) else PATTERNS


def _fact(entry: SessionEntry, sentence: str, confidence: float) -> LearningCandidate | None:
    hit = _FACTS.search(sentence)
    if hit is None or len(hit["what"].split()) > 6:
        return None
    sort = next(name for name in ("path", "port", "version", "name") if hit[name])
    subject = " ".join(hit["what"].strip("` ").lower().split()).removeprefix("the ").removeprefix("our ")
    value = hit[sort].strip("`").lower().removeprefix("port ").removeprefix("localhost:").rstrip(".")
    return LearningCandidate(
        ObservationKind.FACT,
        statement(sentence),
        DOMAIN,
        sentence,
        entry.text,
        entry.source,
        entry.trust,
        confidence,
        f"{sort}:{subject}",
        value,
    )


SHORTEST, LONGEST = 8, 380


def sentences(text: str) -> Iterator[str]:
    """Yield each quotable sentence exactly as it is in `text`: no code, no quotations, no pasted output."""
    for piece in _pieces(text):
        for line in _FENCE.sub("\n", piece).splitlines():
            if _PASTED.search(line):
                continue
            for sentence in _END.split(_BULLET.sub("", line)):
                stripped = sentence.strip()
                if SHORTEST <= len(stripped) <= LONGEST:
                    yield stripped


def _pieces(text: str) -> tuple[str, ...]:
    if len(text) <= _LONG_MESSAGE:
        return (text,)
    return text[:_KEPT], text[-_KEPT:]


_ANSWER = re.compile(r'"(?P<question>[^"\n]{4,300})"="(?P<answer>[^"\n]{1,200})"')
_NO_CHOICE = re.compile(r"^(?:other|skip|none|n/?a|i don't know|not sure)\W*$", re.I)


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
        else:
            yield from self._result(entry)

    def _result(self, entry: SessionEntry) -> Iterator[LearningCandidate]:
        call = self.held.calls.pop(entry.call_id, None)
        if call is None:
            return
        if not is_question(call.tool):
            yield from outcomes.learn_from_result(entry, call, self.held)
        elif call.trust is Trust.AGENT and entry.ok:
            yield from _answers(entry)


def _answers(entry: SessionEntry) -> Iterator[LearningCandidate]:
    """Yield what the person chose when the agent asked."""
    for hit in _ANSWER.finditer(entry.text):
        if _NO_CHOICE.match(hit["answer"]):
            continue
        text = statement(f"{hit['question'].rstrip('? ')}? {hit['answer']}")
        yield LearningCandidate(
            ObservationKind.DECISION,
            text,
            DOMAIN,
            hit.group(),
            entry.text,
            entry.source,
            Trust.PERSON,
            0.9,
            f"question:{' '.join(hit['question'].lower().split())[:120]}",
            hit["answer"].lower(),
        )
