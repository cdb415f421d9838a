"""Observations: what was learnt from a session, where each comes from, how far it is trusted, where it belongs.

Also a session file as extraction reads it, who said what on which line, and how far it was read.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

PERSONA, DOMAIN = "persona.md", "domain-knowledge.md"
PATTERNS, TOOLS, RECOVERY = (
    f"strategies/{name}.md" for name in ("task-patterns", "tool-preferences", "error-recovery")
)
TARGETS = {
    PERSONA: "Persona",
    DOMAIN: "Domain knowledge",
    PATTERNS: "Task patterns",
    TOOLS: "Tool preferences",
    RECOVERY: "Error recovery",
}  # in the order in which they are in CLAUDE.md
GATE = "gate"  # rejected by the rules, not by a model
MOST_ASKED = 5  # entries of the one question that a session puts to the operator
MOST_OF_COMMANDS = 2  # of them, so that words keep their room
_MOST_SOURCES = 20  # of one observation; the count goes on
OBJECTION = "the model that judges: "  # begins the reason of what a model rejected


class ObservationKind(StrEnum):
    """What sort of thing was learnt."""

    DECISION = "decision"
    CORRECTION = "correction"
    RULE = "rule"
    FIX = "fix"  # what went wrong, and what then worked
    COMMAND = "command"
    FACT = "fact"


INSTRUCTIONS = frozenset(
    {ObservationKind.DECISION, ObservationKind.CORRECTION, ObservationKind.RULE}
)  # what tells an agent what to do


class Trust(StrEnum):
    """Who said it. The trust of an observation is the lowest among its sources."""

    PERSON = "person"
    AGENT = "agent"  # the main agent, or one that a person drove
    WORKER = "worker"
    TOOL = "tool"  # what a command or a file said
    WEB = "web"

    @property
    def rank(self) -> int:
        """Higher is more trusted."""
        return {"person": 3, "agent": 2, "worker": 1, "tool": 1, "web": 0}[self.value]


class ObservationStatus(StrEnum):
    """What became of it."""

    ACCEPTED = "accepted"  # it is in its file
    PROPOSED = "proposed"  # it waits for a person
    REJECTED = "rejected"
    SUPERSEDED = "superseded"  # a person took a newer one that says otherwise
    WITHDRAWN = "withdrawn"  # a person went back to a version without it


class Source(Struct, frozen=True, omit_defaults=True):
    """One place in one session."""

    session: str
    line: int  # from 1
    uuid: str = ""  # of the line: it stays the same where a session was copied on
    at: str = ""

    @property
    def key(self) -> str:
        """The same place gives the same key, also in a copy of the session."""
        return self.uuid or f"{self.session}:{self.line}"


class Observation(Struct, frozen=True, omit_defaults=True):
    """One line of evolved/observations.jsonl; the last line of an id is the valid one."""

    id: str
    at: str
    kind: ObservationKind
    text: str
    target: str
    quote: str  # verbatim from the first source
    sources: tuple[Source, ...]
    trust: Trust
    confidence: float = 0.5
    count: int = 1
    status: ObservationStatus = ObservationStatus.PROPOSED
    reasons: tuple[str, ...] = ()
    subject: str = ""  # what a fact or a choice is about: two values for one subject contradict each other
    value: str = ""
    contradicts: str = ""  # the id of the accepted one that says otherwise
    updated_at: str = ""
    by: str = ""  # who judged it last
    schema: int = 1

    @property
    def instructs(self) -> bool:
        """Whether it tells an agent what to do."""
        return self.kind in INSTRUCTIONS


def objections(observation: Observation) -> tuple[str, ...]:
    """Return what a model that judges holds against it; a person may have taken it over all the same."""
    return tuple(reason for reason in observation.reasons if reason.startswith(OBJECTION))


def objected(observation: Observation) -> bool:
    """Return whether a model turned it away, and no person has decided since."""
    return observation.status is ObservationStatus.REJECTED and bool(objections(observation))


def why_rows(observation: Observation) -> list[tuple[str, str]]:
    """Return the reasons of an observation as labelled rows; empty where there are none."""
    name = "objection" if observation.status is ObservationStatus.ACCEPTED else "why"
    return [(name, "; ".join(observation.reasons))] if observation.reasons else []


def lowest(first: Trust, second: Trust) -> Trust:
    """Return the lower of two trusts."""
    return first if first.rank <= second.rank else second


def surer(confidence: float, count: int) -> float:
    """Return the confidence after `count` sources: each further one halves half of the doubt, up to 0.99."""
    return round(min(0.99, 1 - (1 - confidence) * 0.75 ** (count - 1)), 3)


def with_sources(known: Observation, more: tuple[Source, ...]) -> tuple[Source, ...]:
    """Return its sources and the new ones of `more`; the first ones stay where there are too many."""
    keys = {source.key for source in known.sources}
    return (*known.sources, *(source for source in more if source.key not in keys))[:_MOST_SOURCES]


MODEL_PLACE = "model:"  # before the key of a place that a model has read up to


class CallOutcome(StrEnum):
    """How a call ended, as far as the session says."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"  # interrupted, sent to the background, refused


