"""The decay pane as an instrument, on a real state folder: look ahead, try a rule, write it, decay, bring back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from lumen_clock import HandClock
from lumen_rows import each_row

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.decay import DecayRule, DecayView, fades_at
from lumen_tui.model.requests.engine import ChangeSettings
from lumen_tui.model.requests.memory import ApplyDecay, ArchiveNodes
from lumen_tui.model.times import DAY
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes
from lumen_tui.tui.panes.charts import Charts
from lumen_tui.tui.panes.decay import HALF_LIVES, Travel
from lumen_tui.tui.theme import ASCII, NO_APPEARANCE, Appearance

NOW = 1_800_000_000.0
RULE = DecayRule()


class Memory:
    """A state folder with nodes of known ages."""

    def __init__(self, root: Path) -> None:
        Store(root).layout.create()
        self.store, self.clock = Store(root), HandClock(NOW)
        self.port = RemotePort(root, "someone", clock=self.clock)

    def add(self, name: str, age: float, kind: str = "note", **metadata: Any) -> str:
        record = {
            "id": f"mem-{name}", "type": kind, "content": f"About {name}", "created_at": times.iso(NOW - age * DAY),
            "metadata": metadata,
        }  # fmt: skip
        self.store.nodes.append(record)
        return f"mem-{name}"

    def status(self, node_id: str) -> str:
        record = nodes.find(self.store.layout.memory, [node_id])[node_id][1]
        return str(record["metadata"].get("status") or "open")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Nodes that fade 3, 10 and 40 days from now, one that is young, and one of each kind that never fades."""
    made = Memory(tmp_path / "state")
    for name, left in (("soon", 3), ("later", 10), ("far", 40)):
        made.add(name, RULE.life_days - left)
    made.add("young", 1)
    made.add("pin", 300, pinned=True)
    made.add("idea", 300, "discovery")
    made.add("sum", 300, "summary")
    return made


async def test_the_clock_moves_by_days_and_weeks_and_comes_back(memory: Memory, open_room: Any) -> None:
    async with open_room(port=memory.port) as room:
        pane = room.pane("decay").focus()
        await room.until(lambda: "1 decays within 7 days" in pane.text)
        await pane.press("right", "right", "right", "right")
        await room.until(lambda: "1 archived by then" in pane.text)
        assert "as in 4 d" in pane.text
        assert "+1 in 7 d" in pane.text
        await pane.press("shift+right")
        await room.until(lambda: "2 archived by then" in pane.text)
        await pane.press("shift+left", "left")
        await room.until(lambda: "as in 3 d" in pane.text)
        await pane.press("shift+left", "left")
        assert "as in" not in pane.text
        assert "That is the limit" in room.footer
        await pane.press("shift+right", "0")
        assert "as in" not in pane.text
        assert "1 decays within 7 days" in pane.text


async def test_the_frame_says_it_in_the_accent_colour(memory: Memory, open_room: Any) -> None:
    async with open_room(port=memory.port, size=(200, 50)) as room:
        await room.pane("decay").focus().press("right", "left_square_bracket", "left_square_bracket")
        assert "as in 1 d · half-life 14 d (30)" in room.text
        widget = room.app.room.pane("decay")
        assert widget.has_class("-travelling")
        assert widget.styles.border_title_color.hex.lower() == "#e8b45c"
        await room.until(lambda: "46.5 d" in room.region_text(room.app.room.detail.region))


async def test_what_is_kept_is_counted_in_words(memory: Memory, open_room: Any) -> None:
    memory.add("other", 300, "discovery")
    async with open_room(port=memory.port, size=(80, 24)) as room:
        room.pane("decay").focus()
        await room.until(lambda: "1 pinned · 1 summary · 2 open discoveries" in room.text)


async def test_another_rule_is_tried_seen_and_written(memory: Memory, open_room: Any) -> None:
    settings = memory.store.layout.operator
    async with open_room(port=memory.port) as room:
        pane = room.pane("decay").focus()
        await pane.press("equals_sign")
        assert "the current rule" in room.footer
        await pane.press(*["left_square_bracket"] * 3, "right_curly_bracket")  # 10 days, 0.15
        await room.until(lambda: "3 archived by then" in pane.text)
        assert not settings.exists()
        await pane.press("equals_sign")
        await room.until(lambda: "Write the rule" in room.text)
        for words in ("30 → 10", "0.1 → 0.15", "27.37 days, so far 99.66", "3 nodes, so far 0"):
            assert words in room.text
        await pane.press("y")
        await room.until(settings.exists)
        await room.until(lambda: "3 due" in pane.text)
        assert tomllib.loads(settings.read_text())["memory"]["decay"] == {"half_life_days": 10.0, "threshold": 0.15}
        assert "half-life 10 d · threshold 0.15" in pane.text
        assert [memory.status(f"mem-{name}") for name in ("soon", "later", "far")] == ["open"] * 3
        await pane.press("u")
        await room.until(lambda: "half-life 30 d · threshold 0.1" in pane.text)


async def test_decay_shows_the_number_first_and_is_undone(memory: Memory, open_room: Any) -> None:
    memory.add("gone", 100)
    memory.add("gone2", 120)
    async with open_room(port=memory.port) as room:
        pane = room.pane("decay").focus()
        await room.until(lambda: "2 due" in pane.text)
        await pane.press("right", "D")
        assert "0: back to today" in room.footer
        await pane.press("0", "D")
        await room.until(lambda: "2 nodes below 0.1" in room.text)
        assert "About gone2" in room.text
        await pane.press("enter", "D")  # the key that asked, and enter, are not the answer
        await room.until(lambda: "2 nodes below 0.1" in room.text)
        assert memory.status("mem-gone") == "open"
        await pane.press("y")
        await room.until(lambda: "2 archived" in pane.text)
        assert (memory.status("mem-gone"), memory.status("mem-soon")) == ("archived", "open")
        await pane.press("u")
        await room.until(lambda: "2 due" in pane.text)
        assert memory.status("mem-gone") == "open"


