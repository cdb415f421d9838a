"""The gate in front of everything that is learnt. Rules only: what is judged, the evidence and the rules come in.

Words are matched in a flattened text; a statement is accepted, put before a person, or rejected with the reason. Of the
constitution only what it says must never be learnt is matched here; whether a statement goes against its principles is
judged by a model, where `[evolution] judge` asks for one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from msgspec import Struct

from lumen_tui.model import evolution_words, evolvedfiles
from lumen_tui.model.evolution import TARGETS, Observation, ObservationStatus, Trust
from lumen_tui.model.lookalikes import mixed
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.secrets import MASKED
from lumen_tui.model.text import is_safe

_RULES = (
    r"(?:instructions?|rules?|prompts?|guidelines?|constitution|directives?|polic(?:y|ies)|constraints?|safeguards?)"
)
_PERSON = r"(?:user|operator|person|human|owner|admin)"
_SECRETS = (
    r"(?:secrets?|tokens?|passwords?|passwd|private keys?|api[ _-]?keys?|credentials?|cookies?|\.env\b|\.ssh\b"
    r"|id_rsa|id_ed25519|\.aws\b|\.netrc|/etc/(?:passwd|shadow)|environment variables|env vars|keychain)"
)
_NOT = r"(?:never|not|don't|dont|cannot|can't|no) (?:\S+ ){0,2}$"

_PATTERNS: tuple[tuple[str, str], ...] = (
    ("it overrides instructions", (
        rf"\b(?:ignore|disregard|forget|override|overrule|bypass|circumvent|supersede|drop)\b[^.]{{0,60}}\b{_RULES}"
        r"|\byou are now\b|\bfrom here on you are\b|\bact as (?:if |though )?(?:you|root|admin|an? (?:unrestricted"
        r"|unfiltered))|\bdeveloper mode\b|\bjailbreak|\bdo anything now\b|\bnew (?:system prompt|instructions?:"
        r"|instructions? (?:for|from))|\bsystem prompt\b|\bremember (?:that )?you (?:must|have to|are (?:required"
        rf"|obliged|allowed))\b|\b(?:previous|prior|above|earlier) {_RULES}\b[^.]{{0,30}}\b(?:void|invalid|obsolete"
        r"|cancelled|no longer)")),
    ("it works around the person", (
        r"\b(?:do not|don't|dont|never|without) (?:tell|telling|inform|informing|ask|asking|notify|notifying|alert"
        rf"|warn|warning|show|showing)\w* (?:the |your |any |a )?{_PERSON}|\b(?:hide|conceal"
        rf"|keep) (?:\S+ ){{0,6}}(?:from|secret from) (?:the |your )?{_PERSON}|\bwithout (?:(?:any|the|their"
        r"|asking for) )?(?:approval|permission|consent|confirmation)\b|\b(?:auto|always)[ -]?(?:approve|accept"
        rf"|allow|grant)\w*\b[^.]{{0,40}}\b(?:all|every|any|everything|request|call|tool)|\b(?:disable|turn off"
        rf"|switch off|deactivate|remove|skip|bypass|evade)\b[^.]{{0,30}}\b(?:sandbox|approvals?|gate|safety"
        r"|guards?|guardrails?|firewall|audit|logging|verification|validation|monitoring|permission checks?"
        r"|budget)\b")),
    ("it looks like a system message", (
        r"</?(?:system|assistant|user|human|system-reminder|instructions?|tool_result|tool_use|function_calls?"
        r"|invoke|admin|important|material|data|order|context|command-name|antml)\b[^>]{0,80}>?|<\|[a-z_]{2,30}\|>|\[/?inst\]"
        r"|<<sys>>|\[(?:system|admin|assistant)\]|^\W*(?:\d+\W+)?(?:system|assistant|human|developer)"
        r"\W{0,3}:|\b(?:begin|end) (?:of )?(?:system|instructions)\b|<!--|-->|\{\{.{0,60}\}\}")),
    ("it sends data away", (
        r"\b(?:curl|wget|nc|ncat|netcat|http|https|fetch)\b[^.]{0,20}.{0,120}?(?:\s(?:-d|-F|-T|--data\S*|--form"
        r"|--upload\S*|--post-\S+|-X (?:POST|PUT))\b|[=\s]@[~/.\w])|\b(?:curl|wget)\b.{0,150}\|\s*(?:sudo )?(?:ba"
        r"|z|da)?sh\b|\|\s*(?:nc|ncat|netcat|curl|telnet)\b|/dev/(?:tcp|udp)/|\b(?:scp|rsync|sftp"
        r"|ftp)\b.{0,80}\s\S+@?[\w.-]+:\S*|\b(?:webhook\.site|requestbin|ngrok|pastebin\.com|transfer\.sh"
        r"|burpcollaborator|oast\.|interactsh|pipedream)|\bbase64\b.{0,40}\||\beval\b.{0,20}\$\("
        r"|\b(?:ba)?sh -c .{0,20}\$\(curl|\bpython\d? -c .{0,80}(?:urlopen|requests|socket)|!\[[^\]]*\]\(https?:")),
    ("it reads secrets out", (
        rf"\b(?:cat|less|head|tail|print|printenv|echo|dump|reveal|read out|show me)\b.{{0,40}}{_SECRETS}|\benv \|"
        rf"|\bprintenv\b|\$\{{?(?:[A-Z0-9]+_)*(?:key|token|secret|password)\b")),
    ("it destroys or opens things up", (
        r"\brm -(?:rf|fr|r -f|f -r)\w* (?:--no-preserve-root )?(?:/|~|\$home|\*|\.\.)|\bmkfs\b"
        r"|\bdd if=.{0,60} of=/dev/|:\(\) ?\{|\bchmod (?:-r )?(?:0?777|a\+rwx)\b"
        r"|\bgit push (?:\S+ ){0,3}(?:--force|-f)\b.{0,30}\b(?:main|master)\b|\bdrop (?:table|database)\b"
        r"|\bshutdown -|> ?/dev/sd[a-z]|\bauthorized_keys\b|\bsudoers\b|\bcrontab -|\bnopasswd\b|\bhistory -c\b"
        r"|\bset \+o history\b|--dangerously-\S+|--no-verify\b")),
    ("a secret in a URL", (
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:[^\s/@]{1,200}@|[?&](?:token|key|api_?key|access_token|auth"
        r"|password|secret|sig)=[^\s&]{4,}")),
    ("a secret", (
        r"\b(?:password|passwd|passphrase|api[ _-]?key|secret(?:[ _-]?key)?|access[ _-]?token|auth[ _-]?token"
        r"|private key)\b ?(?:is|=|:|==) ?[\"'`]?(?=\S*[\d!@#$%^&*_-])[^\s\"'`]{6,}")),
)  # fmt: skip
_COMPILED = tuple((danger, lazy_re(pattern, re.I)) for danger, pattern in _PATTERNS)
_SENDS = lazy_re(
    rf"(?P<lead>(?:\S+ ){{0,4}})\b(?:send|post|upload|forward|e-?mail|exfiltrate|leak|transmit|publish|copy"
    rf"|share|report|submit)\w*\b[^.]{{0,60}}{_SECRETS}",
    re.I,
)
_APART = lazy_re(r"(?:\b\w[ .\-_*]){6,}\w\b")
_BLOB = lazy_re(r"(?:[A-Za-z0-9+]{60,}={0,2}|(?:\\x[0-9a-f]{2}){6,}|(?:%[0-9a-f]{2}){6,}|(?:&#x?[0-9a-f]+;){4,})", re.I)
_WORD = lazy_re(r"[^\W\d_]{2,}")


def flat(text: str) -> str:
    """Return one form of a text for comparing: compatibility characters resolved, lower case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").casefold().split())


