"""A conversation as a journal: each answer of the model, each call as it begins and as it ends, what was said to it.

Whoever keeps these records can let another process go on from the last step that was finished. A call that had begun
and has no end may have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    Entry,
    ResultMessage,
    ResultMessages,
    UserMessage,
    without_native,
)


class CallBegun(Struct, frozen=True, tag="begun"):
    """A call is made from here on."""

    call_id: str
    name: str


class CallEnded(Struct, frozen=True, tag="ended"):
    """What a call gave."""

    result: ResultMessage


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

    def after(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the conversation with the summary in its place."""
        return (*self.head, *without_native(entries[self.upto :]))


Record = UserMessage | AssistantMessage | CallBegun | CallEnded | Rewritten | Summary
_decoder = msgspec.json.Decoder(Record)


def decoded(lines: Iterable[bytes]) -> Iterator[Record]:
    """Yield the records of a journal up to the first line that cannot be read: what comes after it lacks its reason."""
    for line in lines:
        try:
            yield _decoder.decode(line)
        except UNDECODABLE:
            return


class ConversationState:
    """Where a conversation stands after its records. `turn` is an answer whose calls have not all ended."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.entries: tuple[Entry, ...] = ()
        self.turn: AssistantMessage | None = None
        self.results: dict[str, ResultMessage] = {}  # of that answer
        self.ids: set[str] = set()  # of all calls
        self.calls: list[ResultMessage] = []  # that have ended, in order
        self.summary: Summary | None = None  # the last one
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        if isinstance(record, CallEnded):
            self.calls.append(record.result)
            self.results[record.result.call_id] = record.result
            if self.turn and all(call.id in self.results for call in self.turn.calls):
                ordered = tuple(self.results[call.id] for call in self.turn.calls)
                self.entries += (self.turn, ResultMessages(ordered))
                self.turn, self.results = None, {}
        elif isinstance(record, Rewritten):
            self.entries = record.entries
        elif isinstance(record, Summary):
            self.entries, self.summary = record.after(self.entries), record
        elif isinstance(record, AssistantMessage) and record.calls and record.stop == "tool":
            self.turn, self.results = record, {}
            self.ids |= {call.id for call in record.calls}
        elif isinstance(record, UserMessage | AssistantMessage):
            self.entries += (record,)
