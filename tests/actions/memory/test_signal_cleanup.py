from __future__ import annotations

import json
import os

import pytest

from lumen_tui.queries import digest
from lumen_tui.storage import files
from lumen_tui.store.signals import compaction, receipts
from lumen_tui.store.signals.signal_index import SignalIndex


def gone(desk) -> list[str]:
    return desk.ids("archive.jsonl")


def test_read_ones_leave_after_a_week_and_stand_in_the_archive(desk):
    old = desk.signals(3, age=8, note={"kept": "as it was"})
    new = desk.signals(2, age=6)
    desk.read("ana", new[-1])
    before = [json.loads(line) for line in desk.layout.signals.read_bytes().splitlines()][:3]
    done = desk.do("cleanup.signals")
    assert done.summary == "3 signals moved to memory/archive.jsonl, 2 kept"
    assert desk.ids("signals.jsonl") == new
    archived = [json.loads(line) for line in (desk.root / "memory/archive.jsonl").read_bytes().splitlines()]
    assert [{key: one[key] for key in first} for one, first in zip(archived, before, strict=True)] == before
    assert archived[0]["archive_reason"] == "read, and its time is over"
    assert gone(desk) == old


def test_unread_ones_stay_thirty_days_and_longer_where_work_needs_them(desk):
    for wu, lane in (("WU-001", "Core"), ("WU-002", "UI"), ("WU-003", "Docs")):
        desk.do("wu.new", title="t", id=wu, lane=lane)
    desk.do("wu.claim", wu_id="WU-001")
    desk.do("wu.claim", wu_id="WU-003")
    desk.do("wu.done", wu_id="WU-003", no_checkpoint_check=True)
    assert desk.do("cleanup.signals").target == "", "the completion is new"
    young = desk.signals(1, age=29)
    active, ready = desk.signals(1, age=300, wu_id="WU-001"), desk.signals(1, age=300, wu_id="WU-002")
    held = desk.signals(1, age=300, lane="Core")
    leave = desk.signals(1, age=31) + desk.signals(1, age=300, wu_id="WU-003") + desk.signals(1, age=31, lane="Docs")
    desk.do("cleanup.signals")
    assert gone(desk) == leave
    assert set(young + active + ready + held) < set(desk.ids("signals.jsonl"))


def test_of_read_ones_the_newest_stay_up_to_a_number_and_unread_ones_all(desk):
    read = desk.signals(8, age=1)
    desk.read("ana", read[-1])
    unread = desk.signals(9, age=1)
    desk.do("cleanup.signals", max_entries=5)
    assert gone(desk) == read[:3]
    assert desk.ids("signals.jsonl") == read[3:] + unread
    assert desk.unread("ana") == unread


def test_one_agents_read_is_not_anothers(desk):
    everybody = desk.signals(1, age=8, sender="cy")
    for_bo = desk.signals(1, age=8, target_agent="bo", sender="cy")
    desk.read("ana", for_bo[0])
    latest = desk.signals(1)
    desk.read("bo", latest[0], upto=False)
    desk.do("cleanup.signals")
    assert gone(desk) == [], "bo looks into the inbox and has not read these"
    desk.read("bo", for_bo[0], upto=False)
    desk.do("cleanup.signals")
    assert gone(desk) == for_bo
    desk.read("bo", everybody[0])
    desk.do("cleanup.signals")
    assert gone(desk) == for_bo + everybody


def test_legacy_records_count_as_read_for_everybody(desk):
    inline = desk.signals(1, age=8, read=True)
    unread = desk.signals(1, age=8)
    nobody = desk.signals(1, age=8)
    desk.store.receipts.append({"signal_id": nobody[0], "read_at": "2026-11-21T03:57:02.931Z"})
    desk.do("cleanup.signals")
    assert gone(desk) == inline + nobody
    assert desk.ids("signals.jsonl") == unread


def test_dates_that_cannot_be_read_or_lie_ahead_keep_a_signal(desk):
    kept = desk.signals(1, age=-400) + desk.signals(1, created_at="yesterday")
    desk.read("ana", kept[-1])
    assert desk.do("cleanup.signals").target == ""
    assert desk.ids("signals.jsonl") == kept