class SessionEntry(Struct, frozen=True):
    """One block of one line."""

    session: str
    line: int
    uuid: str
    at: str
    cwd: str
    trust: Trust
    kind: str  # said | call | result
    text: str  # what was said, the command of a call, what a result holds
    tool: str = ""
    call_id: str = ""
    ended: CallOutcome = CallOutcome.OK
    person: bool = False  # words of the person at the keyboard, inside a result or not
    offered: dict[str, tuple[str, ...]] = {}  # question -> the answers that the agent offered the person

    @property
    def source(self) -> Source:
        return Source(self.session, self.line, self.uuid, self.at)


class FailedCommand(Struct):
    """A command that failed because something was missing, and waits for what helps."""

    command: str
    source: Source
    quote: str
    step: int
    trust: Trust
    missing: str = ""  # the name of a module or a program
    evidence: str = ""  # the output in which the quote was found
    helped: str = ""  # the command that installed it since
    folder: str = ""  # where it ran


class PendingCall(Struct, frozen=True):
    """A tool call whose result has not been seen yet."""

    tool: str
    command: str
    trust: Trust  # of whoever made it
    source: Source
    offered: dict[str, tuple[str, ...]] = {}


class ExtractionState(Struct):
    """What extraction holds between two lines; kept with the place in the file, so that a kill costs nothing."""

    calls: dict[str, PendingCall] = field(default_factory=dict)  # by the id of the call
    failures: list[FailedCommand] = field(default_factory=list)
    step: int = 0
    new: int = 0  # observations that this session has given so far


class ReadPosition(Struct, frozen=True):
    """One line of evolved/read.jsonl: how far a session was read. The key is its id and the hash of its first line."""

    key: str
    file: str
    offset: int
    line: int
    size: int
    mtime: int  # nanoseconds
    tail: str  # hash of the bytes before the offset: where it differs the file was rewritten
    at: str
    open: ExtractionState = field(default_factory=ExtractionState)
    schema: int = 1


class SkippedLines(Struct):
    """Why lines were passed over: how many, and the first of them."""

    count: int = 0
    first: int = 0


class SessionReport(Struct):
    """What became of one session file."""

    file: str
    session: str = ""
    bytes: int = 0
    lines: int = 0
    accepted: int = 0
    proposed: int = 0
    rejected: int = 0
    merged: int = 0
    left_out: int = 0  # beyond what one session may add
    finished: bool = True  # False where it was stopped on the way; the next call goes on
    seconds: float = 0.0
    skipped: dict[str, SkippedLines] = field(default_factory=dict)
    problem: str = ""
    unsure: str = ""  # the first version of the writing program that nobody here knows

    def skip(self, reason: str, line: int) -> None:
        """Note a line that was passed over."""
        known = self.skipped.setdefault(reason, SkippedLines(0, line))
        known.count += 1


class Rejection(Struct, frozen=True, omit_defaults=True):
    """One line of rejections.jsonl. The text is made safe and freed of secrets before it is stored."""

    at: str
    text: str
    quote: str
    session: str
    line: int
    kind: str
    reasons: tuple[str, ...]
    id: str = ""  # of the observation, where a model rejected it: a person can accept it still
    by: str = GATE  # or `model` and its name

    @property
    def whose(self) -> str:
        """Who rejected it, for people and programs."""
        return "rules" if self.by == GATE else self.by


class Metrics(Struct, frozen=True):
    """Figures from when the version was made."""

    entries: int = 0
    observations: int = 0
    waiting: int = 0
    rejected: int = 0
    sessions: int = 0
    bytes: int = 0


class Version(Struct, frozen=True):
    """One line of versions.jsonl; the last one is also in version.json."""

    version: int
    at: str
    by: str
    why: str
    digest: str
    files: dict[str, str]  # target -> sha256
    metrics: Metrics = field(default_factory=Metrics)
    kept: str = "copies"  # git | copies
    schema: int = 1
