"""What every command gets: the state folder, who asks, and how the result is shown."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lumen_tui.actions.facts import AGENT_PROGRAM
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.registry import perform
from lumen_tui.cli.fast import light
from lumen_tui.model import plain
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import layout as layouts
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.store import Store

if TYPE_CHECKING:
    from lumen_tui.actions.acting import Caller
    from lumen_tui.model.snapshot import Snapshot


AGENT = "CLAUDECODE"  # set in what an agent's own program starts


def by_agent() -> bool:
    """Whether an agent's own program asks."""
    return bool(os.environ.get(AGENT))


class Session:
    """One command's view of one state folder."""

    def __init__(self, root: Path, operator: str) -> None:
        self.root, self.operator = root, operator
        self.store = Store(root)
        self.layout = self.store.layout

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def picture(self) -> Snapshot:
        """What the room would show now. By the machine's clocks: one that slept makes nothing late."""
        from lumen_tui.queries.snapshot_reader import Reader
        from lumen_tui.storage.clock import SystemClock, clocks_of

        with closing(Reader(self.root, self.operator)) as reader:
            reader.clocks = clocks_of(SystemClock())
            return reader.snapshot(self.now)

    @property
    def judge(self) -> str:
        """Who decides: an agent's own program may speak for itself, and decides nothing in the operator's name."""
        return AGENT_PROGRAM if by_agent() else self.operator

    def must_exist(self) -> None:
        """Refuse a folder that is not there or not to be trusted, with what to do."""
        if why := self.layout.absent():
            raise ActionError(why)
        if reason := layouts.distrust(self.root):
            raise StoreError(reason)

    def make_sure(self) -> None:
        """The same, but a folder that is not there is made and that is told: a task shall need no preparation."""
        if news := self.layout.create():
            talk(f"lumen-tui: {news}")
        self.must_exist()

    def perform(self, verb: str, *, by: str = "", **arguments: Any) -> Done:
        """Carry out one verb as the operator."""
        client = light.client(os.environ)
        return perform(self.store, verb, arguments, by=by or self.operator, now=self.now, client=client)

    @contextmanager
    def word(self) -> Iterator[Caller]:
        """What is done in the block is done on the operator's word, and undone as one."""
        from lumen_tui.actions import acting

        with acting.acting_for(self.operator, light.client(os.environ), self.now):
            yield acting.caller()

    def note(self, verb: str, said: str, final: str) -> None:
        """Put into the journal of actions what no verb does, and why it cannot be undone."""
        from lumen_tui.actions import edits
        from lumen_tui.store.audit import journal

        with self.word():
            action = edits.new_action(verb, (), summary=said, by=self.operator, now=self.now, final=final)
            journal.record(self.layout, action)


def say(text: str) -> None:
    """One line of result."""
    print(safe(text))


def talk(text: str) -> None:
    """A line for people, beside the result."""
    print(safe(text), file=sys.stderr)


def document(value: Any) -> None:
    """One JSON document; everything beyond ASCII is escaped, so nothing in it can act on a terminal."""
    print(json.dumps(msgspec.to_builtins(value, enc_hook=plain.builtins), indent=1))


def told(done: Done, *, as_json: bool) -> int:
    """What an action did, as a sentence or as one JSON document; returns the exit code."""
    document(done) if as_json else say(done.summary)
    return 0


def made(done: Done) -> int:
    """The id of what an action made, and beside it what else happened; returns the exit code."""
    if done.aside:
        talk(f"lumen-tui: {done.aside}")
    say(done.target)
    return 0


def table(rows: Sequence[Iterable[str]]) -> None:
    """Rows in columns as wide as their widest cell; the last column runs on."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip())


def read_text(name: str) -> str:
    """The text of a file that the operator names; `-` is standard input."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise ActionError(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ActionError(f"{name} is not UTF-8 (byte {error.start})") from error