def test_damaged_lines_stay_where_they_are(desk):
    old = desk.signals(1, age=8)
    desk.read("ana", old[0])
    with desk.layout.signals.open("ab") as file:
        file.write(b"nonsense\n\n{}\n" + b'{"id": "sig-torn')
    new = desk.signals(1)
    desk.do("cleanup.signals")
    assert desk.layout.signals.read_bytes().startswith(b'nonsense\n\n{}\n{"id": "sig-torn\n')
    assert gone(desk) == old
    assert desk.unread("bo") == new


def settled(desk, reader: str) -> list[str]:
    """What is unread, and the same as the room's own index says."""
    index = SignalIndex(desk.layout, reader)
    while index.refresh():
        pass
    found = desk.unread(reader)
    assert [row.signal.id for row in reversed(index.rows()) if row.unread] == found
    return found


def test_a_receipt_for_all_before_keeps_its_sense_when_its_signal_leaves(desk):
    kept = desk.signals(2, age=6)
    leaves = desk.signals(2, age=8)
    desk.read("ana", leaves[-1])
    after = desk.signals(3, age=1)
    desk.read("ana", after[1], upto=False)
    assert settled(desk, "ana") == [after[0], after[2]]
    desk.do("cleanup.signals")
    assert gone(desk) == leaves
    assert settled(desk, "ana") == [after[0], after[2]]
    told = [json.loads(line) for line in desk.layout.receipts.read_bytes().splitlines()]
    assert [(one["signal_id"], one.get("upto", False)) for one in told] == [(kept[1], True), (after[1], False)]
    for one in told:
        line = desk.layout.signals.read_bytes()[one["offset"] :].partition(b"\n")[0]
        assert json.loads(line)["id"] == one["signal_id"], "the hint says where the line begins now"


def test_many_receipts_behind_it_change_nothing(desk):
    """More than the 64 KiB that readers look back behind such a receipt."""
    first = desk.signals(1, age=6)
    leaves = desk.signals(1, age=8)
    desk.read("ana", leaves[0])
    rest = desk.signals(900, age=1)
    every = [{"signal_id": one, "read_at": "2027-01-15T00:00:00.000Z", "reader": "ana"} for one in rest[::2]]
    desk.store.receipts.append_all(every)
    desk.do("cleanup.signals")
    assert gone(desk) == leaves
    assert settled(desk, "ana") == rest[1::2]
    assert settled(desk, "bo") == first + rest


def test_orphaned_receipts_go_and_wrong_ones_stay(desk):
    new = desk.signals(2)
    desk.read("ana", new[0], upto=False)
    desk.store.receipts.append({"signal_id": "sig-gone", "read_at": "2026-01-01T00:00:00Z", "reader": "ana"})
    files.append(desk.layout.receipts, b"nonsense\n")
    assert desk.do("cleanup.signals").summary.endswith("1 orphaned receipt removed")
    lines = desk.layout.receipts.read_bytes().splitlines()
    assert [b"nonsense" in line for line in lines] == [False, True]
    assert settled(desk, "ana") == new[1:]


def test_a_look_writes_nothing_and_says_what_would_be_done(desk, cli):
    old = desk.signals(3, age=8)
    desk.read("ana", old[-1])
    desk.signals(2, age=40)
    desk.store.receipts.append({"signal_id": "sig-gone", "read_at": "2026-01-01T00:00:00Z"})
    before = desk.files()
    code, out, _ = cli("signal", "cleanup", "--dry-run", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["removed_read"], told["removed_unread"], told["orphaned"], told["kept"]) == (3, 2, 1, 0)
    assert desk.files() == before
    assert cli("signal-cleanup")[0] == 0
    assert cli("signal", "cleanup")[0] == 3
    assert desk.ids("signals.jsonl") == []


