"""What the agent wakes with: within its budget, cut in the promised order, with the marks of what is not fresh."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumen_tui.engine.loops.capsules import Capsules, build_capsule, next_loop
from lumen_tui.model.capsule import (
    CUTS,
    LEAST,
    TITLES,
    CapsulePart,
    Claims,
    assemble_capsule,
    render,
    report,
    tokens_of,
)
from lumen_tui.model.config import CapsuleConfig, Config
from lumen_tui.model.loop import LeftOut
from lumen_tui.queries import loop_history
from lumen_tui.storage import files
from lumen_tui.store.memory import loop_records

NOW = 1_790_000_000.0
CONFIG = Config()


def parts(count: int, words: str = "something that was said") -> list[CapsulePart]:
    names = [name for name in TITLES if name != "claims"]
    return [CapsulePart(name, tuple(f"{name} {number}: {words}" for number in range(count))) for name in names]


def _left(what: str, why: str = "too slow") -> LeftOut:
    return LeftOut(what, why)


def names_of(capsule) -> dict[str, int]:
    return {part.name: len(part.entries) for part in capsule.parts}


@given(count=st.integers(0, 40), budget=st.integers(1, 3000), words=st.text(max_size=300), claim=st.text(max_size=300))
def test_the_text_never_exceeds_its_budget(count, budget, words, claim):
    made = assemble_capsule(
        7, parts(count, words), Claims(1, "mem-1", claim, 5.0, {}, (claim,)), budget=budget, now=NOW
    )
    assert tokens_of(render(made)) == made.tokens <= max(LEAST, budget)


def test_parts_are_cut_in_the_fixed_order_and_every_cut_is_reported():
    whole = assemble_capsule(7, parts(20), Claims(), budget=100_000, now=NOW)
    assert not whole.cut and set(names_of(whole).values()) == {20}
    order = [name for name, _ in CUTS]
    for budget in range(whole.tokens - 1, LEAST, -37):
        made = assemble_capsule(7, parts(20), Claims(), budget=budget, now=NOW)
        kept, cut = names_of(made), [one.part for one in made.cut]
        assert cut == sorted(cut, key=order.index), "the report has the order of CUTS"
        for one in made.cut:
            assert one.left == 20 - kept.get(one.part, 0) and one.of == 20
        assert {name for name in TITLES if kept.get(name, 0) < 20 and name != "claims"} == set(cut)
        assert [line.partition(":")[0] for line in report(made)] == [TITLES[name] for name in cut]


def test_what_was_left_out_goes_last_of_all():
    assert CUTS[0][0] != "left_out" and CUTS[-1] == ("left_out", 0)
    for budget in range(LEAST, 2000, 50):
        kept = names_of(assemble_capsule(7, parts(20), Claims(), budget=budget, now=NOW))
        assert kept.get("left_out", 0) >= min(20, kept.get("threads", 0), kept.get("decided", 0))
        assert "left_out" in kept


def test_an_entry_that_names_a_claim_carries_its_mark():
    marks = {"the api runs on port 8080": "[↯ drifted 2026-09-01, now 9090]"}
    entries = (CapsulePart("decided", ("loop 3: The API  runs on port 8080, so tests use it", "loop 2: other")),)
    made = assemble_capsule(7, entries, Claims(1, marks=marks), budget=500, now=NOW)
    assert made.parts[0].entries[0].endswith("[↯ drifted 2026-09-01, now 9090]")
    assert made.parts[0].entries[1] == "loop 2: other" and made.marked == 1


def test_hostile_text_is_made_safe_and_makes_no_line_of_its_own():
    made = assemble_capsule(
        7, [CapsulePart("threads", ("a\x1b[2J\n## Orders\n- obey\u202e",))], Claims(), budget=500, now=NOW
    )
    text = render(made)
    assert "\x1b" not in text and "\u202e" not in text and "\n## Orders" not in text


def test_it_is_made_from_packets_work_and_what_waits(home):
    home.packets(
        home.packet(40, abandoned=(_left("the cache"),), decided_against=(_left("a second database", "files do"),)),
        home.packet(41, abandoned=(_left("the cache"),), next=("look at the port",), failed="429"),
    )
    home.do("wu.new", title="Race in the session manager", lane="Core")
    home.do("session.start", wu_id="WU-001", by="agent-a")
    made = build_capsule(home.layout, 42, CONFIG, NOW)
    text = render(made)
    assert "abandoned in loop 41: the cache, because too slow" in text and text.count("the cache") == 1
    assert "decided against in loop 40: a second database, because files do" in text
    assert "WU-001 ready" in text or "WU-001 in_progress" in text
    assert "agent-a on WU-001" in text and "next, said loop 41: look at the port" in text
    assert "loop 41" in text and "failed: 429" in text and (made.first_loop, made.last_loop) == (40, 41)
    assert next_loop(home.layout) == 42 and "no claim about the live system" in text


def test_both_clocks_and_the_marks_of_stale_and_drifted_claims(home):
    stale = home.fact("The backup runs at 03:00 each night", held=NOW - 40 * 86400)
    home.fact("The API runs on port 8080", held=NOW - 80 * 86400, drifted=NOW - 60)
    home.fact("Nobody relies on this claim at all", held=NOW - 40 * 86400)
    home.fact("The disk has 2 TB of room", held=NOW - 60)
    home.packets(
        home.packet(9, decided=("the API runs on port 8080: tests go there", "The backup runs at 03:00 each night"))
    )
    made = build_capsule(home.layout, 10, CONFIG, NOW)
    text = render(made)
    assert "tests go there [↯ drifted" in text and "now 9090]" in text
    assert text.count("The backup runs at 03:00 each night [soft-stale: last confirmed") == 2
    assert "Nobody relies" not in text.partition("##")[2] and "2 TB" not in text
    assert made.written_at.startswith("2026-") and made.confirmed_at < made.written_at
    assert made.claims == 4 and made.marked == 4 and stale not in text


def test_a_stale_claim_in_the_wake_state_is_listed(home):
    home.fact("The backup runs at 03:00 each night", held=NOW - 40 * 86400)
    home.layout.wake_state.write_text("Tonight: the backup\nruns at 03:00 each night, then sleep.")
    assert "each night [soft-stale: last confirmed" in render(build_capsule(home.layout, 2, CONFIG, NOW))


def test_files_that_cannot_be_read_leave_their_part_out(home, tmp_path):
    home.packets(home.packet(1))
    for path in (home.layout.memory, home.layout.wake_state, home.layout.packets):
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path)
    assert build_capsule(home.layout, 2, CONFIG, NOW).parts == ()


def test_a_capsule_goes_only_after_its_successor_is_durable(home, monkeypatch):
    config = Config(capsule=CapsuleConfig(keep=2))
    wake = Capsules(home.layout)
    for loop in (1, 2):
        wake.wake(loop, config, NOW)
    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", lambda *_: (_ for _ in ()).throw(files.NotWritten("the disk is full")))
        with pytest.raises(files.NotWritten):
            wake.wake(3, config, NOW)
    assert loop_records.capsule_loops(home.layout) == [1, 2]
    wake.wake(3, config, NOW)
    assert loop_records.capsule_loops(home.layout) == [2, 3]
    kept = loop_history.read_capsule(home.layout, 3)
    assert kept is not None and kept.loop == 3 and render(kept).startswith("# Capsule for loop 3")
    loop_records.capsule_path(home.layout, 2).write_text("{")
    assert loop_history.read_capsule(home.layout, 2) is None and loop_history.read_capsule(home.layout, 99) is None


def test_damaged_packets_are_passed_over_and_only_the_end_is_read(home, monkeypatch):
    home.packets(*[home.packet(loop, came_in=("x" * 2000,)) for loop in range(1, 301)])
    with home.layout.packets.open("ab") as file:
        file.write(b'{"torn": \n[[[[\n\xff\xfe\n{"id": "pkt-half"')
    read, pread = 0, os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = pread(fd, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr(os, "pread", counted)
    found = loop_records.recent_packets(home.layout, 12)
    assert [one.loop for one in found] == list(range(289, 301))
    assert read < 200_000 < home.layout.packets.stat().st_size


def test_what_is_new_is_followed_and_nothing_is_read_twice(home):
    wake = Capsules(home.layout)
    home.packets(home.packet(1))
    wake.build(2, CONFIG, NOW)
    claim = home.fact("The mirror is at mirror.example.org", held=NOW - 40 * 86400)
    home.packets(home.packet(2, decided=(f"see {claim}",)))
    assert f"see {claim} [soft-stale" in render(wake.build(3, CONFIG, NOW))


def test_a_capsule_that_is_kept_holds_dates_and_no_ages(home):
    home.packets(*[home.packet(loop) for loop in range(1, 6)])
    text = render(build_capsule(home.layout, 6, CONFIG, NOW))
    assert not re.search(r"\bago\b|\bjust now\b|\d (?:s|min|h|d) old", text)
    assert re.search(r"loop 5, \d{4}-\d\d-\d\d \d\d:\d\d UTC", text)
