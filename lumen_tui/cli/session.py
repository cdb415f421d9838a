"""What every command gets: the state folder, who asks, and how the result is shown."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.engine.actions.registry import perform
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.model import plain
from lumen_tui.model.text import one_line, safe
from lumen_tui.store import layout as layouts
from lumen_tui.store.files import StoreError
from lumen_tui.store.store import Store


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

    def must_exist(self) -> None:
        """Refuse a folder that is not there or not to be trusted, with what to do."""
        if not self.layout.exists():
            raise ActionError(f"there is no state folder at {self.root}: make one with `lumen-tui init`")
        if reason := layouts.distrust(self.root):
            raise StoreError(reason)

    def make_sure(self) -> None:
        """The same, but a folder that is not there is made and told: a task shall need no preparation."""
        if self.layout.create():
            talk(f"lumen-tui: there was no state folder at {self.root}: it was made")
        self.must_exist()

    def perform(self, verb: str, *, by: str = "", **arguments: Any) -> Done:
        """Carry out one verb as the operator."""
        return perform(self.store, verb, arguments, by=by or self.operator, now=self.now)


def say(text: str) -> None:
    """One line of result."""
    print(safe(text))


def talk(text: str) -> None:
    """A line for people, beside the result."""
    print(safe(text), file=sys.stderr)


def document(value: Any) -> None:
    """One JSON document; everything beyond ASCII is escaped, so nothing in it can act on a terminal."""
    print(json.dumps(msgspec.to_builtins(value, enc_hook=plain.builtins), indent=1))


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