@pytest.mark.parametrize("words", [["--ttl", "soon"], ["--unread-ttl", "3"], ["--max-entries", "-1"], ["--dryrun"]])
def test_bad_words_write_nothing(desk, cli, words):
    desk.signals(3, age=90)
    before = desk.files()
    assert cli("signal", "cleanup", *words)[0] == 2
    assert desk.files() == before


class Killed(Exception):
    pass


@pytest.mark.parametrize("step", range(15))
def test_a_kill_between_any_two_steps_loses_and_repeats_nothing(desk, monkeypatch, step):
    """The run ends before the step; the state reads as before or as after, and the next run finishes it."""
    kept = desk.signals(2, age=6)
    leaves = desk.signals(1500, age=8)
    desk.read("ana", leaves[-1])
    new = desk.signals(2)
    left = [step]

    def stopping(real):
        def call(*args, **more):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return real(*args, **more)

        return call

    with monkeypatch.context() as patch:
        for name in ("append", "take_place"):
            patch.setattr(files, name, stopping(getattr(files, name)))
        try:
            desk.do("cleanup.signals")
        except Killed:
            assert step < 14, "the last of them is behind the last write"
    assert settled(desk, "ana") == new
    assert set(kept + leaves + new) == set(desk.ids("signals.jsonl")) | set(gone(desk))
    desk.do("cleanup.signals")
    assert settled(desk, "ana") == new
    assert desk.ids("signals.jsonl") == kept + new
    assert gone(desk) == leaves
    assert receipts.orphans(desk.layout) == 0
    assert not list(desk.root.rglob(".*.tmp")) or step < 14


def test_signals_that_come_between_the_judgement_and_the_lock_stay(desk, monkeypatch):
    old = desk.signals(2, age=8)
    desk.read("ana", old[-1])
    real = compaction._rewrite
    came = []

    def late(*given):
        came.extend(desk.signals(1, age=90))
        if len(came) == 1:
            desk.store.signals.rewrite(lambda lines: lines)  # another rewrite: the judgement is void
        return real(*given)

    monkeypatch.setattr(compaction, "_rewrite", late)
    desk.do("cleanup.signals")
    assert gone(desk) == old + came[:1]
    assert desk.ids("signals.jsonl") == came[1:]


@pytest.mark.sweep(most=2)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 1.0])
def test_it_can_be_stopped_at_any_moment(desk, share):
    kept = desk.signals(2, age=6)
    leaves = desk.signals(9000, age=8)
    desk.read("ana", leaves[-1])

    def stop(done: float) -> None:
        if done >= share:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.do("cleanup.signals", watch=stop)
    assert settled(desk, "ana") == []
    assert desk.ids("signals.jsonl") == kept + leaves
    assert not list(desk.root.rglob(".*.tmp"))
    desk.do("cleanup.signals")
    assert desk.ids("signals.jsonl") == kept
    assert gone(desk) == leaves, "what the first run copied is not copied again"


def test_writers_and_readers_are_not_held_up(desk):
    """While it is at it, signals and receipts are appended; what those say is in force afterwards."""
    leaves = desk.signals(9000, age=8)
    kept = desk.signals(3, age=6)
    desk.read("ana", leaves[100])
    shares, late = [], []

    def busy(done: float) -> None:
        shares.append(done)
        late.extend(desk.signals(1))
        if len(shares) == 2:
            desk.read("bo", leaves[200])
            desk.read("ana", kept[0])

    desk.do("cleanup.signals", ttl="7d", unread_ttl="7d", watch=busy)
    assert shares == sorted(shares)
    assert len(shares) > 3
    assert shares[-1] == 1.0
    assert gone(desk) == leaves
    assert desk.ids("signals.jsonl") == kept + late
    assert settled(desk, "ana") == kept[1:] + late
    assert settled(desk, "bo") == kept + late
    assert receipts.orphans(desk.layout) == 0


