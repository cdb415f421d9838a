"""Judging discoveries from the keyboard, on a real state folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lumen_clock import HandClock
from lumen_rows import each_row

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.requests.discoveries import ArchiveDiscoveries, PostponeDiscoveries
from lumen_tui.model.requests.work import NewWorkUnit
from lumen_tui.model.times import DAY
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes
from lumen_tui.tui.kit.query import parse

NOW = 1_800_000_000.0


_TEXT = """
    amber basil cedar daisy ebony fjord grove hazel indigo jasper kelp lotus maple nettle olive poppy quartz
    raven sable thistle umber violet willow yarrow zinnia acorn birch clover dahlia elder fern gorse heather
    iris juniper krill lilac moss nutmeg orchid pansy quince rowan sorrel tulip ursine vetch walnut xylem yucca
    zephyr alder briar coral dune ember flint glade heron inlet jetty knoll larch marsh north otter pearl quill
    ridge shore tidal upland vale wharf xenon yonder zenith agate bluff creek
"""
_WORDS = _TEXT.split()


class TriageFolder:
    """A state folder, and what stands in it."""

    def __init__(self, root: Path) -> None:
        Store(root).layout.create()
        self.store = Store(root)
        self.port = RemotePort(root, "someone", clock=HandClock(NOW))
        self.count = 0

    def add(
        self, title: str, *, age: float = 1.0, tags: tuple[str, ...] = (), wu: str = "", priority: str = "P2"
    ) -> str:
        self.count += 1
        node_id = f"mem-{self.count:04d}"
        record = {
            "id": node_id, "type": "discovery", "content": title, "wu_id": wu, "tags": list(tags),
            "created_at": times.iso(NOW - age * DAY + self.count), "metadata": {"priority": priority},
        }  # fmt: skip
        self.store.nodes.append(record)
        return node_id

    def status(self) -> dict[str, str]:
        """What became of each discovery."""
        wanted = [f"mem-{number:04d}" for number in range(1, self.count + 1)]
        found = nodes.find(self.store.layout.memory, wanted)
        return {key: _became(found[key][1].get("metadata", {})) for key in wanted}

    def counted(self) -> Counter[str]:
        return Counter(self.status().values())


def _became(meta: dict[str, Any]) -> str:
    return str(meta.get("status") or ("later" if meta.get("snoozed_until") else "open"))


@pytest.fixture
def desk(tmp_path: Path) -> TriageFolder:
    return TriageFolder(tmp_path / "state")


async def test_a_hundred_discoveries_are_judged_in_a_few_moments(desk: TriageFolder, open_room: Any) -> None:
    desk.port.submit(NewWorkUnit(title="The screen", lane="UI"))
    unit = desk.port.snapshot().work[0].id
    alike = [desk.add(f"Flaky test in module {number}: gave up after 30 s", priority="P1") for number in range(20)]
    docs = [desk.add(f"{word} is not documented", tags=("docs",)) for word in _WORDS[:25]]
    lane = [desk.add(f"Colours of the {word} pane", wu=unit) for word in _WORDS[25:35]]
    old = [desk.add(f"{word} looks odd", age=50, priority="P3") for word in _WORDS[35:55]]
    rest = [desk.add(f"{word} could be quicker", priority="P3") for word in _WORDS[55:80]]
    assert desk.count == 100
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "100 open" in room.text)
        pane = room.pane("discoveries").focus()
        await pane.press("s")
        await room.until(lambda: "20 of 20 marked" in room.text)
        await pane.press("a", "r", *"known", "enter")  # all that are like this one
        await room.until(lambda: "of 80 open" in pane.text)
        await pane.press("slash", *"tag:docs", "enter", "asterisk", "l", "escape")  # in bulk
        await room.until(lambda: "of 55 open" in pane.text)
        await pane.press("slash", *"lane:ui", "enter", "asterisk", "p", "enter", "escape")
        await room.until(lambda: "of 45 open" in pane.text)
        await pane.press("slash", *"age:>30d p:P3", "enter", "asterisk", "a", "r", "1", "enter", "escape")
        await room.until(lambda: "of 25 open" in pane.text)
        await room.pilot.press("g", *["l"] * 20)  # one by one, without waiting for the disk
        await room.until(lambda: "of 5 open" in pane.text)
        await pane.press("p", "r", *"Core", "enter", "p", "enter", "a", "1", "a", "r", *"twice", "enter", "l", "j")
        await room.until(lambda: not desk.counted()["open"])
    became = desk.status()
    assert {became[key] for key in alike + old} == {"archived"}
    assert {became[key] for key in docs} == {"later"}
    assert {became[key] for key in lane} == {"promoted"}
    assert [became[key] for key in rest] == ["later"] * 20 + ["promoted"] * 2 + ["archived"] * 2 + ["later"]
    reasons = [node["metadata"]["archive_reason"] for _, node in _found(desk, alike + old).values()]
    assert set(reasons) == {"known"}
    units = desk.port.snapshot().work
    assert Counter(unit.lane for unit in units) == {"UI": 11, "Core": 2}


async def test_a_bulk_decision_is_taken_back_from_the_journal_after_a_restart(
    desk: TriageFolder, open_room: Any
) -> None:
    keys = [desk.add(f"{word} looks odd") for word in _WORDS[:6]]
    desk.port.submit(ArchiveDiscoveries(node_ids=keys[:4], reason="seen before"))
    desk.port.submit(PostponeDiscoveries(node_ids=keys[4:5]))
    RemotePort(desk.port.root, "bob", clock=HandClock(NOW)).submit(ArchiveDiscoveries(node_ids=keys[5], reason="no"))
    again = RemotePort(desk.port.root, "someone", clock=HandClock(NOW))
    async with open_room(port=again) as room:
        await room.press("J")
        await room.until(lambda: "3 actions" in room.text)
        assert "seen before" in room.text
        await room.press("u")
        await room.until(lambda: "only bob can undo it" in room.text)
        await room.press("j", "j", "u")
        await room.until(lambda: "undone" in room.text)
        assert desk.counted() == {"open": 4, "later": 1, "archived": 1}
        await room.press("u")
        await room.until(lambda: "already undone" in room.text)
        await room.press("escape", "u")  # the last one of one's own that still stands
        await room.until(lambda: desk.counted()["open"] == 5)


async def test_a_reason_given_before_is_one_key_away(desk: TriageFolder, open_room: Any) -> None:
    keys = [desk.add(f"{word} looks odd") for word in _WORDS[:4]]
    desk.port.submit(ArchiveDiscoveries(node_ids=keys[:1], reason="older"))
    desk.port.submit(ArchiveDiscoveries(node_ids=keys[1:2], reason="newer"))
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "2 open" in room.text)
        await room.pane("discoveries").focus().press("a", "r")
        await room.until(lambda: "1  newer" in room.text and "2  older" in room.text)
        await room.press("2", "enter")
        await room.until(lambda: desk.status()[keys[2]] == "archived")
        await room.press("a", "r")
        assert "1  older" in room.text


async def test_a_refused_decision_gives_the_marks_back(desk: TriageFolder, open_room: Any) -> None:
    keys = [desk.add(f"{word} looks odd") for word in _WORDS[:4]]
    async with open_room() as room:
        room.port.refusal = "the disk is full"
        pane = room.pane("discoveries").focus()
        await pane.press("space", "space", "l", "enter")
        assert "the disk is full" in room.footer
        assert pane.marked == ["mem-00000000", "mem-00000001"]
        room.port.refusal = ""
        await pane.press("l", "enter")
        assert room.port.asked[-1][1]["node_ids"] == ["mem-00000000", "mem-00000001"]
    assert desk.counted() == {"open": len(keys)}


async def test_the_next_one_is_under_the_cursor_before_the_disk_answers(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("discoveries").focus().press(*["l"] * 7, "enter")
        asked = [arguments["node_ids"] for _, arguments in room.port.asked]
        assert asked == [[f"mem-{number:08d}"] for number in range(7)]


async def test_similar_ones_are_seen_first_and_can_be_left_out(desk: TriageFolder, open_room: Any) -> None:
    named = [desk.add(f"Timeout in module {number}", tags=("net",)) for number in range(4)]
    tagged = desk.add("Sockets stay open", tags=("net",))
    same_work = desk.add("Unlike any other", tags=("net",), wu="WU-007")
    other = desk.add("Nothing of the kind")
    async with open_room(port=desk.port, size=(80, 24)) as room:
        await room.until(lambda: "7 open" in room.text)
        await room.pane("discoveries").focus().press("s")
        await room.until(lambda: "4 of 5 marked" in room.text)
        assert "this" in room.text
        assert "Sockets stay open" in room.text
        assert "Nothing of the kind" not in room.text
        await room.press("j", "space", "l")
        await room.until(lambda: desk.counted()["later"] == 3)
        became = desk.status()
        assert [became[key] for key in (named[0], tagged, same_work, other)] == ["later", "open", "open", "open"]
        await room.press("u")
        await room.until(lambda: desk.counted() == {"open": 7})


async def test_the_same_tag_and_work_unit_alone_make_nothing_a_duplicate(desk: TriageFolder, open_room: Any) -> None:
    for title in ("The header is cut", "Charts lack units"):
        desk.add(title, tags=("bug",), wu="WU-042")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "2 open" in room.text)
        await room.pane("discoveries").focus().press("s")
        await room.until(lambda: "1 of 2 marked" in room.text)


@each_row(
    ("text", "fits"),
    [
        ("age:>7d", True), ("age:7d", True), ("age:<7d", False), ("age:>9", False), ("age:<12h", False),
        ("age:>=8d", True), ("age:>", True), ("age:>x", False), ("!age:>7d", False), ("p:p1 tag:auth", True),
        ("lane:core !tag:auth", False),
    ],
)  # fmt: skip
def test_a_filter_compares_ages_and_names_fields(text: str, fits: bool) -> None:
    fields = {"age": str(8 * DAY), "p": "P1", "tag": "auth net", "lane": "Core"}
    assert parse(text).fits("a race", fields) is fits


def _found(desk: TriageFolder, keys: list[str]) -> dict[str, Any]:
    return nodes.find(desk.store.layout.memory, keys)


async def test_a_row_that_was_decided_does_not_come_back_with_rows_that_are_older(
    desk: TriageFolder, open_room: Any
) -> None:
    first, second = desk.add("a lamp is dim"), desk.add("a door stays open")
    async with open_room(port=desk.port) as room:
        await room.press("5")
        pane, older = room.app.room.pane("discoveries"), desk.port.snapshot()
        await room.press("g", "a", "1")
        await room.until(lambda: not pane.leaving.keys)
        assert [row.node.id for row in pane.snapshot.discoveries] == [second], "the answer comes with its rows"
        room.app._bridge._offer(older)
        await room.settle()
        assert [row.node.id for row in pane.snapshot.discoveries] == [second]
        desk.port.submit(ArchiveDiscoveries(node_ids=[second], reason="old"))
        await room.until(lambda: not pane.snapshot.discoveries)
        assert desk.status()[first] == "archived"
