"""What happened since an operator last looked: everything new, once, and nothing else is read."""

from __future__ import annotations

import os
import shutil

import msgspec
import pytest

from lumen_tui.engine import events as engine_events
from lumen_tui.model import digest as shape
from lumen_tui.model.digest import EVENTS, GROUPS, SHORT, TITLES, Digest, DigestEntry, Group
from lumen_tui.model.times import iso
from lumen_tui.queries import digest
from lumen_tui.queries.digest import digest_for
from lumen_tui.queries.operators import enter_room
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout

NOW = 1_790_000_000.0
HOUR = 3600.0


def groups(found: Digest) -> dict[str, Group]:
    return {group.name: group for group in found.groups}


def seen_at(home, at: float, operator: str = "ann"):
    digest.note_visit(home.layout, operator, at)
    found = digest.read_visit(home.layout, operator)
    assert found is not None
    return found


def test_everything_that_happened_is_grouped_counted_and_linked(home):
    home.ended("tsk-old", at=NOW - 9 * HOUR)
    home.do("signal.send", by="bob", now=NOW - 9 * HOUR, message="old")
    seen = seen_at(home, NOW - 5 * HOUR)
    for number in range(12):
        home.ended(f"tsk-a{number}", at=NOW - HOUR - number)
    home.ended("tsk-bad", "failed", at=NOW - 60, text="builder: deploy")
    home.ended("loop-000004", at=NOW - 50)
    home.log.add("fact_drifted", "“port 80” is not so any more", NOW - 40, fact="mem-f")
    home.log.add("budget_warning", "81 % of the day's tokens", NOW - 30)
    home.log.add("probe_failed", "noise", NOW - 30)
    home.do("signal.send", by="bob", now=NOW - 20, message="look here", priority="P0")
    home.do("signal.send", by="bob", now=NOW - 20, message="not for you", to="carl")
    home.do("signal.send", by="ann", now=NOW - 20, message="my own")
    home.do("node.create", by="bob", now=NOW - 10, content="a race in the port", type="discovery")
    home.do("wu.new", by="bob", now=NOW - 8, title="Mend the port")
    home.do("wu.new", by="ann", now=NOW - 8, title="My own")
    home.packets(home.packet(4, at=NOW - 5))
    found = digest_for(home.layout, "ann", NOW, seen=seen)
    by_name = groups(found)
    assert [name for name in GROUPS if name in by_name] == list(by_name)
    assert (by_name["ended"].count, by_name["failed"].count, by_name["loops"].count) == (12, 1, 1)
    assert by_name["failed"].entries[0] == DigestEntry(NOW - 60, "builder: deploy failed: 429", "tsk-bad", "task")
    assert (by_name["drift"].entries[0].target, by_name["drift"].entries[0].kind) == ("mem-f", "fact")
    assert [one.text for one in by_name["signals"].entries] == ["P0 bob: look here"]
    assert by_name["discoveries"].entries[0].text == "a race in the port"
    assert by_name["loops"].entries[0].target == "loop-000004" and found.usd == 7.0
    (deed,) = by_name["people"].entries
    assert deed.text.startswith("bob: ") and deed.target == "WU-001"
    assert shape.line(found).startswith("since you left, 5 h: 12 tasks ended, 1 failed, 1 fact drifted, 1 discovery")


def test_nothing_new_makes_no_line_and_damage_is_passed_over(home):
    seen = seen_at(home, NOW - 5 * HOUR)
    assert digest_for(home.layout, "ann", NOW, seen=seen).groups == ()
    assert shape.line(digest_for(home.layout, "ann", NOW, seen=seen)) == ""
    for path in (home.layout.events, home.layout.signals, home.layout.memory, home.layout.packets, home.layout.actions):
        path.write_bytes(b'{"at": 3\n\xff\xfe\n[]\n{"discovery": [[[\n' + b"x" * 100)
    assert digest_for(home.layout, "ann", NOW, since=NOW - 9 * HOUR).count == 0