def test_lines_of_any_length_and_form_are_sorted_alike(desk):
    """Blocks whose lines all leave are copied in one go; odd lines among them must not differ for it."""
    long = desk.signals(1, age=8, note="x" * 65_350)
    odd = desk.signals(1, age=8, archived_at="once before")
    files.append(desk.layout.signals, b'{"id": "sig-spaced", "created_at": "2026-01-01T00:00:00Z" } \n')
    leaves = desk.signals(9000, age=8, note="a }")
    desk.read("ana", leaves[-1])
    desk.do("cleanup.signals")
    assert gone(desk) == [*long, *odd, "sig-spaced", *leaves]
    records = [json.loads(line) for line in (desk.root / "memory/archive.jsonl").read_bytes().splitlines()]
    assert "archive_reason" not in records[0], "no room for the marks"
    assert {one["archive_reason"] for one in records[1:]} == {"read, and its time is over"}
    assert records[1]["archived_at"] != "once before"
    assert desk.ids("signals.jsonl") == []


def test_the_room_follows_a_cleanup(desk):
    old = desk.signals(5, age=8)
    desk.read("ana", old[-1])
    index = SignalIndex(desk.layout, "ana")
    while index.refresh():
        pass
    new = desk.signals(2)
    desk.do("cleanup.signals")
    while index.refresh():
        pass
    assert [row.signal.id for row in index.rows()] == new[::-1]
    assert index.unread == 2


def test_modes_stay_private(desk):
    old = desk.signals(5, age=8)
    desk.read("ana", old[-1])
    before = os.umask(0o022)
    try:
        desk.do("cleanup.signals")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (desk.root / "memory").glob("*.jsonl")} == {0o600}


def test_what_its_addressee_has_not_read_stays_however_old_and_however_many(desk):
    theirs = desk.signals(30, age=300, target_agent="bo", sender="cy")
    desk.read("ana", desk.signals(1)[0])
    desk.do("cleanup.signals", max_entries=5, ttl="0s", unread_ttl="0s")
    assert set(theirs) <= set(desk.unread("bo"))
    desk.read("bo", theirs[-1])
    desk.do("cleanup.signals", max_entries=5)
    assert gone(desk) == theirs


def test_a_fresh_signal_to_all_is_there_for_who_looks_for_the_first_time(desk):
    """Somebody whom nobody knows yet finds the day's signals, whoever has read them and however many they are."""
    sent = desk.signals(700)
    desk.read("ana", sent[-1])
    assert desk.do("cleanup.signals").target == ""
    assert len(desk.unread("bo")) == 700
    desk.now += 86_400
    desk.do("cleanup.signals")
    assert desk.unread("bo") == sent[200:], "a day later the newest 500 of what every known reader has read"


@pytest.mark.parametrize("known_by", ["inbox", "room", "session"])
def test_what_a_known_reader_has_not_read_stays_its_time(desk, known_by):
    reader = "bo"
    if known_by == "inbox":
        desk.read("bo", desk.signals(1)[0])
    elif known_by == "room":
        digest.note_visit(desk.layout, "bo", desk.now)
    else:
        reader = desk.do("session.start", wu_id="WU-001", by="bo").target
    sent = desk.signals(600, age=20, sender="cy")
    desk.read("ana", sent[-1])
    desk.do("cleanup.signals")
    assert set(sent) <= set(desk.unread(reader))
    desk.now += 11 * 86_400
    desk.do("cleanup.signals")
    assert not set(sent) & set(desk.unread(reader)), "a month is the time of a signal to all"


def test_a_session_that_is_over_holds_nothing_back(desk):
    session = desk.do("session.start", wu_id="WU-001", by="bo").target
    to_it, to_all = desk.signals(3, age=8, target_agent=session), desk.signals(3, age=8)
    desk.read("ana", to_all[-1])
    desk.do("cleanup.signals")
    assert gone(desk) == []
    desk.do("session.end", session=session)
    desk.do("cleanup.signals")
    assert gone(desk) == to_it + to_all


def test_a_session_has_read_what_it_sent(desk):
    session = desk.do("session.start", wu_id="WU-001", by="bo").target
    own = desk.signals(2, age=8, session_id=session)
    desk.read("ana", own[-1])
    desk.do("cleanup.signals")
    assert gone(desk) == own
