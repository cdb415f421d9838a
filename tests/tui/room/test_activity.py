"""The strip of activity: what the last hours cost, when loops ended, and what failed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lumen_tui.model.budget import recent_slots
from lumen_tui.model.loop import Packet
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.model.spendbook import SLOT, Amount, Book, SpendView
from lumen_tui.model.times import iso
from lumen_tui.tui.panes.activity import BUCKETS, something, strip
from lumen_tui.tui.theme import ASCII, NO_APPEARANCE, Appearance

NOW = 1_800_000_000.0


def packet(ago: float, failed: str = "") -> Packet:
    return Packet(id="pkt-1", loop=1, started_at=iso(NOW - ago - 10), completed_at=iso(NOW - ago), failed=failed)


def drawn(snapshot: Snapshot, width: int = 118, look: Appearance = NO_APPEARANCE) -> str:
    return "".join(segment.text for segment in strip(snapshot, NOW, width, look))


def test_each_bucket_is_five_minutes_of_the_ledger() -> None:
    last = int(NOW // SLOT)
    book = Book(slots={last: Amount(100, 0.5), last - 1: Amount(50, 0.25), last - BUCKETS: Amount(9, 9.0)})
    slots, in_usd = recent_slots(book, NOW)
    assert (len(slots), slots[-2:], in_usd) == (BUCKETS, (0.25, 0.5), True)
    assert sum(slots) == 0.75
    slots, in_usd = recent_slots(Book(slots={last: Amount(100, 0.0)}), NOW)
    assert (slots[-1], in_usd) == (100.0, False)
    assert recent_slots(Book(), NOW) == ((), False)


def test_spend_loops_and_failures_stand_on_one_line() -> None:
    slots = (*(0.0,) * (BUCKETS - 2), 0.25, 0.5)
    needs = (Attention(Need.FAILED, "tsk-1", "x failed", NOW - 3600),)
    snapshot = Snapshot(
        root="/s", taken=NOW, spend=SpendView(slots=slots, slots_usd=True), attention=needs,
        packets=(packet(9 * 3600), packet(4000), packet(60, "no model")),
    )  # fmt: skip
    text = drawn(snapshot, 150)
    assert text.startswith("5 h ▁▁▁")
    assert "▅█ now   $0.75 in the last hour   loops ···" in text
    assert "┆···✗" in text
    assert f"✗ 1 failed {iso(NOW - 3600)[11:16]}" in text
    assert drawn(snapshot, 150, Appearance(NO_APPEARANCE.ink, ASCII)).isascii()


@pytest.mark.parametrize("width", [0, 1, 20, 72, 98, 118, 400])
def test_the_strip_is_as_wide_as_its_place(width: int) -> None:
    snapshot = Snapshot(root="/s", taken=NOW, spend=SpendView(slots=(1.0,) * BUCKETS), packets=(packet(60),))
    assert len(drawn(snapshot, width)) == width


def test_without_spend_and_loops_there_is_nothing_to_draw() -> None:
    assert not something(Snapshot(root="/s", taken=NOW), NOW)
    assert not something(Snapshot(root="/s", taken=NOW, packets=(packet(9 * 3600),)), NOW)
    assert something(Snapshot(root="/s", taken=NOW, packets=(packet(60),)), NOW)


@pytest.mark.parametrize(("size", "seen"), [((120, 40), True), ((100, 30), True), ((80, 24), False)])
async def test_the_strip_is_seen_where_there_is_room(
    open_room: Any, busy_snapshot: Snapshot, size: tuple[int, int], seen: bool
) -> None:
    async with open_room(busy_snapshot, size=size) as room:
        assert any("now   loops" in line for line in room.lines) is seen
        await room.press("z")
        assert not any("now   loops" in line for line in room.lines)


async def test_an_empty_room_has_no_strip(open_room: Any, empty_snapshot: Snapshot) -> None:
    async with open_room(msgspec.structs.replace(empty_snapshot)) as room:
        assert not room.app.room.query_one("#strip").display
