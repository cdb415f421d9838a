"""A place that several write to in turn. A submission says what it has seen; one that has not seen all of it is held.

The position of a relay is the highest number that any of its texts was ever given. Numbers are not given twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, field

from lumen_tui.model import times
from lumen_tui.model.digests import sha256
from lumen_tui.model.text import one_line

MOST_HELD = 20  # of one contributor in one relay
_SHOWN = 10  # entries that an explanation names
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?(?: ?(?:Z|UTC|GMT)| ?[+-]\d\d:?\d\d)?"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = (
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,? )?"
    rf"(?:(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}\.? {_MONTH})(?:,? \d{{4}})?"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
)
_WHEN = rf"(?:{_DATE}(?:,? (?:at )?{_CLOCK})?|{_CLOCK})"
# A date in words or a bare time without a mark behind it is part of what is said: "14:00 standup".
_LED_BY_TIME = (
    rf"^(?:[\[(]{_WHEN}[\])][:,\s–—-]*|{_WHEN}\s?(?:[:,–—]|-(?=\s))[\s–—-]*)|"
    r"^[\[(]?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?UTC|[+-]\d\d:?\d\d)?)?[\])]?[:,\s–—-]*"
)


class SubmissionStatus(StrEnum):
    """The state of a submission."""

    SENT = "sent"  # it is in the relay under its position
    HELD = "held"  # it waits for a person
    DROPPED = "dropped"  # a person decided against it
    REPLACED = "replaced"  # its contributor looked, and submitted it again
    WITHDRAWN = "withdrawn"  # taken back by whoever had submitted it


REPLACED_AS = "as "  # in the note of a replaced submission, before the id of the one in its place


class Submission(Struct, frozen=True, omit_defaults=True):
    """One line of relay/<name>.jsonl; the last line of an id is the valid one."""

    id: str
    at: str
    by: str
    text: str
    hash: str
    base: int  # the position up to which the contributor had seen the relay
    status: SubmissionStatus
    position: int = 0
    key: str = ""  # the same key is the same submission, however often it comes
    reasons: tuple[str, ...] = ()  # why it was held
    updated_at: str = ""
    updated_by: str = ""
    note: str = ""  # of the person who decided
    schema: int = 1

    @property
    def title(self) -> str:
        """Its first line."""
        return one_line(self.text.strip().partition("\n")[0], 120)

    @property
    def replaced_by(self) -> str:
        """The submission that its contributor made of it after looking; empty where it was not replaced."""
        return self.note.removeprefix(REPLACED_AS) if self.status is SubmissionStatus.REPLACED else ""

    @property
    def since(self) -> float:
        """When it came, in seconds since 1970."""
        return times.epoch(self.at)


def content_hash(text: str) -> str:
    """Hash the words of a text: spaces, capitals and a leading time do not change the result."""
    flat = " ".join(text.split())
    words = (re.sub(_LED_BY_TIME, "", flat, flags=re.IGNORECASE) or flat).casefold()
    return sha256((words.rstrip(".! ") or words).encode("utf-8", "replace"))[:32]


class MovedEntry(Struct, frozen=True):
    """One entry that its contributor had not seen."""

    position: int
    by: str
    at: str
    title: str


class SubmissionAnswer(Struct, frozen=True):
    """What a contributor is told, in the answer to its own call."""

    id: str
    relay: str
    status: SubmissionStatus
    position: int  # of the relay now
    base: int
    reasons: tuple[str, ...] = ()
    moved: tuple[MovedEntry, ...] = ()
    moved_more: int = 0  # entries beyond those in `moved`
    repeated: bool = False  # it was there already: nothing was written


class BadSubmission(ValueError):
    """A submission that makes no sense: nothing was written."""


class Box(Struct):
    """What a relay holds."""

    name: str
    position: int = 0
    by_id: dict[str, Submission] = field(default_factory=dict)

    def take(self, submission: Submission) -> None:
        """Take in a line, in the order in which they were written."""
        self.by_id[submission.id] = submission
        self.position = max(self.position, submission.position)

    def with_status(self, *statuses: SubmissionStatus) -> list[Submission]:
        """Return the submissions of these statuses, in the order in which they came."""
        return [submission for submission in self.by_id.values() if submission.status in statuses]

    @property
    def entries(self) -> list[Submission]:
        """What is in the relay, by position."""
        return sorted(self.with_status(SubmissionStatus.SENT), key=lambda submission: submission.position)

    @property
    def held(self) -> list[Submission]:
        """What waits for a person, the oldest first."""
        return self.with_status(SubmissionStatus.HELD)


class SubmissionVerdict(Struct, frozen=True):
    """What is to become of a new submission: one that was there already, or a status with the reasons for it."""

    known: Submission | None = None
    reasons: tuple[str, ...] = ()
    replaces: tuple[Submission, ...] = ()


def judge(box: Box, text: str, *, by: str, base: int, key: str) -> SubmissionVerdict:
    """Decide on a new submission. Refused where its base cannot be, or where its key belongs to another text."""
    mark = content_hash(text)
    if key and (
        same := next(
            (submission for submission in box.by_id.values() if submission.key == key and submission.by == by), None
        )
    ):
        if same.hash != mark:
            raise BadSubmission(
                f"the key {key!r} belongs to another text of yours ({same.id}): give each text its own key"
            )
        return SubmissionVerdict(known=same)
    if not 0 <= base <= box.position:
        raise BadSubmission(
            f"{box.name} is at position {box.position}: the base {base} is not known here; read it first"
        )
    reasons = tuple(_reasons(box, mark, base))
    twin = [submission for submission in box.held if submission.by == by and submission.hash == mark]
    if not reasons:
        return SubmissionVerdict(replaces=tuple(twin))
    if twin:
        return SubmissionVerdict(known=twin[-1])
    if sum(submission.by == by for submission in box.held) >= MOST_HELD:
        raise BadSubmission(
            f"{MOST_HELD} submissions of {by} wait in {box.name} already: a person has to look at them first"
        )
    return SubmissionVerdict(reasons=reasons)


def _reasons(box: Box, mark: str, base: int) -> Iterable[str]:
    """Yield why a submission does not go in by itself."""
    if any(submission.position > base for submission in box.entries):
        yield f"conflict: based on position {base}, head is {box.position}"
    for submission in box.with_status(SubmissionStatus.SENT, SubmissionStatus.DROPPED):
        if submission.hash == mark:
            yield _said_before(submission)


def _said_before(submission: Submission) -> str:
    if submission.status is SubmissionStatus.SENT:
        when = times.stamp_of(submission.at)
        return f"the same text is at position {submission.position}, by {submission.by} ({when})"
    note = f": {submission.note}" if submission.note else ""
    return f"the same text was dropped by {submission.updated_by} ({times.stamp_of(submission.updated_at)}){note}"


def answer(box: Box, submission: Submission, *, base: int, repeated: bool = False) -> SubmissionAnswer:
    """Return what the contributor of the submission is told."""
    missed = [entry for entry in box.entries if entry.position > base and entry.id != submission.id]
    shown = [MovedEntry(entry.position, entry.by, entry.at, entry.title) for entry in missed[-_SHOWN:]]
    return SubmissionAnswer(
        submission.id,
        box.name,
        submission.status,
        box.position,
        base,
        submission.reasons,
        tuple(shown),
        len(missed) - len(shown),
        repeated,
    )


def words(reply: SubmissionAnswer) -> list[str]:
    """Return an answer in plain lines: what happened, why, what moved since, and what to do."""
    before = " already" if reply.repeated else ""
    if reply.status is SubmissionStatus.SENT:
        return [f"{reply.id} is in {reply.relay}{before}; it is at position {reply.position}"]
    lines = [f"{reply.id} is {reply.status}{before}: it is not in {reply.relay}, which is at position {reply.position}"]
    lines += [f"because {reason}" for reason in reply.reasons]
    if reply.moved:
        more = f" (and {reply.moved_more} before these)" if reply.moved_more else ""
        lines.append(f"since position {reply.base}{more}:")
        lines += [f"  {entry.position}  {times.stamp_of(entry.at)}  {entry.by}: {entry.title}" for entry in reply.moved]
    if reply.status is SubmissionStatus.HELD:
        lines.append(
            f"read what is new (`relay show {reply.relay} --since {reply.base}`); where your text still holds and says "
            f"something new, submit it on base {reply.position}. A person can release it too"
        )
    return lines
