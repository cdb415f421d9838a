"""What an open room tells its terminal beside the screen: its title, a bell, a notification of the desktop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from textual.app import App

from lumen_tui.engine.telling import Mouth, is_silent, own_items, record_silence
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.model.notifying import Message, messages
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import OpenItem
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.host import Host

_BELL = "\a"
_SOON = 1.0  # seconds between two looks at least


class TerminalMouth:
    """The mouth `terminal NAME` of one operator, in one room. What stood on the queue when it opened is not rung."""

    def __init__(self, host: Host, app: App[Any], environ: Mapping[str, str]) -> None:
        self._host = host
        self._app = app
        self._title = ""
        self._environ = environ
        self._mouth: Mouth | None = None
        self._heard: tuple[OpenItem, ...] | None = None
        self._again = float("inf")
        self._busy = False

    def hear(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot: tell what is new on the queue of this operator."""
        if not snapshot.root or snapshot.loading < 1 or snapshot.read_only or self._busy:
            return
        items, now = own_items(snapshot), self._host.clock()
        if items == self._heard and now < self._again and not is_silent(snapshot):
            return
        if self._mouth is None:
            self._mouth = Mouth(Layout(Path(snapshot.root)), f"terminal {one_line(self._host.operator, 60)}")
        self._busy = True
        self._host.run_worker(self._tell(self._mouth, snapshot, items, now), group="bell")

    async def _tell(self, mouth: Mouth, snapshot: Snapshot, items: tuple[OpenItem, ...], now: float) -> None:
        config, first = snapshot.config.notify, self._heard is None
        try:
            if is_silent(snapshot):
                await asyncio.to_thread(record_silence, Layout(Path(snapshot.root)), snapshot, now)
            told = await asyncio.to_thread(mouth.take, items, config, now, shown=first or not config.terminal)
        except (files.StoreError, OSError):
            return  # without a receipt nothing is told; the next snapshot tries again
        finally:
            self._busy = False
        self._heard, self._again = items, max(told.again, now + _SOON)
        if told.transitions and not first:
            self._write(sequences(messages(told, snapshot.config.agent.name), config, self._environ))

    def name_terminal(self, snapshot: Snapshot) -> None:
        """Keep the terminal's title in step with the count of what needs a person."""
        count, name = len(snapshot.attention), snapshot.config.agent.name
        title = one_line(f"({count}) {name}" if count else name, 60)
        if title != self._title and self._write(f"\x1b]0;{title}\x07"):
            self._title = title

    def _write(self, text: str) -> bool:
        """Send the terminal what is no part of the screen; return whether there is one."""
        if self._app._driver is None or self._app.is_headless:
            return False
        self._app._driver.write(text)
        return True


def sequences(told: Iterable[Message], config: NotifyConfig, environ: Mapping[str, str]) -> str:
    """Return what a terminal is sent for these messages: one bell for all of them, a notification for each."""
    inside = bool(environ.get("TMUX") or environ.get("STY"))  # it keeps to itself what it does not know
    text = _BELL if "bell" in config.terminal else ""
    if inside and not config.passthrough:
        return text
    for message in told:
        for kind in config.terminal:
            if kind != "bell":
                text += _through(_notification(kind, message), inside)
    return text


def _notification(kind: str, message: Message) -> str:
    title, body = _harmless(message.title), _harmless(message.body)
    if kind == "osc777":
        return f"\x1b]777;notify;{title};{body}\x07"
    return f"\x1b]9;{title}: {body}\x07"


def _harmless(text: str) -> str:
    """Return one line without what ends or divides a sequence."""
    return one_line(text).replace(";", ",")


def _through(sequence: str, inside: bool) -> str:
    """Return the sequence as tmux hands it on to the terminal around it."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\" if inside else sequence