def matches(text: str) -> list[str]:
    """Return which of the rules a text breaks, in words."""
    flattened = flat(text)
    broken = [reason for reason, pattern in _COMPILED if pattern.search(flattened)]
    if any(not re.search(_NOT, hit["lead"]) for hit in _SENDS.finditer(flattened)):
        broken.append("it sends data away")
    if _APART.search(flattened) or _BLOB.search(text) or any(mixed(word) for word in _WORD.findall(text)):
        broken.append("disguised words")
    return broken


MOST_TEXT = 400  # characters of a statement
MOST_QUOTE = 600
MOST_LOST = 0.25  # share of a file's earlier entries that one change may take away
_FROM = {Trust.AGENT: "an agent", Trust.WORKER: "a worker", Trust.TOOL: "the output of a command", Trust.WEB: "the web"}
# The only shapes in which what no person said is taken over without one: names, numbers and commands, no prose.
_SLOT = r"`?[A-Za-z][A-Za-z0-9_.+-]{0,30}`?"
_FIXED = lazy_re(
    rf"(?:In `[\w.-]{{1,40}}`: )?{_SLOT} (?:is at version v?\d[\w.+-]{{0,20}}|listens on port \d{{2,5}})\.?"
)

_COMMAND = r"`[a-z./~][^`\n]{0,160}`"
_RAN = lazy_re(
    rf"(?:In `[\w.-]{{1,40}}`: )?(?:(?:[Tt]ests|[Cc]hecks) run"
    rf"|[Tt]he (?:build|linter|formatter|type checker|program) runs) with {_COMMAND}"
    rf"|{_COMMAND} failed \([\w .:'@/-]{{2,80}}\); "
    rf"(?:it worked after (?:{_COMMAND}|a change of `[\w.-]+`)|{_COMMAND} worked)"
    r"|In `[\w.-]{1,40}`: pushes to `[\w./-]{1,60}` are declined, the branch is protected"
)
_IN_FIXED_WORDS = {Trust.AGENT: (_FIXED, _RAN), Trust.WORKER: (_FIXED,), Trust.TOOL: (_FIXED,)}


