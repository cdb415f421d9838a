"""Packets in words: what a list says of a loop, and how its orientation is drawn."""

from __future__ import annotations

from lumen_tui.engine.loops.session import is_empty
from lumen_tui.model.loop import LeftOut, Orientation, Packet
from lumen_tui.model.packets import changes, orientation_median, orientation_summary, outcome, sections, sparkline
from lumen_tui.queries.loop_history import PacketIndex


def test_a_loop_that_only_read_says_so_and_an_empty_one_too(home):
    read = Packet("pkt-1", 1, "", "", changed={"signals_read": 1, "tasks_done": 2, "other_thing": 3, "artifacts": 0})
    assert outcome(read) == "1 signal read, 2 tasks done, 3 other thing"
    assert changes(read, but=("tasks_done",)) == ["1 signal read", "3 other thing"]
    assert outcome(Packet("pkt-2", 2, "", "")) == "changed nothing"
    assert outcome(home.packet(3, ordered=("tsk-1: x",))) == "made report 3, 1 ordered, 1 decided"


def test_what_was_left_out_has_places_of_its_own_and_empty_ones_are_left_away(home):
    packet = home.packet(4, abandoned=(LeftOut("a", "b"),), decided_against=(LeftOut("c"),))
    found = dict(sections(packet))
    assert found["Abandoned"] == ("a: b",) and found["Decided against"] == ("c: no reason was given",)
    assert "Came in" not in found and found["Changed"] == ("1 artifact",)
    assert list(dict(sections(Packet("pkt-5", 5, "", "", failed="gone")))) == ["Loop 5"]


def test_orientation_in_figures():
    packets = [
        Packet("p", 1, "", "", orientation=Orientation(float(at), tokens=at, first="deposit")) for at in (2, 4, 9)
    ]
    packets.append(Packet("p", 2, "", ""))
    assert orientation_median(packets) == 4.0 and orientation_median(packets[3:]) == 0.0
    assert orientation_summary(packets) == "orientation: median 4.0 s, 4 tokens read, $0.0000 over 3 loops"
    assert "not measured" in orientation_summary(packets[3:])
    assert sparkline([0, 1, 8]) == "▁▂█" and sparkline([0, 0]) == "▁▁" and sparkline([]) == ""


def test_the_list_follows_the_journal_and_damaged_lines_are_rows(home):
    index = PacketIndex(home.layout)
    assert len(index.refresh()) == 0 and index.of_loop(1) is None
    home.packets(*[home.packet(loop) for loop in range(1, 41) if loop != 7])
    rows = index.refresh()
    assert (len(rows), rows[0].loop, rows[-1].loop, index.of_loop(20).loop, index.of_loop(7)) == (39, 40, 1, 20, None)
    with home.layout.packets.open("ab") as file:
        file.write(b"[[[[\n{torn")
    newer = index.refresh()
    assert len(rows) == 39 and len(newer) == 40 and "cannot be read" in newer[0].failed
    home.store.packets.rewrite(lambda lines: [line for line in lines if b'"loop":4' in line])
    assert {row.loop // 10 or row.loop for row in index.refresh()} == {4}
    assert rows[0].loop == 40, "a picture taken earlier can still be read"


def test_a_loop_in_which_a_defect_was_fixed_is_not_an_empty_one():
    assert is_empty(Packet("pkt-1", 1, "", "", brain="sonnet", changed={"signals_read": 2}))
    assert not is_empty(Packet("pkt-1", 1, "", "", brain="sonnet", changed={"signals_read": 2, "defects_fixed": 1}))
