"""The head of the chain of hashes as the engine noted it elsewhere: what shows that the chain itself was taken away.

It stands in heartbeat.json, after each beat, and in events.jsonl, where an engine began. Whoever takes the chain away,
cuts its end off or puts another in its place leaves a note of a line that is not in it any more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.seals import Seal, SealHead, SealKind
from lumen_tui.model.text import one_line
from lumen_tui.storage import backwards, files, seals
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.seals import EARLIER, NAME, SealFault

STARTED = "engine_started"  # the kind of the event that has it
_MOST = 2 * 1024 * 1024  # bytes of each page of the events in which it is looked for
_NEEDLE = f'"kind":"{STARTED}"'.encode()


class _Started(msgspec.Struct):
    at: str
    data: SealHead


_beat = msgspec.json.Decoder(SealHead).decode
_started = msgspec.json.Decoder(_Started).decode


def noted(layout: Layout) -> list[SealHead]:
    """Return the heads that were noted last."""
    return [*_of_the_last_beat(layout), *_of_the_last_start(layout)]


def _of_the_last_beat(layout: Layout) -> Iterator[SealHead]:
    with contextlib.suppress(files.StoreError, OSError, *UNDECODABLE):
        if (one := _beat(files.read(layout.heartbeat) or b"")).head:
            yield one


def _of_the_last_start(layout: Layout) -> Iterator[SealHead]:
    for page in (layout.events, layout.earlier_events):
        with contextlib.suppress(files.StoreError, OSError, *UNDECODABLE):
            tail = backwards.read_tail(page, _MOST)
            if (at := tail.rfind(_NEEDLE)) >= 0:
                event = _started(tail[tail.rfind(b"\n", 0, at) + 1 : tail.index(b"\n", at)])
                if event.data.head:
                    yield msgspec.structs.replace(event.data, at=event.at)
                return


class HeadSearch:
    """Looks for heads in the lines of the chain, which are passed in order by whoever reads them."""

    def __init__(self, heads: Iterable[SealHead]) -> None:
        self._left = {one.head: one for one in heads}
        self._first: Seal | None = None

    def add(self, line: bytes, seal: Seal | None) -> None:
        """Take in the next line and its seal; None for a line that is none."""
        if self._left:
            self._left.pop(seals.sha256(line), None)
        if seal is None:
            return
        self._first = self._first or seal
        for head in seal.instead:
            self._left.pop(head, None)

    def lost(self, root: files.StrPath) -> list[SealHead]:
        """Return those that the chain does not have, though it goes back as far. Raise StoreError.

        Where its newest page does not have them the one before it is read, if the newest goes on from that.
        """
        first = self._first
        behind = first.previous if first and first.kind is SealKind.CARRIED else ""
        if self._left and behind and seals.head(root, EARLIER).head == behind:
            before = HeadSearch(self._left.values())
            for line, seal in seals.lines_and_seals(root, EARLIER):
                before.add(line, seal)
            self._left, first = before._left, before._first
        return [one for one in self._left.values() if one.seals >= (first.number if first else 0)]


def fault_of(heads: list[SealHead]) -> SealFault:
    """Say what lost heads show."""
    newest = max(heads, key=lambda one: one.seals)
    what = f"seal {newest.seals}, which the engine noted at {one_line(newest.at, 40)}, is not in it"
    return SealFault(NAME, f"{what}: the chain was taken away, cut off or replaced by another")
