"""A conversation as a journal: each answer of the model, each call as it begins and as it ends, what was said to it.

Whoever keeps these records can let another process go on from the last step that was finished. A call that had begun
and has no end may have happened; one that only waited for a person has not.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.tasks import Usage
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    Entry,
    ResultMessage,
    ResultMessages,
    UserMessage,
    without_native,
)

VERSION = 2
UNFINISHED = ("length", "pause", "empty", "tool", "astext", "announced")  # of answers without calls


class Head(Struct, frozen=True, tag="head", omit_defaults=True):
    """A conversation begins here; what stands before it in the journal is another one."""

    task: str
    about: str = ""  # a hash of what the task is to do
    attempt: int = 1
    provider: str = ""  # which kind of back end has it
    prompt: str = ""  # a hash of the system prompt and the tools
    version: int = VERSION


class GoesOn(Struct, frozen=True, tag="goes_on", omit_defaults=True):
    """Another attempt goes on from here."""

    attempt: int
    prompt: str = ""


class Answer(Struct, frozen=True, tag="answer", omit_defaults=True):
    """A whole answer of the model, as it is used. `key` and `day` name the call in the ledger."""

    turn: AssistantMessage
    usage: Usage = Usage()
    key: str = ""
    day: str = ""
    seconds: float = 0.0  # of the task's time, used until now


class CallBegun(Struct, frozen=True, tag="begun", omit_defaults=True):
    """A call is made from here on, one that must not be made twice."""

    call_id: str
    name: str
    what: str = ""  # the call in a few words
    approval: str = ""  # whose yes it uses up
    seconds: float = 0.0


class CallWaits(Struct, frozen=True, tag="waits"):
    """A call waits for a person: nothing of it has happened."""

    call_id: str
    approval: str


class CallEnded(Struct, frozen=True, tag="ended", omit_defaults=True):
    """What a call gave, and what is known after it."""

    result: ResultMessage
    seconds: float = 0.0
    web: tuple[str, ...] = ()  # hosts that were read from so far
    hosts: tuple[str, ...] = ()  # that a person added for this task so far
    running: tuple[str, ...] = ()  # commands in the background
    files: dict[str, str] = {}  # path -> hash of what this call read or wrote; empty where it is gone
    data: str = ""  # what it gave to a playbook, as JSON in ASCII: names of files need not be UTF-8


class PlaybookClock(Struct, frozen=True, tag="clock"):
    """From when a playbook counts: `now` in an objective is the same in each attempt. In seconds since 1970."""

    at: float


class BackendSession(Struct, frozen=True, tag="session"):
    """The back end keeps the conversation by itself, too, under this name."""

    id: str


class Rewritten(Struct, frozen=True, tag="rewritten"):
    """The whole conversation so far in another form, as it was cut to fit a window."""

    entries: tuple[UserMessage | AssistantMessage | ResultMessages, ...]


class Summary(Struct, frozen=True, tag="summary"):
    """What a cheaper model wrote of the first `upto` entries that the conversation has here.

    From here on `head` stands in their place: what is never taken out, and the summary as the model is told it. The
    other fields are what the next summary begins with.
    """

    upto: int
    head: tuple[UserMessage, ...]
    text: str
    model: str = ""
    calls: int = 0  # tool calls from the beginning of the conversation that are summed up
    touched: tuple[tuple[str, str], ...] = ()  # (tool, path) of those that went well, each once
    places: tuple[str, ...] = ()  # where which steps can be read whole, in words
    usage: Usage = Usage()
    key: str = ""  # of the call in the ledger, as in an Answer
    day: str = ""

    def after(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the conversation with the summary in its place."""
        return (*self.head, *without_native(entries[self.upto :]))


Record = (
    Head
    | GoesOn
    | UserMessage
    | AssistantMessage
    | Answer
    | CallBegun
    | CallWaits
    | CallEnded
    | PlaybookClock
    | BackendSession
    | Rewritten
    | Summary
)
_decoder = msgspec.json.Decoder(Record)


class Decoded(Struct, frozen=True):
    """The records of a journal up to its first damage, and which calls were begun behind that."""

    records: tuple[Record, ...] = ()
    damaged: bool = False
    lost: tuple[CallBegun, ...] = ()


