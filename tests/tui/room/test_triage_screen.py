"""Triage as mail: one discovery after the other, a key or two for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lumen_quiet
import pytest
from lumen_clock import HandClock

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.requests.discoveries import ArchiveDiscoveries, PostponeDiscoveries
from lumen_tui.model.requests.work import NewWorkUnit
from lumen_tui.model.times import DAY
from lumen_tui.storage import files, raw_json
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes

NOW = 1_800_000_000.0
_ASKED = 20  # more changes than one test asks for at once
_NOUNS = [
    "amber",
    "basil",
    "cedar",
    "daisy",
    "ebony",
    "fjord",
    "grove",
    "hazel",
    "indigo",
    "jasper",
    "kelp",
    "lotus",
    "maple",
    "nettle",
    "olive",
    "poppy",
    "quartz",
    "raven",
    "sable",
    "thistle",
    "umber",
    "violet",
    "willow",
    "yarrow",
    "zinnia",
    "acorn",
    "birch",
    "clover",
    "dahlia",
    "elder",
    "fern",
    "gorse",
    "heather",
    "iris",
    "juniper",
    "krill",
    "lilac",
    "moss",
    "nutmeg",
    "orchid",
    "pansy",
    "quince",
    "rowan",
    "sorrel",
    "tulip",
    "ursine",
    "vetch",
    "walnut",
    "xylem",
    "yucca",
    "zephyr",
    "alder",
    "briar",
    "coral",
    "dune",
    "ember",
    "flint",
    "glade",
    "heron",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "marsh",
    "north",
    "otter",
    "pearl",
    "quill",
    "ridge",
    "shore",
    "tidal",
    "upland",
    "vale",
    "wharf",
    "xenon",
    "yonder",
    "zenith",
    "agate",
    "bluff",
    "creek",
    "delta",
    "egret",
    "finch",
    "gully",
    "hollow",
    "islet",
    "kite",
    "lagoon",
    "meadow",
    "nook",
]
_FOREIGN = ("مشكلة في عرض {}", "{} の表示が崩れる", "Emoji 👩‍👩‍👧 break {}", "Ошибка в модуле {}")


class Desk:
    """A state folder, what stands in it, and what the robot means to do with each."""

    def __init__(self, root: Path) -> None:
        Store(root).layout.create()
        self.store = Store(root)
        self.port = RemotePort(root, "ana", clock=HandClock(NOW))
        self.meant: dict[str, str] = {}
        self.doubles: dict[str, str] = {}  # of one that stays, the one that is merged into it

    def add(self, title: str, meant: str = "", *, age: float = 1.0, priority: str = "P2", **more: Any) -> str:
        node_id = f"mem-{len(self.meant):04d}"
        self.store.nodes.append({
            "id": node_id, "type": "discovery", "content": title, "created_by": "builder",
            "created_at": times.iso(NOW - age * DAY + len(self.meant)), "metadata": {"priority": priority}, **more,
        })  # fmt: skip
        self.meant[node_id] = meant
        return node_id

    def metadata(self, node_id: str) -> dict[str, Any]:
        found: dict[str, Any] = nodes.find(self.store.layout.memory, [node_id])[node_id][1]["metadata"]
        return found

    def became(self) -> dict[str, str]:
        """What is on file of each: `p Core`, `a stale`, `l 7`, `m`, or nothing while it is open."""
        found = nodes.find(self.store.layout.memory, self.meant)
        lanes = {unit.discovery: unit.lane for unit in self.port.snapshot().work}
        return {key: _became(found[key][1]["metadata"], lanes.get(key, "")) for key in self.meant}


def _became(meta: dict[str, Any], lane: str) -> str:
    if meta.get("status") == "promoted":
        return f"p {lane}"
    if meta.get("merged_into"):
        return "m"
    if meta.get("status") == "archived":
        return f"a {meta['archive_reason']}"
    if until := meta.get("snoozed_until"):
        return f"l {round((times.epoch(until) - NOW) / DAY)}"
    return ""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path / "state")
    for lane in ("Core", "UI", "Data"):
        made.port.submit(NewWorkUnit(title=f"Work on {lane}", lane=lane))
    return made


def mixed(desk: Desk) -> None:
    """A hundred: four priorities, doubles, stale ones, foreign scripts, long titles, some found at work in a lane."""
    units = {unit.lane: unit.id for unit in desk.port.snapshot().work}
    verdicts = ["p Core", "a won't fix", "l 7", "a stale", "p UI", "l 7", "a stale", "p Core", "a won't fix", "l 7"]
    for number in range(92):
        noun, meant = f"{_NOUNS[number % 81]} {_NOUNS[(7 * number + 3) % 81]}", verdicts[number % len(verdicts)]
        title = f"{noun} is slow"
        if number % 9 == 4:
            title = _FOREIGN[number % len(_FOREIGN)].format(noun * 2)
        if number % 11 == 5:
            title = f"{noun}: " + f"the index of {noun} grows without any bound " * 6
        if number in (20, 50):
            meant = "a not a bug"
        if number in (32, 62):
            meant = "l 30"
        age = 60.0 + number / 10 if meant == "a stale" else 2.0
        wu = units[meant[2:]] if meant.startswith("p ") else ""
        desk.add(title, meant, age=age, priority=f"P{number % 4}", wu_id=wu)
    for number in range(4):
        first = f"Refresh token of {_NOUNS[-number - 1]} {_NOUNS[-number - 9]}"
        kept = desk.add(first, "p Core", priority="P1", wu_id=units["Core"])
        desk.doubles[kept] = desk.add(f"{first} once more", "m", priority="P3")


async def test_a_hundred_mixed_discoveries_one_by_one_in_120_keys(desk: Desk, open_room: Any) -> None:
    mixed(desk)
    assert len(desk.meant) == 100
    keys = Counts()
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "100 open" in room.text)
        await room.press("5", "g")
        await keys.press(room, "enter")
        for _ in range(100):
            if "All decided" in room.text:
                break
            await decide(room, desk, keys)
        await room.until(lambda: "All decided: 100" in room.text or "" not in desk.became().values())
        await room.press("escape")
        await room.until(lambda: "" not in desk.became().values())
        assert desk.became() == desk.meant
    assert keys.total <= 120


class Counts:
    """Counts the keys that a robot presses."""

    def __init__(self) -> None:
        self.total = 0

    async def press(self, room: Any, *keys: str) -> None:
        self.total += len(keys)
        await room.press(*keys)


async def decide(room: Any, desk: Desk, keys: Counts) -> None:
    """Decide the discovery that is shown, as the robot means it: a digit only where another answer is offered."""
    screen = room.app.screen
    row = screen.rows.selected
    verb, _, answer = desk.meant[row.node.id].partition(" ")
    if desk.doubles.pop(row.node.id, ""):
        await room.until(lambda: "100 %  P3" in room.text)
        await keys.press(room, "m")
        await room.sees("stays", "closed", "once more")
        await keys.press(room, "y")
        await room.sees("1 merged into")
        return
    line = {"p": "promote", "a": "archive", "l": "snooze"}[verb]
    shown = next(text for text in room.lines if f" {line} " in text and "1 " in text and verb in text)
    wanted = {"7": "a week", "30": "a month"}.get(answer, answer)
    offered = f" {wanted}]" in shown
    digit = [] if offered else [shown[: shown.index(f" {wanted}")][-1]]
    await keys.press(room, verb, *digit)


async def test_the_same_hundred_by_groups_in_100_keys(desk: Desk, open_room: Any) -> None:
    mixed(desk)
    keys = Counts()
    answers = {"p Core": "p1", "p UI": "p3", "a won't fix": "a2", "a stale": "a3", "a not a bug": "a4"}
    answers |= {"l 7": "l2", "l 30": "l3"}
    tagged = dict(zip(answers, "cuwsnkm", strict=True))
    for node_id, meant in desk.meant.items():
        if meant != "m":
            record = nodes.find(desk.store.layout.memory, [node_id])[node_id][1]
            desk.store.nodes.append({**record, "tags": [tagged[meant]]})
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "100 open" in room.text)
        await room.press("5", "g")
        await keys.press(room, "enter")
        await keys.press(room, "slash", *"token", "enter")
        for number, double in enumerate(desk.doubles.values()):
            await keys.press(room, *(["j"] if number else []))
            await room.until(lambda: "100 %  P3" in room.text)
            await keys.press(room, "m")
            await room.sees("stays", "closed", "once more")
            await keys.press(room, "y")
            await room.until(lambda: desk.became()[double] == "m")  # noqa: B023
        await keys.press(room, "escape")
        for meant, tag in tagged.items():
            await keys.press(room, "slash", *f"tag:{tag}", "enter", "asterisk", *answers[meant], "escape")
        await room.until(lambda: desk.became() == desk.meant)
    assert keys.total <= 100


async def test_a_verdict_shows_the_next_one_and_undo_goes_back(desk: Desk, open_room: Any) -> None:
    first, second = desk.add("a lamp is dim", age=3.0), desk.add("a door stays open")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "2 open" in room.text)
        await room.press("5", "g", "enter")
        await room.sees("What do you do with it?")
        rows = room.app.screen.rows
        assert rows.selected.node.id == first
        await room.press("a", "1")
        assert rows.selected.node.id == second
        await room.until(lambda: desk.became()[first] == "a duplicate")
        await room.press("p", "1", "u")
        await room.until(lambda: desk.became()[second] == "" and rows.selected and rows.selected.node.id == second)
        await room.press("greater_than_sign")
        await room.until(lambda: desk.metadata(second)["priority"] != "P2")
        await room.press("u")  # what is taken back is the last change, and no decision before it
        await room.until(lambda: desk.metadata(second)["priority"] == "P2")
        assert desk.became()[first] == "a duplicate"
        assert "1 done" in room.text
        await room.press("u")
        await room.until(lambda: desk.became()[first] == "" and rows.selected and rows.selected.node.id == first)
        await room.press("a", "u")  # the last reason is offered: before it counts it is taken back
        assert rows.selected.node.id == first
        assert desk.became() == {first: "", second: ""}
        await room.press("a", "j")  # any other key takes it
        await room.until(lambda: desk.became()[first] == "a duplicate")


async def test_the_cursor_goes_on_where_a_row_that_is_being_decided_is_gone_already(desk: Desk, open_room: Any) -> None:
    first, second, third = (desk.add(f"a {thing} is dim", age=3.0) for thing in ("lamp", "torch", "screen"))
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "3 open" in room.text)
        await room.press("5", "g", "enter", "l")
        rows = room.app.screen.rows
        assert rows.selected.node.id == second
        desk.port.submit(ArchiveDiscoveries(node_ids=first, reason="somebody else was quicker"))
        await room.until(lambda: len(rows.model) == 2)
        with slow_disk(desk):
            await room.press("l")
            assert rows.selected.node.id == third
            await room.press("a", "1")
        await room.until(lambda: "" not in desk.became().values())
        assert (desk.became()[second], desk.became()[third]) == ("l 7", "a duplicate")


@contextmanager
def slow_disk(desk: Desk) -> Iterator[int]:
    """Let nothing be saved to memory for a while; gives the journal to append to."""
    with lumen_quiet.held(_ASKED), files.locked_log(desk.store.layout.memory) as fd:
        yield fd


async def test_what_is_typed_while_a_decision_is_saved_takes_its_turn(desk: Desk, open_room: Any) -> None:
    first, second = desk.add("a lamp is dim", age=3.0), desk.add("a door stays open")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "2 open" in room.text)
        await room.press("5", "g", "enter")
        with slow_disk(desk):
            await room.press("a", "1", "greater_than_sign", "u", "greater_than_sign", "greater_than_sign")
            assert desk.metadata(second)["priority"] == "P2"
        await room.until(lambda: desk.metadata(second)["priority"] == "P0")
        assert desk.became() == {first: "a duplicate", second: ""}
        with slow_disk(desk):
            await room.press("p", "1", "u", "less_than_sign")
            assert desk.became()[second] == ""
        await room.until(lambda: desk.metadata(second)["priority"] == "P1")
        assert desk.became() == {first: "a duplicate", second: ""}
        with slow_disk(desk):
            await room.press("a", "3", "less_than_sign")  # the last one: the cursor has nowhere to go
        await room.sees("archived already")
        assert (desk.became()[second], desk.metadata(second)["priority"]) == ("a stale", "P1")


async def test_undo_behind_a_change_that_fails_takes_nothing_older_back(desk: Desk, open_room: Any) -> None:
    first, second = desk.add("a lamp is dim", age=3.0), desk.add("a door stays open")
    desk.add("a tap drips")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "3 open" in room.text)
        await room.press("5", "g", "enter", "a", "1")
        await room.until(lambda: desk.became()[first] == "a duplicate")
        record = nodes.find(desk.store.layout.memory, [second])[second][1]
        record["metadata"] |= {"status": "archived", "archive_reason": "elsewhere"}
        with slow_disk(desk) as fd:
            await room.press("greater_than_sign", "u")
            files.append_locked(fd, raw_json.line(record))  # somebody else was quicker
        await room.sees("nothing was undone")
        assert desk.became()[first] == "a duplicate"
        await room.press("u")
        await room.until(lambda: desk.became()[first] == "")


async def test_escape_drops_what_waits_for_an_undo_and_gives_the_keys_back(desk: Desk, open_room: Any) -> None:
    first, second = desk.add("a lamp is dim", age=3.0), desk.add("a door stays open")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "2 open" in room.text)
        await room.press("5", "g", "enter", "a", "1")
        await room.until(lambda: desk.became()[first] == "a duplicate")
        with slow_disk(desk):
            await room.press("u", "p", "1", "j")
            await room.sees("esc drops them")
            await room.press("escape", "escape")
            assert room.app.screen is room.app.room
        await room.until(lambda: desk.became() == {first: "", second: ""})


async def test_a_verdict_that_waits_for_its_digit_is_kept_where_the_room_is_left(desk: Desk, open_room: Any) -> None:
    only = desk.add("a lamp is dim")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "1 open" in room.text)
        await room.press("5", "l", "q")
    assert desk.became()[only] == "l 7"


async def test_what_comes_back_is_marked_and_stands_first_in_its_priority(desk: Desk, open_room: Any) -> None:
    desk.add("ordinary", age=9.0)
    back = desk.add("snoozed a week ago", age=8.5)
    desk.add("nobody looked", age=45.0, priority="P3")
    RemotePort(desk.port.root, "ana", clock=HandClock(NOW - 8 * DAY)).submit(PostponeDiscoveries(node_ids=back, days=7))
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "3 open" in room.text)
        await room.press("5", "enter", "g")
        await room.sees("back after 7 d")
        assert room.app.screen.rows.selected.node.id == back
        await room.press("G")
        await room.sees("open for 44 d")


async def test_the_page_says_what_was_decided_before_and_how_often_they_were_right(desk: Desk, open_room: Any) -> None:
    before = desk.add("Tokens stand in the trace of the proxy")
    desk.port.submit(ArchiveDiscoveries(node_ids=before, reason="known since May"))
    again = desk.add("Tokens stand in the trace of a proxy\n\nproxy/trace.py:88 writes them\x1b[2J whole.")
    for size in ((120, 40), (80, 24)):
        async with open_room(port=desk.port, size=size) as room:
            await room.until(lambda: "1 open" in room.text)
            await room.press("5", "enter")
            await room.sees("What it saw", "proxy/trace.py:88", "1 duplicate")
            await room.until(lambda: room.app.screen.background.known(again).decided)
            await room.press("tab", "G")
            await room.sees("Was decided before", "archived by ana: known since May")
            await room.sees("discoveries of builder", "0 of 1 promoted")


async def test_priority_type_and_title_are_changed_on_the_page(desk: Desk, open_room: Any) -> None:
    only = desk.add("a lamp is dim")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "1 open" in room.text)
        await room.press("5", "enter", "greater_than_sign", "greater_than_sign")
        await room.until(lambda: desk.metadata(only)["priority"] == "P0")
        await room.press("less_than_sign")
        await room.until(lambda: desk.metadata(only)["priority"] == "P1")
        await room.press("T", "2", "e")
        await room.until(lambda: desk.metadata(only)["type"] == "idea")
        await room.press("ctrl+u", *"dark", "enter")
        await room.until(lambda: "dark" in str(nodes.find(desk.store.layout.memory, [only])[only][1]["content"]))
        assert desk.became() == {only: ""}


async def test_a_digit_that_stands_for_nothing_opens_no_pane(desk: Desk, open_room: Any) -> None:
    only = desk.add("a lamp is dim")
    async with open_room(port=desk.port) as room:
        await room.until(lambda: "1 open" in room.text)
        await room.press("5", "a", "6")
        assert room.app.room.current.scope == "discoveries"
        await room.press("4")
        await room.until(lambda: desk.became()[only] == "a not a bug")
        await room.press("3")
        assert room.app.room.current.scope == "workers"
