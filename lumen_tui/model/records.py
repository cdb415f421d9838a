"""The memory records as they are in the journals, and the rows of lists that are asked for when they open.

Unknown fields are kept by the store, not here. Field names follow the documented LumenFlow formats where there is one,
so that old files read as they are. Texts of rows are safe.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, convert_readable, decode_readable, lazy_decoder
from lumen_tui.model.kinds import DISCOVERY_ALIASES as DISCOVERY_ALIASES
from lumen_tui.model.kinds import LIFECYCLE_BY_TYPE as LIFECYCLE_BY_TYPE
from lumen_tui.model.kinds import LIFECYCLES as LIFECYCLES
from lumen_tui.model.kinds import NODE_TYPES as NODE_TYPES
from lumen_tui.model.kinds import PRIORITIES as PRIORITIES
from lumen_tui.model.kinds import RELATION_TYPES as RELATION_TYPES
from lumen_tui.model.kinds import priority_rank as priority_rank
from lumen_tui.model.text import safe_all

EVERYONE = "*"  # the reader of a legacy receipt, which names none


class Signal(Struct, frozen=True, omit_defaults=True, gc=False):
    """An immutable note between agents (signals.jsonl)."""

    id: str
    message: str
    created_at: str
    type: str = "coordination"
    sender: str = "system"
    target_agent: str = ""
    wu_id: str = ""
    lane: str = ""
    priority: str = ""
    reply_to: str = ""
    task_id: str = ""  # the task or loop that sent it
    session_id: str = ""  # the session in which it was sent
    order: bool = False  # the operator's own word: the process that sent it was seen to be theirs
    read: bool = False  # inline in legacy records only
    schema: int = 1


class Receipt(Struct, frozen=True, omit_defaults=True, gc=False):
    """The proof that one reader saw a signal, or with `upto` that one and every earlier one."""

    signal_id: str
    read_at: str
    reader: str = EVERYONE
    upto: bool = False
    offset: int = -1  # where the signal's line begins: a hint, checked before it is believed
    schema: int = 1


class Node(Struct, frozen=True, omit_defaults=True):
    """One memory node (memory.jsonl; the last line of an id wins)."""

    id: str
    type: str
    content: str
    created_at: str
    lifecycle: str = "wu"
    updated_at: str = ""
    wu_id: str = ""
    session_id: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, object] = field(default_factory=dict)
    created_by: str = ""
    schema: int = 1

    @property
    def title(self) -> str:
        """The first line of the content."""
        return self.content.partition("\n")[0]

    @property
    def priority(self) -> str:
        """P0 to P3, or the empty string."""
        value = self.metadata.get("priority")
        return value if isinstance(value, str) and value in PRIORITIES else ""

    @property
    def status(self) -> str:
        """`open`, or what became of it: `archived`, `promoted`, `deleted`, `snoozed`."""
        value = self.metadata.get("status")
        return value if isinstance(value, str) and value else "open"

    @property
    def pinned(self) -> bool:
        """Pinned nodes never decay."""
        return self.metadata.get("pinned") is True

    @property
    def created(self) -> float:
        """Creation in seconds since 1970; 0 where the date cannot be read."""
        return times.epoch(self.created_at)


_NO_SIGNAL: Mapping[str, object] = {"id": "", "message": "(not readable)", "created_at": "", "sender": "unknown"}
_NO_NODE: Mapping[str, object] = {"id": "", "type": "note", "content": "", "created_at": ""}
_receipt = lazy_decoder(Receipt)


def decode_signal(line: bytes) -> Signal:
    """Return the signal in a line, every text safe. A field of a wrong type falls back to plain words."""
    return decode_readable(line, Signal, **_NO_SIGNAL)


def decode_node(line: bytes) -> Node:
    """Return the node in a line, every text safe. A field of a wrong type has its default, an id is empty."""
    return _frozen(decode_readable(line, Node, **_NO_NODE))


def decode_receipt(line: bytes) -> Receipt | None:
    """Return the receipt in a line; None where there is none."""
    try:
        return _receipt.decode(line)
    except UNDECODABLE:
        return None


def signal_of(record: Mapping[str, object]) -> Signal:
    """Return the signal in a decoded line, as `decode_signal` does."""
    return convert_readable(record, Signal, **_NO_SIGNAL)


def node_of(record: Mapping[str, object]) -> Node:
    """Return the node in a decoded line, as `decode_node` does."""
    return _frozen(convert_readable(record, Node, **_NO_NODE))


def _frozen(node: Node) -> Node:
    """Return the node with the lists in its metadata as tuples, whichever way it was decoded."""
    return msgspec.structs.replace(node, metadata=safe_all(node.metadata)) if node.metadata else node


class Relationship(Struct, frozen=True, omit_defaults=True):
    """A typed edge between two nodes or a node and a work unit (relationships.jsonl)."""

    from_id: str
    to_id: str
    type: str
    created_at: str
    schema: int = 1


class Touch(Struct, frozen=True, omit_defaults=True, gc=False):
    """A use or a confirmation of a node: its age counts from here (touches.jsonl)."""

    node_id: str
    at: str
    kind: str = "use"  # use | confirm | touch
    by: str = ""
    schema: int = 1


class Change(Struct, frozen=True):
    """One thing an action changed; `before` or `after` is None where it did not exist."""

    kind: str  # node | work | role | setting | grant
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Stage:
    """How far an action is that takes several writes: told before the first of them, and again after the last."""

    BEGUN, DONE, DROPPED = "begun", "done", "dropped"


class Action(Struct, frozen=True, omit_defaults=True):
    """One operator action with all that is needed to take it back (actions.jsonl).

    One of several writes takes two lines of one id: `begun`, with the changes, before the first write, and `done`, or
    `dropped` where nothing of it was written.
    """

    id: str
    at: str
    by: str
    verb: str
    target: str
    summary: str
    changes: tuple[Change, ...] = ()
    reason: str = ""
    undoes: str = ""
    redoes: str = ""
    client: str = ""  # the room or the session that it was done in, or `cli`; none in records of earlier versions
    group: str = ""  # the id of the first of several that are undone as one
    final: str = ""  # why it cannot be undone, and what to do instead
    stage: str = ""  # one of Stage, or nothing for what took a single write
    process: str = ""  # of a begun one: who carries it out, as `store.process.name` has it
    schema: int = 1


MOST_COMPARED = 5000  # open discoveries whose titles are compared: the most urgent ones
ALIKE_FROM = 80  # per cent of likeness below which two titles are not called alike


class Alike(Struct, frozen=True):
    """An open discovery that resembles another one; `score` is the likeness of their titles in per cent."""

    node_id: str
    title: str
    priority: str
    wu_id: str
    tags: tuple[str, ...]
    created: float  # seconds since 1970
    score: int = 100
    sure: bool = True  # like enough to be decided with the other one unless a person says no


class AuditEntry(Struct, frozen=True):
    """One action of an operator, without what it changed."""

    id: str
    at: str
    by: str
    verb: str
    target: str = ""
    summary: str = ""
    reason: str = ""
    undoes: str = ""
    redoes: str = ""
    changes: int = 0  # how many things it changed
    undone: bool = False  # taken back, and not done again since
    client: str = ""  # the room or the session that it was done in, or `cli`
    group: str = ""  # the id of the first of several that are undone as one
    final: str = ""  # why it cannot be undone, and what to do instead
    stage: str = ""  # `begun` where it was cut off


class NodeRow(Struct, frozen=True):
    """A node that does not fade: archived, or protected. `why` says which rule or reason put it there."""

    node: Node
    touched: float  # seconds since 1970
    why: str


class SignalRow(Struct, frozen=True, gc=False):
    """A signal and whether the operator has read it."""

    signal: Signal
    unread: bool


class DiscoveryRow(Struct, frozen=True):
    """An open discovery; `like` is a near duplicate (id and score in per cent) once one was looked for."""

    node: Node
    created: float
    like: tuple[str, int] | None = None


class Untriaged(Struct, frozen=True):
    """Discoveries that are open for longer than the setting allows: how many, and the oldest, in seconds since 1970."""

    count: int = 0
    oldest: float = 0.0