def decoded(data: bytes) -> Decoded:
    """Return what can be read. A record behind a damaged one lacks its reason; what was begun there is known still."""
    *lines, torn = data.split(b"\n")
    records: list[Record] = []
    lost: list[CallBegun] = []
    damaged = False
    for line in lines:
        try:
            record = _decoder.decode(line)
        except UNDECODABLE:
            damaged = True
            continue
        if not damaged:
            records.append(record)
        elif isinstance(record, CallBegun):
            lost.append(record)
    return Decoded(tuple(records), damaged or bool(torn), tuple(lost))


class ConversationState:
    """Where a conversation stands after its records.

    `turn` is the last answer where it has not been dealt with: its calls have not all ended, or it has none and nothing
    was said to it.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._begin()
        self.calls: list[ResultMessage] = []  # that have ended, in order
        self.used: set[str] = set()  # approvals whose yes was used up
        self.known: dict[str, str] = {}  # path -> hash of the file as the task last read or wrote it
        self.usage = Usage()
        self.seconds = 0.0
        self.web: tuple[str, ...] = ()
        self.hosts: tuple[str, ...] = ()
        self.running: tuple[str, ...] = ()
        self.paid: Answer | Summary | None = None  # the last one
        for record in records:
            self._take(record)

    def _begin(self) -> None:
        self.entries: tuple[Entry, ...] = ()
        self.turn: AssistantMessage | None = None
        self.clock = 0.0
        self.session = ""
        self.results: dict[str, ResultMessage] = {}  # of that answer
        self.data: dict[str, str] = {}  # what calls gave to a playbook, by their ids
        self.begun: dict[str, CallBegun] = {}  # calls of that answer that may have happened
        self.ids: set[str] = set()  # of all calls
        self.rounds: list[tuple[AssistantMessage, tuple[ResultMessage, ...]]] = []  # answers whose calls have ended
        self.since: list[AssistantMessage] = []  # unfinished answers since the last call
        self.summary: Summary | None = None  # the last one

    def _take(self, record: Record) -> None:
        if isinstance(record, Head):
            self._begin()
        elif isinstance(record, Answer):
            self._answer(record)
        elif isinstance(record, CallBegun):
            self._note_time(record.seconds)
            self.begun[record.call_id] = record
            self.used |= {record.approval} - {""}
        elif isinstance(record, CallWaits):
            self.begun.pop(record.call_id, None)
        elif isinstance(record, CallEnded):
            self._end(record)
        elif isinstance(record, PlaybookClock):
            self.clock = record.at
        elif isinstance(record, BackendSession):
            self.session = record.id
        elif isinstance(record, Rewritten):
            self.entries, self.turn = record.entries, None
        elif isinstance(record, Summary):
            self.entries, self.summary = record.after(self.entries), record
            self.paid, self.usage = record, self.usage.plus(record.usage)
        elif isinstance(record, UserMessage | AssistantMessage):
            if self.turn is not None and not self.turn.makes_calls:
                self.since += [self.turn] if self.turn.stop in UNFINISHED else []
                self.turn = None
            self.entries += (record,)

    def _answer(self, record: Answer) -> None:
        self._note_time(record.seconds)
        self.paid, self.usage = record, self.usage.plus(record.usage)
        self.turn, self.results, self.begun = record.turn, {}, {}
        self.ids |= {call.id for call in record.turn.calls}

    def _end(self, record: CallEnded) -> None:
        self._note_time(record.seconds)
        self.web, self.running, self.hosts = record.web, record.running, record.hosts
        self.known = {path: known for path, known in (self.known | record.files).items() if known}
        self.calls.append(record.result)
        self.results[record.result.call_id] = record.result
        self.data |= {record.result.call_id: record.data} if record.data else {}
        self.begun.pop(record.result.call_id, None)
        if self.turn and all(call.id in self.results for call in self.turn.calls):
            ordered = tuple(self.results[call.id] for call in self.turn.calls)
            self.entries += (self.turn, ResultMessages(ordered))
            self.rounds.append((self.turn, ordered))
            self.turn, self.results, self.since = None, {}, []

    def _note_time(self, seconds: float) -> None:
        self.seconds = max(self.seconds, seconds)
