"""The head of the chain of hashes as the engine noted it elsewhere: what shows that the chain itself was taken away.

It stands in heartbeat.json, after each beat, and in events.jsonl, where an engine began. Whoever takes the chain away,
cuts its end off or puts another in its place leaves a note of a line that is not in it any more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.seals import SealHead, SealKind
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


def lost(root: files.StrPath, heads: Iterable[SealHead]) -> list[SealHead]:
    """Return those of the heads that the chain does not have, though it goes back as far. Raise StoreError."""
    left = {one.head: one for one in heads}
    if not left:
        return []
    first, behind = _look_for(left, root, NAME)
    if left and behind and seals.head(root, EARLIER).head == behind:
        first, _ = _look_for(left, root, EARLIER)
    return [one for one in left.values() if one.seals >= first]


def _look_for(left: dict[str, SealHead], root: files.StrPath, page: str) -> tuple[int, str]:
    """Take off what a page has; return the number of its first seal, and the hash of the line that it goes on from."""
    first = None
    for line in seals.lines(root, page):
        left.pop(seals.sha256(line), None)
        try:
            seal = seals.decode(line)
        except UNDECODABLE:
            continue
        first = first or seal
        for head in seal.instead:
            left.pop(head, None)
    if first is None:
        return 0, ""
    return first.number, first.previous if first.kind is SealKind.CARRIED else ""


def fault_of(heads: list[SealHead]) -> SealFault:
    """Say what lost heads show."""
    newest = max(heads, key=lambda one: one.seals)
    what = f"seal {newest.seals}, which the engine noted at {one_line(newest.at, 40)}, is not in it"
    return SealFault(NAME, f"{what}: the chain was taken away, cut off or replaced by another")
