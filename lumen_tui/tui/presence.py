"""That the operator is looking, noted now and then; and one calm line on what happened while nobody was.

A key or the mouse is what shows that somebody looks: a room may stand open for days in a detached terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.model.digest import AWAY, Digest
from lumen_tui.model.digest import line as summary_line
from lumen_tui.model.operators import changed_words
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.queries import digest, operators
from lumen_tui.queries.digest import LastVisit
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.host import Host

if TYPE_CHECKING:
    from textual.worker import Worker


_EVERY = 180.0  # seconds between two notes: what a kill of the room may lose
_SOON = 0.05  # seconds
_WIDE = 110  # cells
_SHOWN = 60.0  # seconds that the line stays, unless something else is said


class Presence:
    """Of one operator in one room. `before` is when they looked last, before they came or came back to it."""

    def __init__(self, host: Host, selected: Callable[[], str]) -> None:
        self._host = host
        self._selected = selected  # the id that the selected row of the room is about
        self._layout: Layout | None = None
        self._touched = 0.0  # when somebody last pressed a key
        self._noted = 0.0  # when that was written down last, or is about to be
        self._reading = False  # the last note, and what happened since: nothing takes its place before that is said
        self._coming: Worker[None] | None = None
        self._heard: set[str] | None = None  # acts of others that were there before, or were told
        self.before: LastVisit | None = None

    def begin(self, root: str) -> None:
        """Say what happened, now that the room shows everything, and begin to note."""
        if self._layout is not None or not root:
            return
        layout = Layout(Path(root))
        if layout.exists():
            self._layout, self._touched = layout, self._host.clock()
            self._arrive(layout)
            if not self._host.read_only:
                self._host.run_worker(asyncio.to_thread(self._enter, layout), group="presence")

    def _arrive(self, layout: Layout) -> None:
        """Nothing is noted from here until the last note is read: the next key comes before that, so may the end."""
        self._noted, self._reading = self._touched, True
        self._coming = self._host.run_worker(self._come(layout), group="presence")

    async def _come(self, layout: Layout) -> None:
        """Somebody is there now who was not before."""
        now = self._host.clock()
        self.before = await asyncio.to_thread(digest.read_visit, layout, self._host.operator)
        if self.before is not None and now - self.before.at > AWAY:
            await self._tell(await asyncio.to_thread(self.digest))
        self._reading = False
        self._show_note()
        await asyncio.to_thread(self._note)

    def looked(self) -> None:
        """Note a key or the mouse. After a long silence it is as if the room were opened."""
        now, before = self._host.clock(), self._touched
        self._touched = now
        if self._layout is None:
            return
        if now - before > AWAY:
            self._arrive(self._layout)
        elif not 0 <= now - self._noted < _EVERY:
            self._noted = now
            self._host.run_worker(asyncio.to_thread(self._note), group="presence")

    def digest(self) -> Digest:
        """Return what happened since the operator looked last before this room. Reads files: call it from a thread."""
        assert self._layout is not None  # noqa: S101 - nothing asks before the room shows everything
        return digest.digest_for(self._layout, self._host.operator, self._host.clock(), seen=self.before)

    @property
    def ready(self) -> bool:
        """Whether there is a state folder to read."""
        return self._layout is not None

    def leave(self) -> None:
        """The room is left, also by a hang-up. Where nobody was there any more, or not for long enough to be told
        what happened before, the last note stands."""
        if self._layout is not None and not self._host.read_only:
            operators.leave_room(self._layout)
        if self._reading and self._coming is not None:
            self._coming.cancel()
        elif 0 <= self._host.clock() - self._touched < _EVERY:
            self._note()

    def _enter(self, layout: Layout) -> None:
        """Whoever cannot be seen by others for want of a disk works all the same."""
        with contextlib.suppress(files.StoreError, OSError):
            operators.enter_room(layout, self._host.operator, os.environ, self._host.clock())

    def _show_note(self) -> None:
        """Show what another operator left for the next, once: to whoever was not there since."""
        note = self._host.room.snapshot.operators.note
        if note is None or note.by == self._host.operator or (self.before and note.at <= self.before.at):
            return
        from lumen_tui.tui.screens.operators import note_page

        self._host.push_screen(note_page(note, self._host.clock()))

    def hear(self, snapshot: Snapshot) -> None:
        """Say what another operator did a moment ago to what is looked at here, and that a note was left."""
        now, view = self._host.clock(), snapshot.operators
        known, self._heard = self._heard, {deed.id for deed in view.deeds}
        for deed in view.deeds:
            if known is None or deed.id in known:
                continue
            if deed.target in self._looked_at():
                self._say(changed_words(deed, now))
            elif view.note is not None and deed.id == view.note.id:
                self._say(f"{deed.by} left a note: {self._key('operators')} shows it")

    def _say(self, text: str) -> None:
        """Say it at the bottom of what is in front."""
        from lumen_tui.tui.kit.screen import DetailScreen

        screen = self._host.screen
        screen.say(text) if isinstance(screen, DetailScreen) else self._host.room.say(text)

    def _looked_at(self) -> set[str]:
        """Return the ids of what is open and of the selected row."""
        return {name for name in (getattr(self._host.screen, "subject", ""), self._selected()) if name}

    def _key(self, action: str) -> str:
        return shown_key(BY_ACTION[action], self._host.room.snapshot.config.keys)

    def _note(self) -> None:
        """A folder that cannot be written is no matter: the digest will only begin earlier."""
        if self._layout is None or self._host.read_only or self._reading:
            return
        self._noted = self._host.clock()
        try:
            digest.note_visit(self._layout, self._host.operator, self._noted)
        except (files.StoreError, OSError):
            return

    async def _tell(self, digest: Digest) -> None:
        text, room = summary_line(digest), self._host.room
        if not text:
            return
        while not room.is_mounted:  # noqa: ASYNC110 - the first snapshot was quicker than the screen
            await asyncio.sleep(_SOON)
        key = self._key("since")
        summary = (
            f"{text} · {key} to read" if room.size.width >= _WIDE else f"{key} reads: {text}"
        )  # its end may be cut
        room.say(summary, seconds=_SHOWN)
