"""What goes to a host of a task and what comes home: an order, each change of a file as a numbered frame, a lease."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.asks import ANSWERS, ASKS
from lumen_tui.model.config import Asks
from lumen_tui.model.patterns import lazy_re

TRANSCRIPT = "transcript.jsonl"  # stands for the session file of the attempt, which is not in the task's folder
LOG = "worker.log"
JOURNALS = ("events.jsonl", "steps.jsonl", "network.jsonl", ASKS, LOG)
# In the order in which they are sent: what ends the attempt comes after all that it ended with.
ENDS = ("parked.json", "put-back.json", "claim.json", "exit.json")
RECORDS = ("begun.json", "result.md", "wait.json", *ENDS)
ORDERS = ("stop.json", "hold.json")  # what the engine writes for a worker, and ...
TOLD = (ANSWERS, "steers.jsonl")  # ... what it only ever adds to
SPEC = "spec.json"  # of which a host takes over the limits
TREE = "tree.pack"  # in an order: the folder in which the task works
_GIVEN = (SPEC, TREE, *TOLD)
_EARLIER = lazy_re(r"(?:run|claim)\.[0-9]{1,6}\.json|steps\.[0-9]{1,6}\.jsonl").fullmatch
_TREE = lazy_re(r"tree\.[0-9]{1,6}\.jsonl").fullmatch
_SETTING = lazy_re(r"(?:roles|prompts)/[a-z0-9][a-z0-9-]{0,63}\.md|work/WU-[0-9]{1,9}\.md").fullmatch
_OUTPUT = lazy_re(r"outputs/(?:[0-9]{1,9}\.(?:txt|png)|(?:image|pdf)-[0-9a-f]{1,64}\.(?:png|pdf))").fullmatch


class Frame(Struct, frozen=True, omit_defaults=True):
    """One change of one file, by `seq` from 1 without a gap: bytes that were added at `offset`, or all there is."""

    seq: int
    attempt: int
    name: str  # of the file, below the task's folder
    data: bytes = b""
    offset: int = 0
    whole: bool = False  # whether the file holds these bytes and no others

    @property
    def end(self) -> int:
        """The length of the file behind this change."""
        return (0 if self.whole else self.offset) + len(self.data)


def is_output(name: str) -> bool:
    """Return whether this is the name of a result that is kept in a file of its own."""
    return _OUTPUT(name) is not None


def may_be_sent(name: str) -> bool:
    """Return whether a host may write a file of this name into the folder of a task here."""
    return name in JOURNALS or name in RECORDS or name == TRANSCRIPT or is_output(name) or is_tree(name)


def is_tree(name: str) -> bool:
    """Return whether this is the name of a journal in which a host tells what was changed."""
    return _TREE(name) is not None


class TreeFile(Struct, frozen=True, omit_defaults=True):
    """A file or link below the folder of a task, or a piece of one from `offset`; without a hash it is gone."""

    name: bytes  # as the file system has it
    mode: int = 0o644
    link: bool = False
    sha256: str = ""  # of all of it
    size: int = 0
    data: bytes = b""
    offset: int = 0


def tree_journal(attempt: int) -> str:
    """Return the name of the journal in which a host tells what an attempt changed in the folder of its task."""
    return f"tree.{attempt}.jsonl"


class HostLease(Struct, frozen=True):
    """tasks/<id>/lease.json, on a host: until when the engine is known to be there, by the clock since that boot."""

    until: float
    boot_id: str

    def over(self, running: float, boot_id: str) -> bool:
        """Return whether it has ended; one of an earlier boot has, as nobody renewed it since."""
        return boot_id != self.boot_id or running >= self.until


class Home(Struct, frozen=True, omit_defaults=True):
    """tasks/<id>/home.json: the last frame of an attempt on a host that is durable here.

    `over` says how it ended that no worker of it said itself. `whole`: every frame of it is here, so that what it had
    begun is known.
    """

    attempt: int
    seq: int
    host: str = ""
    over: str = ""
    whole: bool = False


class HostOrder(Struct, frozen=True):
    """One attempt at one task for a host. No key is ever in it: a host has its own, and its own settings.

    What a person is to be asked for here is asked there as well, beside what the host's own settings name.
    """

    task_id: str
    attempt: int
    role: str
    files: dict[str, bytes]  # path below a state folder -> content
    asks: tuple[Asks, ...] = ()  # of [approvals]
    resources: tuple[str, ...] = ()


def may_be_given(path: str, task_id: str) -> bool:
    """Return whether an order for a task may bring a file at this path below the state folder of a host."""
    name = path.removeprefix(f"tasks/{task_id}/")
    if name == path:
        return _SETTING(path) is not None
    if is_tree(name):
        return False  # what it told is in the folder that is given
    return name in _GIVEN or may_be_sent(name) or _EARLIER(name) is not None