class Rules(Struct, frozen=True):
    """What the gate needs to know beside the proposal."""

    never: tuple[str, ...] = ()  # the constitution's list
    redact: Callable[[str], str] = str  # takes secrets out; a text that it changes holds one


class GateVerdict(Struct, frozen=True):
    """Accepted, proposed or rejected, and why not accepted."""

    status: ObservationStatus
    reasons: tuple[str, ...] = ()


def judge(observation: Observation, evidence: str, rules: Rules) -> GateVerdict:
    """Judge one proposal. `evidence` is the text of the line that it names."""
    if wrong := (*_form(observation, evidence), *forbidden(observation, rules)):
        return GateVerdict(ObservationStatus.REJECTED, wrong)
    if waits := _waits(observation, evidence):
        return GateVerdict(ObservationStatus.PROPOSED, waits)
    return GateVerdict(ObservationStatus.ACCEPTED)


def _form(observation: Observation, evidence: str) -> tuple[str, ...]:
    """Return what is missing: source, quote, shape, place."""
    problems = []
    if not observation.sources or any(not source.session or source.line < 1 for source in observation.sources):
        problems.append("no source: session and line are required")
    if not observation.quote.strip():
        problems.append("no quote")
    elif observation.quote not in evidence:
        problems.append("the quote is not in the line it names")
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
        problems += against(text, rules)
    return tuple(dict.fromkeys(problems))


def against(text: str, rules: Rules) -> list[str]:
    """Return why nothing that has these words may be learnt or come into force."""
    problems = ["a secret"] if rules.redact(text) != text or "[redacted]" in text or MASKED in text else []
    flattened = flat(text)
    never = [f"the constitution says never: {phrase}" for phrase in rules.never if phrase_in(phrase, flattened)]
    return [*problems, *matches(text), *never]


def phrase_in(phrase: str, flat: str) -> bool:
    """Return whether the words of a phrase stand in a flattened text in this order; `*` is up to six words."""
    words = [r"(?:\S+ ){0,6}?" if word == "*" else re.escape(word) + " " for word in phrase.lower().split()]
    return re.search(r"(?<!\S)" + "".join(words), flat.rstrip(".!? ") + " ") is not None


def _waits(observation: Observation, evidence: str) -> tuple[str, ...]:
    """Return why a person has to decide."""
    reasons = []
    if observation.contradicts:
        reasons.append(f"it contradicts {observation.contradicts}")
    if observation.trust is Trust.PERSON:
        if not evolution_words.is_own(observation.quote, evidence):
            reasons.append("it needs the word of a person: it may be quoted or pasted")
    elif observation.instructs:
        reasons.append(f"it tells what to do, and no person said it ({observation.trust})")
    elif not any(form.fullmatch(observation.text) for form in _IN_FIXED_WORDS.get(observation.trust, ())):
        reasons.append(f"it needs the word of a person: it comes from {_FROM[observation.trust]}")
    return tuple(reasons)


class ChangeFault(Enum):
    """Why a file must not change in one way. A person's decision outweighs all but LOCKED."""

    LOCKED = auto()
    ENTRIES_LOST = auto()
    TOO_LARGE = auto()


class ChangeRefusal(NamedTuple):
    """One reason, as a code and as a sentence."""

    fault: ChangeFault
    text: str


def judge_change(before: str, after: str, most_bytes: int) -> tuple[ChangeRefusal, ...]:
    """Return why a file must not go from one text to the other; empty where it may."""
    refusals = []
    if any(block not in after for block in evolvedfiles.locked(before)):
        refusals.append(ChangeRefusal(ChangeFault.LOCKED, "a locked section would change"))
    old, new = evolvedfiles.entries(before), evolvedfiles.entries(after)
    lost = sum(1 for key in old if key not in new)
    if lost > MOST_LOST * len(old):
        text = f"{lost} of {len(old)} earlier entries would be lost in one change"
        refusals.append(ChangeRefusal(ChangeFault.ENTRIES_LOST, text))
    size = _size(after)
    if size > most_bytes and size > _size(before):
        refusals.append(ChangeRefusal(ChangeFault.TOO_LARGE, f"the file would have more than {most_bytes:,} bytes"))
    return tuple(refusals)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
