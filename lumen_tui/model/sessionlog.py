"""A session file as evolution reads it: who said what on which line."""

from __future__ import annotations

from msgspec import Struct, field

from lumen_tui.model.evolution import Source, Trust

MODEL_PLACE = "model:"  # before the key of a place that a model has read up to


class Entry(Struct, frozen=True):
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
    ok: bool = True
    person: bool = False  # words of the person at the keyboard, inside a result or not
    path: str = ""  # the file that a call changes

    @property
    def source(self) -> Source:
        return Source(self.session, self.line, self.uuid, self.at)


class Failure(Struct):
    """A command that failed and waits for what fixes it."""

    command: str
    why: str  # one of a few plain words, or the name of an error: never the output itself
    source: Source
    quote: str
    step: int
    trust: Trust
    between: list[str] = field(default_factory=list)  # what was installed or changed since
    evidence: str = ""  # the output in which the quote stands


class Call(Struct, frozen=True):
    """A tool call whose result has not been seen yet."""

    tool: str
    command: str
    path: str
    trust: Trust  # of whoever made it
    source: Source


class Open(Struct):
    """What extraction holds between two lines; kept with the place in the file, so that a kill costs nothing."""

    calls: dict[str, Call] = field(default_factory=dict)  # by the id of the call
    failures: list[Failure] = field(default_factory=list)
    step: int = 0
    new: int = 0  # observations that this session has given so far


class Place(Struct, frozen=True):
    """One line of evolved/read.jsonl: how far a session was read. The key is its id and the hash of its first line."""

    key: str
    file: str
    offset: int
    line: int
    size: int
    mtime: int  # nanoseconds
    tail: str  # hash of the bytes before the offset: where it differs the file was rewritten
    at: str
    open: Open = field(default_factory=Open)
    schema: int = 1


class Skipped(Struct):
    """Why lines were passed over: how many, and the first of them."""

    count: int = 0
    first: int = 0


class Report(Struct):
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
    skipped: dict[str, Skipped] = field(default_factory=dict)
    problem: str = ""
    unsure: str = ""  # the first version of the writing program that nobody here knows

    def skip(self, reason: str, line: int) -> None:
        """Note a line that was passed over."""
        known = self.skipped.setdefault(reason, Skipped(0, line))
        known.count += 1
