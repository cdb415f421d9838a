"""Answers from elsewhere: one-time tokens that go out with a question, each bound to the whole call and one answer."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, call_hash, moving, whole_call
from lumen_tui.model.digests import sha256
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.secrets import MASKED
from lumen_tui.model.text import is_safe, one_line

UNCLEAR = "unclear"
_YES, _NO = ("allow", "approve", "yes"), ("deny", "refuse", "no")
OFFERED, TAKEN, DONE, REFUSED = "offered", "taken", "done", "refused"
LONGEST = times.DAY  # for which a token counts, where the question does not end before
TOKEN_BYTES = 24
_SUMMARY = 200  # characters
CODE_LETTERS = "abcdefghjkmnpqrstvwxyz23456789"  # none that is taken for another on a small screen
CODE_GROUPS = 3  # of four: 58 bits, for a day at most
_CODE = lazy_re(rf"[{CODE_LETTERS}]{{4}}(-[{CODE_LETTERS}]{{4}}){{{CODE_GROUPS - 1}}}")


class Verdict(StrEnum):
    """What a token answers."""

    ALLOW = "allow"
    DENY = "deny"
    ANSWER = "answer"  # a question, with the words of the token
    REPLY = "reply"  # whatever the words that come with it say


class AnswerLine(Struct, frozen=True, omit_defaults=True):
    """answers.jsonl: a token that was offered, and what became of it. Only its hash is there."""

    kind: str
    at: str
    digest: str = ""  # SHA-256 of the token; empty of a message that held none
    approval: str = ""
    request: str = ""  # SHA-256 of the whole question as it was shown
    verdict: str = ""
    words: str = ""
    by: str = ""  # the operator to whom it was offered
    via: str = ""
    expires: str = ""
    message: str = ""  # of what came in: its id
    why: str = ""  # it was refused
    schema: int = 1

    @property
    def closes(self) -> float:
        """When it expires, in seconds since 1970; 0 where that cannot be read, which counts as over."""
        return times.epoch(self.expires)


class Offer(NamedTuple):
    """One answer that is offered: what a button says, and the token that gives the answer."""

    label: str
    token: str


class Refusal(Exception):
    """An answer was refused. `name` says what it was: forged, replayed, expired, changed, late or unclear.

    An unclear one leaves the token as it is.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


def code_and_words(text: str) -> tuple[str, str]:
    """Return the code with which a typed answer begins, and the words after it; no words where it begins with none."""
    first, *rest = text.strip().split(maxsplit=1)[:2] or [""]
    code = first.strip(":,.").lower()
    return (code, rest[0] if rest else "") if _CODE.fullmatch(code) else (text.strip(), "")


def read_reply(verdict: str, request: Approval, words: str) -> tuple[str, str]:
    """Return verdict and text of the words that came with a token. Raise Refusal where they are unclear.

    An answer to a question begins with `answer:`, or is one of its options or the number of one, so that no automatic
    note is taken for an answer.
    """
    text = words.strip()
    first, _, rest = text.partition(" ")
    word = first.strip(".,:;!").lower()
    if request.question:
        if word == "answer" and rest.strip():
            return Verdict.ANSWER, rest.strip()
        numbers = [str(number) for number in range(1, len(request.options) + 1)]
        if text in (*request.options, *numbers):
            return Verdict.ANSWER, text
        raise Refusal(UNCLEAR, "begin the reply with `answer:` and the words, or with the number of an option")
    if word in _NO:
        return Verdict.DENY, rest.strip()
    if word in _YES and verdict == Verdict.REPLY:
        return Verdict.ALLOW, rest.strip()
    hint = "begin the reply with allow or deny" if verdict == Verdict.REPLY else "only deny can be said here"
    raise Refusal(UNCLEAR, hint)


def request_hash(request: Approval) -> str:
    """Return the hash of all of a question: the call, who makes it, where, and what was said of it."""
    return sha256(msgspec.json.encode(request, order="deterministic"))


def call_text(request: Approval, limit: int) -> str:
    """Return the whole call for a person elsewhere; empty where less than all of it could be shown.

    `limit` is in bytes. Where something in it is masked, or was made visible, its hash is not that of what is shown.
    """
    lines = [one_line(f"{request.role} asks: {request.summary}", _SUMMARY), *_about(request)]
    exact = whole_call(request)
    rest = {name: value for name, value in request.arguments.items() if value != exact}
    shown = [exact] if len(rest) == len(request.arguments) or not rest else [exact, _json(rest)]
    text = "\n".join([*lines, "", *shown])
    faithful = call_hash(request.tool, request.arguments) == request.hash
    return text if faithful and len(text.encode()) <= limit else ""


def _json(arguments: dict[str, object]) -> str:
    return msgspec.json.encode(arguments, order="deterministic").decode()


def _about(request: Approval) -> list[str]:
    facts = [request.why, f"risk: {request.risk}" if request.risk else ""]
    facts += ["no sandbox is around it" if request.unwalled else "", moving(request.tool, whole_call(request))]
    return [one_line(fact, _SUMMARY) for fact in facts if fact]


def question_text(request: Approval, limit: int) -> str:
    """Return a question with what it offers; empty where less than all of it could be shown in `limit` bytes."""
    lines = [one_line(f"{request.role} asks", _SUMMARY), request.question]
    lines += [f"{number}. {option}" for number, option in enumerate(request.options, 1)]
    lines += [f"without an answer: {request.default}"] if request.default else []
    text = "\n".join(lines)
    return text if is_safe(text) and MASKED not in text and len(text.encode()) <= limit else ""


def pointer(request: Approval) -> str:
    """Return where the whole of it is shown."""
    verb = f"question show {request.id}" if request.question else f"approvals show {request.id}"
    return f"not all of it can be shown here: lumen-tui {verb}"