@pytest.mark.parametrize("new", [3, digest.MOST + 500])
def test_a_long_history_is_not_read(home, new, monkeypatch):
    old = [{"id": f"sig-{n}", "message": "m" * 1500, "created_at": iso(NOW - 9 * HOUR)} for n in range(5000)]
    home.store.signals.append_all(old)
    seen = seen_at(home, NOW - 5 * HOUR)
    fresh = [{"id": f"sig-n{n}", "message": "m", "created_at": iso(NOW - 9), "sender": "bob"} for n in range(new)]
    home.store.signals.append_all(fresh)
    read, pread = 0, os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = pread(fd, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr(os, "pread", counted)
    for found in (digest_for(home.layout, "ann", NOW, seen=seen), digest_for(home.layout, "ann", NOW, since=seen.at)):
        (group,) = found.groups
        assert group.count in (new, digest.MOST) and len(group.entries) == min(new, 200)
        assert group.entries[0].target.startswith("sig-n")
    assert digest_for(home.layout, "ann", NOW, seen=seen).groups[0].count == new
    assert read < 5_000_000 < home.layout.signals.stat().st_size


def test_rotated_events_and_rewritten_journals_lose_nothing(home, monkeypatch):
    home.ended("tsk-old", at=NOW - 9 * HOUR)
    home.do("signal.send", by="bob", now=NOW - 9 * HOUR, message="old")
    seen = seen_at(home, NOW - 5 * HOUR)
    home.ended("tsk-before", at=NOW - 4 * HOUR)
    monkeypatch.setattr(engine_events, "_ROTATE_AT", 1)
    home.log.rotate()
    home.ended("tsk-after", at=NOW - 3 * HOUR)
    home.do("signal.send", by="bob", now=NOW - 2 * HOUR, message="new")
    home.store.signals.rewrite(lambda lines: list(lines))
    found = groups(digest_for(home.layout, "ann", NOW, seen=seen))
    assert {one.target for one in found["ended"].entries} == {"tsk-before", "tsk-after"}
    assert [one.text for one in found["signals"].entries] == ["bob: new"]


def test_a_line_that_was_being_written_when_the_place_was_noted_is_new(home):
    whole = msgspec.json.encode({"id": "sig-1", "message": "half", "created_at": iso(NOW), "sender": "bob"}) + b"\n"
    home.layout.signals.write_bytes(whole[:20])
    seen = seen_at(home, NOW - HOUR)
    with home.layout.signals.open("ab") as file:
        file.write(whole[20:])
    assert groups(digest_for(home.layout, "ann", NOW, seen=seen))["signals"].count == 1


def test_each_operator_has_an_own_record_whatever_the_name(home):
    for name in ("ann", "Ann Smith", "../../etc/passwd", "x" * 300, "ünï"):
        seen = seen_at(home, NOW, name)
        assert (seen.operator, seen.at) == (name, NOW)
    found = list(home.layout.operators.iterdir())
    assert len(found) == 5 and all(path.stat().st_mode & 0o077 == 0 for path in found)
    digest.visit_path(home.layout, "ann").write_text('{"operator": "ann", "last_seen": "yesterday"}')
    assert digest.read_visit(home.layout, "ann") is None and digest.read_visit(home.layout, "nobody") is None
    digest.visit_path(home.layout, "ann").unlink()
    digest.visit_path(home.layout, "ann").symlink_to("/etc/hostname")
    assert digest.read_visit(home.layout, "ann") is None


def test_a_state_folder_that_is_gone_is_not_made_again(home):
    shutil.rmtree(home.root)
    with pytest.raises(files.NotWritten):
        digest.note_visit(home.layout, "ann", NOW)
    assert not home.root.exists()


def test_a_state_folder_that_goes_while_an_operator_is_noted_is_not_made_again(home, monkeypatch):
    """Nor by a room that opens."""
    for noting in (lambda: digest.note_visit(home.layout, "ann", 1.0), lambda: enter_room(home.layout, "ann", {}, 1.0)):
        monkeypatch.setattr(Layout, "exists", lambda layout: True)  # as it was a moment ago
        aside = home.layout.root.rename(home.layout.root.with_name("aside"))
        with pytest.raises(files.StoreError):
            noting()
        assert not home.layout.root.exists()
        aside.rename(home.layout.root)


def test_hostile_words_are_safe_and_every_kind_of_event_has_a_group(home):
    home.ended("tsk-x", "failed", text="\x1b]52;c;aGk=\x07 \u202e")
    home.do("signal.send", by="bob", message="hi")
    found = digest_for(home.layout, "ann", NOW + 1, since=NOW - 9)
    said = " ".join(one.text for group in found.groups for one in group.entries)
    assert "\x1b" not in said and "\u202e" not in said
    assert set(EVENTS.values()) <= set(GROUPS) == set(TITLES)
    assert digest_for(home.layout, "ann", NOW + 1).first


def test_events_are_said_so_that_they_need_no_kind_beside_them(home):
    for kind, text in (("engine_started", "pid 7, epoch 2"), ("engine_stopped", "idle"), ("killed", "killed by bob")):
        home.log.add(kind, text, NOW - 60)
    (engine,) = digest_for(home.layout, "ann", NOW, since=NOW - HOUR).groups
    assert {one.text for one in engine.entries} == {
        "engine started", "engine stopped: idle", "the agent was killed by bob",
    }  # fmt: skip
    assert set(SHORT) <= set(TITLES) and all(len(SHORT.get(name, TITLES[name])) <= 14 for name in TITLES)
