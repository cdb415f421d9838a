"""Acceptance: checks that say when a task is done, and what became of them. A check is one line, `KIND: WHAT`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model.text import is_safe, one_line

if TYPE_CHECKING:
    from lumen_tui.model.facts import Probe

COMMAND, FILE, FACT = "command", "file", "fact"
KINDS = (COMMAND, FILE, FACT)
MOST = 8  # checks of one task
LONGEST = 1000  # characters of one
SENT_BACK = 1  # times that a task whose checks failed goes back to a worker
_HELP = "write `command: make test`, `file: dist/*.whl` or `fact: port 8080`"


class BadCheck(ValueError):
    """A check that cannot be run; the text says what to write instead."""


class Check(Struct, frozen=True):
    """One check: a command that must end with 0, a pattern that a file must match, or a probe that must hold."""

    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


class Finding(StrEnum):
    """What running one check found out."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "not checked"


class CheckResult(Struct, frozen=True, omit_defaults=True):
    """One check as it was run."""

    check: str
    finding: Finding
    evidence: str = ""  # in a sentence
    lines: tuple[str, ...] = ()  # the last that a command wrote
    exit_code: int | None = None
    seconds: float = 0.0
    changed: tuple[str, ...] = ()  # files that the check goes by and that changed since the task began

    @property
    def text(self) -> str:
        """The check and what was found, in a line."""
        changed = f"; changed since the task began: {', '.join(self.changed)}" if self.changed else ""
        return f"{self.check}: {self.finding}" + (f" ({self.evidence})" if self.evidence else "") + changed


class Verdict(StrEnum):
    """Whether a task that its worker calls done is."""

    PROVED = "proved"
    CLAIMED = "claimed"  # there is nothing to check, or it could not be checked
    DISPROVED = "disproved"


class Acceptance(Struct, frozen=True, omit_defaults=True):
    """What became of the checks of one attempt."""

    verdict: Verdict
    at: str = ""
    results: tuple[CheckResult, ...] = ()
    why: str = ""  # it was not checked

    @property
    def reason(self) -> str:
        """Why it is not proved, in a line; empty where it is."""
        wanted = Finding.FAILS if self.verdict is Verdict.DISPROVED else Finding.UNKNOWN
        texts = [result.text for result in self.results if result.finding is wanted]
        return self.why or "; ".join(texts)


def parse(text: str) -> Check:
    """Return the check that `text` is. Raises BadCheck."""
    kind, colon, subject = text.strip().partition(":")
    check = Check(kind.strip().lower(), subject.strip())
    if not colon or check.kind not in KINDS or not check.what:
        raise BadCheck(f"{one_line(text, 80)!r} is no check: {_HELP}")
    if len(check.what) > LONGEST or not is_safe(check.what):
        raise BadCheck(f"{one_line(text, 80)!r}: a check is one line of at most {LONGEST} characters")
    if check.kind == FILE:
        _must_be_inside(check.what)
    elif check.kind == FACT:
        probe(check, "/")
    return check


def _must_be_inside(pattern: str) -> None:
    if os.path.isabs(pattern) or pattern.startswith("~") or ".." in pattern.split("/"):
        raise BadCheck(
            f"{one_line(pattern, 80)!r} may lead out of the task's folder: write a pattern below it, such as "
            "dist/*.whl; `fact: file /a/path` looks anywhere else"
        )


def probe(check: Check, folder: str) -> Probe:
    """Return the probe of a `fact:`; a relative path counts from `folder`. Raises BadCheck."""
    from lumen_tui.model.facts import parse_probe

    try:
        fact_probe = parse_probe(check.what, "p1", folder)
    except ValueError as error:
        raise BadCheck(f"{one_line(str(check), 80)!r}: {error}") from None
    if fact_probe.learns:
        raise BadCheck(f"{one_line(str(check), 80)!r} does not say what is expected: end it with `= VALUE`")
    return fact_probe


def checked(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the checks in their usual spelling, each once. Raises BadCheck for the first that is none."""
    checks = tuple(dict.fromkeys(str(parse(text)) for text in texts if text.strip()))
    if len(checks) > MOST:
        raise BadCheck(f"{len(checks)} checks are too many: {MOST} at most")
    return checks


def among(texts: Iterable[str]) -> Iterator[str]:
    """Yield the checks among acceptance criteria of a work unit, most of which are prose."""
    for text in texts:
        try:
            yield str(parse(text))
        except BadCheck:
            continue


def judge(results: tuple[CheckResult, ...], at: str) -> Acceptance:
    """Return the verdict: what fails weighs most, and what was not checked proves nothing."""
    findings = {result.finding for result in results}
    if Finding.FAILS in findings:
        return Acceptance(Verdict.DISPROVED, at, results)
    proved = findings == {Finding.HOLDS}
    return Acceptance(Verdict.PROVED if proved else Verdict.CLAIMED, at, results)


def report(acceptance: Acceptance) -> str:
    """Return the evidence in full: each check, what was found, and the last lines of commands."""
    parts = []
    for result in acceptance.results:
        parts.append(f"- {result.text}")
        parts += [f"    {line}" for line in result.lines]
    return "\n".join(parts) or acceptance.why
