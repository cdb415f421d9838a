"""The charts of the room: bins of time from the journals, drawn with axes and units at any size, and in ASCII."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from lumen_robot import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.analytics import Stats
from lumen_tui.model.loop import Packet
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.spendbook import SLOT, Amount, Book
from lumen_tui.model.times import DAY, HOUR, iso
from lumen_tui.queries.chart_data import SPANS, ChartData, LoopBins, QueuedTask, expiring_bins, loop_bins, spend_bins
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.screens.charts import ChartsScreen, drawn
from lumen_tui.tui.theme import ASCII, NO_APPEARANCE, Appearance

NOW = 1_790_000_000.0
HOURS, WEEK, MONTH = SPANS


def packet(ago: float, seconds: float, failed: str = "") -> Packet:
    return Packet(id="pkt-1", loop=1, started_at="", completed_at=iso(NOW - ago), seconds=seconds, failed=failed)


def data(**more: Any) -> ChartData:
    loops = LoopBins((0.0,) * 20 + (60.0, 120.0, 0.0, 30.0), frozenset({21}), 4, 1, 60.0)
    roles = (Stats("builder", tasks=20, done=15, failed=5, rate=0.75, low=0.53, high=0.89),)
    queue = (QueuedTask("tsk-1", "review the retry", 4000.0), QueuedTask("tsk-2", "weekly report", 60.0))
    usual = ChartData(
        span=HOURS, at=NOW, loops=loops, usd=(0.0,) * 23 + (0.5,), tokens=(0.0,) * 22 + (1000.0, 61_000.0),
        expiring=(0, 3, 0, 1) + (0,) * 20, roles=roles, queue=queue, queued=2,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **more)


def text(charts: ChartData, width: int, height: int, look: Appearance = NO_APPEARANCE) -> Sequence[str]:
    return ["".join(segment.text for segment in line) for line in drawn(charts, width, height, look)]


def test_loops_are_in_the_bin_in_which_they_ended_by_their_median() -> None:
    bins = loop_bins([packet(30 * HOUR, 9.0), packet(90 * 60, 40.0), packet(70 * 60, 20.0), packet(60, 7.0, "x")],
                     HOURS, NOW)  # fmt: skip
    assert (bins.count, bins.failures, bins.seconds[-2:], bins.failed) == (3, 1, (30.0, 7.0), {23})
    assert loop_bins([], HOURS, NOW).count == 0
    assert loop_bins([packet(-60, 5.0)], HOURS, NOW).count == 0, "a clock that was moved back"


def test_hours_come_from_the_slots_of_the_ledger_and_days_from_its_days() -> None:
    book = Book(
        slots={int((NOW - 300) // SLOT): Amount(10, 0.5), int((NOW - 2 * HOUR) // SLOT): Amount(5, 0.1)},
        days={iso(NOW)[:10]: Amount(100, 2.0), iso(NOW - 6 * DAY)[:10]: Amount(7, 0.7)},
    )
    assert [amount.usd for amount in spend_bins(book, HOURS, NOW, "00:00")][-3:] == [0.1, 0.0, 0.5]
    days = spend_bins(book, WEEK, NOW, "00:00")
    assert (len(days), days[0].usd, days[-1].usd) == (7, 0.7, 2.0)


def test_what_expires_is_counted_between_two_moments() -> None:
    due = {NOW + day * DAY: count for day, count in enumerate([4, 4, 9, 9, 10, 10, 10, 12])}
    assert expiring_bins(lambda at: due[at], WEEK, NOW) == (0, 5, 0, 1, 0, 0, 2)


@pytest.mark.parametrize(("width", "height"), [(116, 36), (76, 20), (56, 16), (40, 8), (20, 5), (196, 46)])
def test_every_line_is_as_wide_as_its_place(width: int, height: int) -> None:
    lines = text(data(), width, height)
    assert {len(line) for line in lines} == {width}


def test_each_chart_says_what_it_shows_from_where_and_has_its_axes() -> None:
    page = "\n".join(text(data(), 76, 20))
    for words in (
        "Loops  4 loops, 1 failed, median", "median duration each hour", "loops/packets.jsonl", "24 h ago", "✗",
        "Spend  $0.50", "dollars, each hour · spend.jsonl", "Tokens  62 k", "61 k", "Decay  4 memories expire",
        "in 24 h", "builder", "75 % of 20", "50 %", "Queue  2 queued, the longest 1 h", "review the retry",
    ):  # fmt: skip
        assert words in page, words


def test_two_stand_side_by_side_where_there_is_room() -> None:
    lines = text(data(), 116, 36)
    assert any("Loops" in line and "Spend" in line for line in lines)
    assert len(lines) == 36


def test_ascii_is_enough() -> None:
    page = "".join(text(data(), 116, 36, Appearance(NO_APPEARANCE.ink, ASCII)))
    page = page.replace("…", "~")  # what cuts is turned into ASCII on the way to the terminal
    assert page.isascii() and "#" in page and "*" in page


def test_without_anything_each_says_so_in_a_sentence() -> None:
    nothing = data(loops=LoopBins((0.0,) * 24, frozenset()), usd=(0.0,) * 24, tokens=(0.0,) * 24,
                   expiring=(0,) * 24, roles=(), queue=(), queued=0)  # fmt: skip
    page = "\n".join(text(nothing, 76, 20))
    for words in ("No loop ended", "No money was spent", "No tokens were used", "Nothing expires", "No task has ended",
                  "No task is queued"):  # fmt: skip
        assert words in page


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_the_page_is_read_from_the_journals_and_its_span_changes(
    room: Any, port: RemotePort, size: tuple[int, int]
) -> None:
    layout = Layout(port.root)
    layout.packets.parent.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.encode(packet(ago, 60.0)) for ago in (20 * DAY, 3 * DAY, 60.0)]
    layout.packets.write_bytes(b"\n".join([*lines, b'{"torn']) + b"\n")
    port.submit(CreateNode(content="a note", type="note"))
    port.submit(NewTask(objective="count the files"))
    async with room(ChartsScreen(port, port.snapshot()), size) as (app, pilot):
        await until(pilot, lambda: "Loops  1 loop," in app.shown and "[24 h] · 7 d" in app.shown)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "Loops  2 loops," in app.shown and "each day" in app.shown)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "Loops  3 loops," in app.shown)
        await pilot.press("G")
        await until(pilot, lambda: "Queue  1 queued" in app.shown)
        app.harmless()
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: "Charts, 7 d" in app.shown)