@pytest.mark.parametrize(("half_life", "threshold"), [(30.0, 0.1), (14.0, 0.3), (365.0, 0.01)])
def test_the_foresight_and_the_command_agree_to_the_second(memory: Memory, half_life: float, threshold: float) -> None:
    rule = DecayRule(half_life, threshold)
    touched = NOW - (RULE.life_days - 10) * DAY
    moment = fades_at(touched, rule)
    port = memory.port
    names = [row.node_id for row in port.decay_at(rule, moment - 0.5)[1]]
    before, after = (port.decay_at(rule, moment + by)[0].due for by in (-0.5, 0.5))
    assert after == before + 1
    assert names[before] == "mem-later"
    port.submit(ChangeSettings(changes={"memory.decay.half_life_days": half_life, "memory.decay.threshold": threshold}))
    memory.clock.wall = moment - 0.5
    port.submit(ApplyDecay(force=True))
    assert memory.status("mem-later") == "open"
    memory.clock.wall = moment + 0.5
    assert port.submit(ApplyDecay(force=True)).summary == "1 node archived"
    assert memory.status("mem-later") == "archived"


async def test_pins_and_touches_go_on_to_the_next_row(memory: Memory, open_room: Any) -> None:
    async with open_room(port=memory.port) as room:
        pane = room.pane("decay").focus()
        await room.until(lambda: "About soon" in pane.text)
        await pane.press("T", "K")
        await room.until(lambda: "2 pinned" in pane.text)
        view, rows = memory.port.decay_at(RULE, NOW)
        assert [row.node_id for row in rows] == ["mem-far", "mem-young", "mem-soon"]
        assert view.kept == (2, 0, 0, 1, 1, 0)


async def test_what_is_protected_is_listed_with_the_reason_and_unpinned(memory: Memory, open_room: Any) -> None:
    async with open_room(port=memory.port, size=(80, 24)) as room:
        await room.until(lambda: "1 decays" in room.text)
        await room.pane("decay").focus().press("z")
        assert "1 pinned · 1 summary · 1 open discovery" in room.text
        await room.press("number_sign")
        await room.until(lambda: "3 protected nodes" in room.text)
        await room.press("K")
        await room.until(lambda: "protected as summary" in room.text)
        await room.press("G", "K")
        await room.until(lambda: "2 protected nodes" in room.text)
    assert memory.port.snapshot().decay.pinned == 0


async def test_the_archive_is_a_list_and_gives_back(memory: Memory, open_room: Any) -> None:
    memory.port.submit(ArchiveNodes(node_ids=["mem-soon", "mem-far"], reason="moved to the wiki"))
    async with open_room(port=memory.port) as room:
        await room.pane("decay").focus().press("x")
        await room.until(lambda: "2 archived nodes" in room.text)
        assert "moved to the wiki" in room.text
        await room.press("b")
        await room.until(lambda: "1 archived node" in room.text and "brought back" in room.text)
        await room.press("enter")
        assert "moved to the wiki" in room.text
    assert sorted([memory.status("mem-soon"), memory.status("mem-far")]) == ["archived", "open"]


async def test_a_change_on_disk_is_seen_while_travelling(memory: Memory, open_room: Any) -> None:
    async with open_room(port=memory.port) as room:
        pane = room.pane("decay").focus()
        await pane.press("shift+right")
        await room.until(lambda: "1 archived by then" in pane.text)
        memory.add("other", RULE.life_days - 5)
        await room.until(lambda: "2 archived by then" in pane.text)


def test_steps_go_through_the_value_in_force_and_end() -> None:
    known = DecayRule(25.0, 0.1)
    assert Travel().half_life_stepped(1, known).half_life == 30.0
    assert Travel(half_life=21.0).half_life_stepped(1, known) == Travel()
    last = Travel(half_life=HALF_LIVES[-1])
    assert last.half_life_stepped(1, known) == last
    assert Travel().by_days(-3) == Travel()
    assert Travel(threshold=0.01).threshold_stepped(-1, known).threshold == 0.01


@each_row("look", [NO_APPEARANCE, Appearance(NO_APPEARANCE.ink, ASCII)])
@each_row(("width", "height"), [(116, 10), (76, 6), (40, 15), (12, 9), (7, 3)])
@each_row("rule", [RULE, DecayRule(1.0, 0.5), DecayRule(365.0, 0.01)])
def test_charts_fill_their_box_at_every_size(look: Appearance, width: int, height: int, rule: DecayRule) -> None:
    view = DecayView(rule, 100, histogram=(90, 80, 70, 55, 40, 30, 22, 15, 9, 5, 3, 1))
    lines = Charts(view, RULE).lines(width, look, height)
    texts = ["".join(segment.text for segment in line) for line in lines]
    assert len(texts) == height
    assert {len(text) for text in texts} == {width}
    if look.shapes is ASCII:
        assert "".join(texts).replace("…", "").isascii()  # the room's filter has a twin for that one
    if width >= 40:
        assert any(f"{rule.life_days:.1f} d" in text for text in texts)
        assert any(f"{rule.threshold:g}" in text for text in texts)
