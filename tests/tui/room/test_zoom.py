"""A zoomed pane says more of each row, under headings, with the selected one in full at the side; lists are sorted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from textual.strip import Strip

from lumen_tui.model.approvals import ASK
from lumen_tui.model.decay import DecayForecast
from lumen_tui.model.records import Signal, SignalRow
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Status, TaskEvent, Usage
from lumen_tui.model.times import DAY, HOUR, iso
from lumen_tui.tui.kit.lines import changed_span
from lumen_tui.tui.panes.sorting import MOST, Sorting, SortOrder
from lumen_tui.tui.panes.workers import TaskRows

NOW = 1_800_000_000.0


@pytest.mark.parametrize(("size", "columns"), [((120, 40), ""), ((200, 50), "started")])
async def test_zoomed_workers_have_headings_columns_and_a_detail(
    open_room: Any, busy_snapshot: Snapshot, size: tuple[int, int], columns: str
) -> None:
    async with open_room(busy_snapshot, size=size) as room:
        await room.press("3")
        assert "objective" not in room.text
        await room.press("z")
        heads = next(line for line in room.lines if "objective" in line)
        assert all(word in heads for word in ("task", "role", "try", "tokens", "cost", "time", columns))
        row = next(line for line in room.lines if "weekly token" in line)
        for column, value in (("tokens", "1.1 k"), ("cost", "$0.01"), ("time", "18 s")):
            end = heads.index(column) + len(column)
            assert row[end - len(value) : end] == value
        assert "─ tsk-7f5x0000 ─" in room.text
        await room.press("j")
        assert "─ tsk-7f2k0000 ─" in room.text
        await room.press("z")
        assert "objective" not in room.text


async def test_a_task_at_work_says_what_it_used_so_far(open_room: Any, busy_snapshot: Snapshot) -> None:
    progress = {"progress": {"steps": 3, "most_steps": 40, "tokens": 5_856, "usd": 0.04}}
    used = TaskEvent(at=iso(NOW - 5), kind="usage", text="5,856 tokens, $0.0400 so far", data=progress)
    running = next(each for each in busy_snapshot.tasks if each.status is Status.RUNNING)
    tasks = tuple(
        msgspec.structs.replace(each, tail=(used,)) if each is running else each for each in busy_snapshot.tasks
    )
    async with open_room(msgspec.structs.replace(busy_snapshot, tasks=tasks), size=(200, 50)) as room:
        await room.press("3", "z")
        row = next(line for line in room.lines if running.spec.objective in line)
        assert "5.9 k" in row and "$0.04" in row
        await room.press("o", "o", "g")
        await room.until(lambda: "by tokens" in room.text)
        assert any("tokens" in line and "5,856" in line for line in room.lines), "it used most, and stands first"


@pytest.mark.parametrize(("tool", "word"), [("shell", "approval"), (ASK, "question")])
@pytest.mark.parametrize("status", [Status.WAITING, Status.ASKING])
async def test_a_task_that_waits_for_a_person_says_for_what(
    open_room: Any, busy_snapshot: Snapshot, tool: str, word: str, status: Status
) -> None:
    asked = TaskEvent(at=iso(NOW - 5), kind="waiting", text="waits for a person", tool=tool)
    first, *others = busy_snapshot.tasks
    waiting = msgspec.structs.replace(first, status=status, tail=(asked,))
    snapshot = msgspec.structs.replace(busy_snapshot, tasks=(waiting, *others))
    async with open_room(snapshot) as room:
        row = next(line for line in room.lines if first.spec.objective in line)
        assert f"{word}  1:12" in row
    async with open_room(snapshot, accessible=True) as room:
        row = next(line for line in room.lines if first.spec.objective in line)
        assert row.split()[0].lstrip(">") in (word, "") and {"question", "approval"} & set(row.split()) == {word}


@pytest.mark.parametrize(
    ("pane", "columns"), [("4", "from to message read age"), ("5", "title unit age"), ("6", "score title type left")]
)
async def test_lists_have_headings_only_while_they_are_zoomed(open_room: Any, pane: str, columns: str) -> None:
    def headed(line: str) -> bool:
        return set(columns.split()) <= set(line.split())

    async with open_room() as room:
        await room.press(pane, "z")
        assert any(headed(line) for line in room.lines)
        await room.press("escape")
        assert not any(headed(line) for line in room.lines)


def under(heads: str, name: str, row: str) -> str:
    """What stands in a row from where a heading begins, up to the next gap."""
    return row[heads.index(name) :].split("  ")[0].strip()


async def test_zoomed_signals_say_for_whom_they_are_when_they_were_sent_and_whether_they_were_read(
    driven_signals: Any, open_room: Any
) -> None:
    async with open_room(driven_signals, size=(200, 50)) as room:
        await room.press("4", "z")
        heads = next(line for line in room.lines if "sent (UTC)" in line)
        row = next(line for line in room.lines if "Rebase on the new port" in line)
        assert [under(heads, name, row) for name in ("unit", "lane", "from", "to", "read")] == [
            "WU-101",
            "UI",
            "agent-a",
            "agent-b",
            "no",
        ]
        assert under(heads, "sent (UTC)", row)[:11] == iso(NOW - 600)[5:16].replace("T", " ")
        old = next(line for line in room.lines if "Decay archived" in line)
        assert [under(heads, name, old) for name in ("to", "read")] == ["all", "yes"]
        assert "sig-00000001 ─" in room.text  # in full at the side
        for order in ("priority", "sender", "work unit", "lane", "unread", ""):
            await room.press("o")
            assert f"by {order}" in room.text if order else "by unread" not in room.text


@pytest.fixture
def driven_signals(busy_snapshot: Snapshot) -> Snapshot:
    to_one = Signal(
        id="sig-00000001",
        message="Rebase on the new port",
        created_at=iso(NOW - 600),
        sender="agent-a",
        target_agent="agent-b",
        wu_id="WU-101",
        lane="UI",
    )
    to_all = Signal(id="sig-00000002", message="Decay archived 12 nodes", created_at=iso(NOW - 7200), sender="engine")
    return msgspec.structs.replace(busy_snapshot, signals=(SignalRow(to_one, True), SignalRow(to_all, False)), unread=1)


@pytest.mark.parametrize(("size", "more"), [((120, 40), False), ((200, 50), True)])
async def test_zoomed_decay_says_what_each_node_is_when_it_was_used_and_when_it_goes(
    open_room: Any, busy_snapshot: Snapshot, size: tuple[int, int], more: bool
) -> None:
    life = busy_snapshot.decay.rule.life_days * DAY
    fading = tuple(
        DecayForecast(f"mem-{name[:2]}", name, 0.1, NOW + left, NOW + left - life, kind, unit)
        for name, left, kind, unit in (
            ("Zod over hand checks", 6 * HOUR, "note", ""),
            ("API changed", 3 * DAY, "session", "WU-100"),
        )
    )
    async with open_room(msgspec.structs.replace(busy_snapshot, fading=fading), size=size) as room:
        await room.press("6", "z")
        heads = next(line for line in room.lines if "last use" in line)
        row = next(line for line in room.lines if "API changed" in line and "0.1" in line)
        assert under(heads, "type", row) == "session"
        assert "96 d ago" in row and "in 3 d" in row
        assert "WU-100" in row and "unit" in heads
        assert (iso(NOW + 3 * DAY)[:10] in row) is ("archived" in heads) is more
        assert "─ mem-Zo ─" in room.text
        await room.press("o")
        assert "by type" in room.text
        await room.press("o", "o")
        assert "by title" in room.text
        first, second = (next(n for n, line in enumerate(room.lines) if text in line[:60]) for text in ("API", "Zod"))
        assert first < second


async def test_o_goes_through_the_orders_and_back(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        room.pane("discoveries").focus()
        rows = room.app.room.pane("discoveries").rows
        own = [rows.model.row(place).node.id for place in range(len(rows.model))]
        await room.press("o")
        assert "by age" in room.text
        ages = [rows.model.row(place).created for place in range(len(rows.model))]
        assert ages == sorted(ages)
        await room.press("o", "o", "o")
        assert [rows.model.row(place).node.id for place in range(len(rows.model))] == own
        await room.press("1", "o")
        assert "this pane has one order" in room.footer


def test_an_order_of_very_many_reads_the_first_ones() -> None:
    sorting = Sorting("own", SortOrder("size", lambda row: float(row)))
    rows = range(10 * MOST)
    assert sorting.apply(rows) is rows
    assert sorting.next() == "size"
    assert list(sorting.apply(rows)) == list(range(MOST))[::-1]
    assert sorting.next() == "own"


@pytest.mark.parametrize(("lean", "most"), [(False, 7), (True, 4)])
async def test_what_turns_beside_a_running_time_repaints_few_cells(
    open_room: Any, busy_snapshot: Snapshot, lean: bool, most: int
) -> None:
    async with open_room(busy_snapshot, lean=lean) as room:
        pane = room.app.room.pane("workers")
        view, running = TaskRows(pane), busy_snapshot.tasks[1]
        before = Strip(view.line(running, 76, False, False))
        pane.now += 5  # seconds: running times go in such steps
        after = Strip(view.line(running, 76, False, False))
        span = changed_span(before, after, 76)
        assert span is not None
        assert span[1] <= most
        assert any(picture in before.text for picture in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") is not lean


async def test_costs_sort_the_workers(open_room: Any, busy_snapshot: Snapshot) -> None:
    tasks = tuple(
        msgspec.structs.replace(view, usage=Usage(100 * place, 0, place / 10))
        for place, view in enumerate(busy_snapshot.tasks)
    )
    async with open_room(msgspec.structs.replace(busy_snapshot, tasks=tasks)) as room:
        await room.press("3", "z", "o", "o", "o")
        assert "by cost" in room.text
        costs = [line.split("$")[1][:4] for line in room.lines if "$" in line]
        assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_zoomed_loop_has_the_history_of_loops_with_a_chart(
    open_room: Any, busy_snapshot: Snapshot, size: tuple[int, int]
) -> None:
    packets = busy_snapshot.packets
    failed = msgspec.structs.replace(packets[-1], failed="no model answered", usage=Usage(9000, 500, 0.25))
    snapshot = msgspec.structs.replace(busy_snapshot, packets=(*packets[:-1], failed))
    async with open_room(snapshot, size=size) as room:
        await room.press("1", "z")
        await room.sees("✗", "4 m 0 s")
        await room.press("G")
        await room.sees("loop 1475", "ended", "took", "tokens", "what came of it")
        row = next(line for line in room.lines if "1486" in line and "failed" in line)
        assert "$0.25" in row and "9.5 k" in row and "no model" in row
        await room.press("z")
        await room.until(lambda: "what came of it" not in room.text)


async def test_a_zoomed_list_has_its_columns_in_a_narrow_window_too(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot, size=(80, 24)) as room:
        await room.press("3", "z")
        await room.sees("objective", "tokens", "cost", "time", "weekly token")
    async with open_room(busy_snapshot, size=(60, 20)) as room:
        await room.press("3", "z")
        assert "objective" not in room.text


async def test_a_pane_that_says_all_by_itself_has_the_whole_width(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("2", "z")
        assert sum("Triage 3 discoveries" in line for line in room.lines) == 1
        assert next(line for line in room.lines if "Wake-state" in line).rstrip().endswith("─╮")
        await room.press("4")
        assert "─ sig-00000000 ─" in room.text
