"""The context of a command: the state folder, the operator, and functions that print results."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui import hot
from lumen_tui.actions import acting
from lumen_tui.actions.acting import AGENT_PROGRAM
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.registry import perform
from lumen_tui.model import views
from lumen_tui.model.requests.base import Request
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import layout as layouts
from lumen_tui.storage import origin, schema
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.rewriting import Watch, unwatched
from lumen_tui.storage.store import Store

if TYPE_CHECKING:
    from lumen_tui.actions.acting import Caller
    from lumen_tui.model.attention import Queue
    from lumen_tui.model.snapshot import Snapshot
    from lumen_tui.queries.snapshot_reader import SnapshotReader
    from lumen_tui.storage.kept import KeptIndex


AGENT = "CLAUDECODE"  # set in what Claude Code starts


def by_agent() -> bool:
    """Return whether an agent's own program runs this command."""
    return bool(origin.agent_evidence(os.environ))


class Session:
    """One command's access to one state folder, on behalf of one operator."""

    def __init__(self, root: Path, operator: str) -> None:
        self.root = root
        self.operator = operator
        self.store = Store(root)
        self.layout = self.store.layout
        schema.heed(self.layout.schema)

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def snapshot(self) -> Snapshot:
        """Return what the room would show now, with ages by the machine's clocks, which allow for sleep."""
        with self._reader() as reader:
            return reader.snapshot(self.now)

    def queue(self) -> Queue:
        """Return what needs a person now and what is snoozed, without all else that the room would show."""
        with self._reader(queue_only=True) as reader:
            now = self.now
            reader.load(now)
            return reader.queue(now)

    @contextmanager
    def _reader(self, *, queue_only: bool = False) -> Iterator[SnapshotReader]:
        from lumen_tui.queries.snapshot_reader import SnapshotReader
        from lumen_tui.storage.clock import SystemClock, clocks_of

        with closing(SnapshotReader(self.root, self.operator, queue_only=queue_only)) as reader:
            reader.clocks = clocks_of(SystemClock())
            yield reader
            report_news(reader.signals.kept, reader.nodes.kept, reader.facts.kept)

    @property
    def judge(self) -> str:
        """The name for decisions: an agent's own program decides nothing in the operator's name."""
        return AGENT_PROGRAM if by_agent() else self.operator

    def must_exist(self) -> None:
        """Raise ActionError where there is no state folder and StoreError where it is not to be trusted."""
        if problem := self.layout.absent():
            raise ActionError(problem)
        if reason := layouts.distrust(self.root):
            raise StoreError(reason)

    def make_sure(self) -> None:
        """Create a missing state folder and report that, then check it as `must_exist` does."""
        if news := self.layout.create():
            talk(f"lumen-tui: {news}")
        self.must_exist()

    def perform(self, request: Request, *, by: str = "", watch: Watch = unwatched) -> Done:
        """Carry out one request as the operator and return its outcome."""
        if request.verb in acting.RESERVED:
            acting.must_not_be_agent(request.verb, origin.agent_evidence(os.environ))
        return perform(
            self.store,
            request,
            by=by or self.operator,
            now=self.now,
            client=hot.client_name(os.environ),
            watch=watch,
            order=self._is_order(),
        )

    def _is_order(self) -> bool:
        """Return whether what is asked is the operator's own word; a token is used up by asking with it."""
        if not origin.no_operator(os.environ):
            return True
        token = os.environ.get(origin.TOKEN, "")
        if not token or origin.agent_evidence(os.environ):
            return False
        from lumen_tui.store.settings import tokens

        if not tokens.use(self.layout, token, self.now):
            raise ActionError(f"{origin.TOKEN} holds no valid token: `lumen-tui operator token` makes one")
        return True

    @contextmanager
    def as_one_action(self) -> Iterator[Caller]:
        """Attribute what the block does to the operator, and let undo take it back as one action."""
        with acting.acting_for(self.operator, hot.client_name(os.environ), self.now):
            yield acting.caller()

    def note(self, verb: str, summary: str, final: str) -> None:
        """Record an action that no verb carries out, and why it cannot be undone."""
        from lumen_tui.actions import edits
        from lumen_tui.store.audit import journal

        with self.as_one_action():
            action = edits.new_action(verb, (), summary=summary, by=self.operator, now=self.now, final=final)
            journal.record(self.layout, action)


def say(text: str) -> None:
    """Print one line of the result."""
    print(safe(text))


def talk(text: str) -> None:
    """Print a line for people on standard error, beside the result."""
    print(safe(text), file=sys.stderr)


def report_news(*indexes: KeptIndex) -> None:
    """Print on standard error which kept indexes were of no use, and so were made again."""
    for kept in indexes:
        if kept.news:
            talk(f"lumen-tui: {kept.news}")


def document(value: object) -> None:
    """Print one JSON document, escaped to ASCII, so that nothing in it can act on a terminal."""
    import json  # here, so that commands that print text do without

    print(json.dumps(msgspec.to_builtins(value, enc_hook=views.builtins), indent=1))


def print_outcome(done: Done, *, as_json: bool) -> int:
    """Print what an action did, as a sentence or as one JSON document; return the exit code."""
    _talk_aside(done)
    document(done) if as_json else say(done.summary)
    return 0


def print_id(done: Done, *, as_json: bool) -> int:
    """Print the id of what an action created, and on standard error what else happened; return the exit code."""
    _talk_aside(done)
    document(done) if as_json else say(done.target)
    return 0


def print_id_and_outcome(done: Done, *, as_json: bool) -> int:
    """Print the id of what an action created, and on standard error what it did; return the exit code."""
    if not as_json:
        talk(done.summary)
    return print_id(done, as_json=as_json)


def _talk_aside(done: Done) -> None:
    if done.aside:
        talk(f"lumen-tui: {done.aside}")


def table(rows: Sequence[Iterable[str]]) -> None:
    """Print rows in columns as wide as their widest cell; the last column is not cut."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip())


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Give whether the program was asked to end: within the block that is noted, for what comes to an end by itself."""
    import signal

    asked: list[int] = []  # signals
    before = {
        number: signal.signal(number, lambda number, _: asked.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def read_text(name: str) -> str:
    """Return the text of a file that the operator names; `-` is standard input. Raise ActionError."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise ActionError(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ActionError(f"{name} is not UTF-8 (byte {error.start})") from error
