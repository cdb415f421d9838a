"""A cleanup of the signals taken back: each signal has its place again, and everybody has read what they had read."""

from __future__ import annotations

import functools
import json
import shutil

import pytest
from lumen_kills import killed_before, state_calls

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.signals import cleanups


def journals(desk) -> dict[str, bytes]:
    """The journals of the signals; one that is empty is as one that is not there."""
    paths = (desk.layout.signals, desk.layout.receipts, desk.layout.memory_archive)
    return {path.name: path.read_bytes() for path in paths if path.exists() and path.stat().st_size}


def mixed(desk) -> tuple[list[str], list[str]]:
    """Signals that leave and signals that stay, by turns, with receipts of both sorts and a damaged line."""
    leave, stay = desk.signals(3, age=8), desk.signals(2, age=6)
    with desk.layout.signals.open("ab") as file:
        file.write(b"nonsense\n")
    leave += desk.signals(2, age=9, note="a }")
    desk.read("bo", leave[1], upto=False)
    desk.read("ana", leave[2])
    desk.read("bo", leave[-1])
    stay += desk.signals(2, age=1)
    for_cy = desk.signals(1, age=20, target_agent="cy")
    desk.read("cy", for_cy[0], upto=False)
    desk.read("ana", leave[-1])
    desk.read("ana", stay[-1], upto=False)
    desk.read("cy", stay[-1])
    return leave + for_cy, stay


READERS = ("ana", "bo", "cy", "who looks for the first time")


def test_all_is_as_it_was_byte_for_byte_and_redo_takes_the_same_out_again(desk):
    leave, _ = mixed(desk)
    before, unread = journals(desk), {reader: desk.unread(reader) for reader in READERS}
    assert desk.do("cleanup.signals").summary.startswith("6 signals moved")
    after = journals(desk)
    assert desk.ids("archive.jsonl") == leave
    assert desk.do("undo").summary.startswith("undone: 6 signals moved")
    assert journals(desk) == before
    assert {reader: desk.unread(reader) for reader in READERS} == unread
    desk.do("redo")
    assert journals(desk) == after
    desk.do("undo")
    assert journals(desk) == before


def test_what_came_since_stays_and_what_was_taken_back_since_does_not_come_again(desk):
    leave, stay = mixed(desk)
    sent = desk.do("signal.send", message="by mistake", by="bo")
    before = desk.layout.signals.read_bytes().splitlines()
    cleaned = desk.do("cleanup.signals")
    new = desk.signals(2)
    desk.read("bo", new[0], upto=False)
    perform(desk.store, named("undo", {"action_id": sent.action_id}), by="bo", now=desk.now)
    desk.do("undo", action_id=cleaned.action_id)
    lines = desk.layout.signals.read_bytes().splitlines()
    assert lines[: len(before) - 1] == before[:-1]
    assert [json.loads(line)["id"] for line in lines[len(before) - 1 :]] == new
    assert desk.ids("archive.jsonl") == [sent.target]
    assert desk.unread("bo") == [one for one in desk.unread("a fourth") if one in (stay[2], stay[3], leave[5], new[1])]


def test_cleanups_go_back_the_last_one_first(desk):
    mixed(desk)
    before = journals(desk)
    first = desk.do("cleanup.signals")
    desk.now += 6 * 86_400
    between = journals(desk)
    second = desk.do("cleanup.signals", by="bo")
    with pytest.raises(
        ActionError, match=rf"a later cleanup by bo .`undo {second.action_id}`. is in effect: undo that first"
    ):
        desk.do("undo", action_id=first.action_id)
    desk.do("undo", by="bo")
    assert journals(desk) == between
    desk.do("undo")
    assert journals(desk) == before


def test_receipts_that_belonged_to_nothing_come_back_as_well(desk):
    desk.read("ana", desk.signals(1)[0])
    desk.store.receipts.append({"signal_id": "sig-gone", "read_at": "2026-01-01T00:00:00Z", "reader": "ana"})
    before = journals(desk)
    assert "1 orphaned receipt removed" in desk.do("cleanup.signals").summary
    desk.do("undo")
    assert journals(desk) == before


def test_only_the_last_ones_are_kept_and_an_older_one_says_where_the_signals_are(desk):
    done = []
    for _ in range(cleanups.MOST + 1):
        desk.read("ana", desk.signals(1, age=8)[0])
        done.append(desk.do("cleanup.signals"))
    assert len(cleanups.records(desk.layout)) == cleanups.MOST
    assert len(list(desk.layout.cleanups.iterdir())) == cleanups.MOST
    before = desk.files()
    with pytest.raises(ActionError, match=r"only the last 5 cleanups are kept .*memory/archive.jsonl"):
        desk.do("undo", action_id=done[0].action_id)
    assert desk.files() == before
    for _ in range(cleanups.MOST):
        desk.do("undo")
    with pytest.raises(ActionError, match="only the last 5"):
        desk.do("undo")
    assert len(desk.ids("signals.jsonl")) == cleanups.MOST


def test_journals_that_are_too_large_are_not_kept_and_the_entry_says_so(desk, monkeypatch):
    mixed(desk)
    desk.do("cleanup.signals", ttl="8d")
    monkeypatch.setattr(cleanups, "MOST_BYTES", 1000)
    desk.do("cleanup.signals")
    assert cleanups.records(desk.layout) == [], "what was kept would go back in a wrong order"
    before = desk.files()
    for _ in range(2):
        with pytest.raises(ActionError, match=r"not kept to be put back: the signals are in memory/archive.jsonl"):
            desk.do("undo")
    assert desk.files() == before


def test_nothing_to_clean_up_leaves_nothing(desk):
    desk.signals(2)
    before = desk.files()
    assert desk.do("cleanup.signals").summary == "nothing to clean up"
    assert desk.files() == before


@pytest.mark.parametrize("verb", ["cleanup.signals", "undo"])
def test_a_kill_before_any_call_is_undone_to_what_was(desk, verb, sampled, tmp_path):
    mixed(desk)
    before, unread = journals(desk), {reader: desk.unread(reader) for reader in READERS}
    if verb == "undo":
        desk.do("cleanup.signals")
    ready = desk.root.rename(tmp_path / "ready")

    def act() -> None:
        perform(Store(desk.root), named(verb, {}), by="ana", now=1_800_000_000.0)

    shutil.copytree(ready, desk.root)
    for call in sampled(list(range(len(state_calls(desk.root, act)))), 6):
        shutil.rmtree(desk.root)
        shutil.copytree(ready, desk.root)
        assert killed_before(call, desk.root, act)
        if any(True for _ in journal.in_effect(desk.layout, lambda action: action.by == "ana")):
            desk.do("undo")
        assert {reader: desk.unread(reader) for reader in READERS} == unread, call
        assert journals(desk).get("archive.jsonl") is None, call
        assert journals(desk) == before, call


@pytest.mark.fault("R1", "a cleanup of signals cut off before any of its calls, then mended by the doctor")
@pytest.mark.parametrize("kept", [True, False], ids=["with copies for undo", "too large for copies"])
def test_the_doctor_mends_a_cleanup_that_was_cut_off_wherever(desk, tmp_path, monkeypatch, sampled, kept):
    """Each signal stands in the journal or in the archive, once, and who had read what is as it was."""
    if not kept:
        monkeypatch.setattr(cleanups, "MOST_BYTES", 0)
    leave, stay = mixed(desk)
    unread = {name: desk.unread(name) for name in ("ana", "bo", "cy", "zoe")}
    whole = tmp_path / "whole"
    shutil.copytree(desk.root, whole)
    do = functools.partial(perform, desk.store, named("cleanup.signals", {}), by="ana", now=desk.now)
    calls = state_calls(desk.root, do)
    ended = set()
    for call in sampled(list(range(len(calls))), 12):
        shutil.rmtree(desk.root)
        shutil.copytree(whole, desk.root)
        assert killed_before(call, desk.root, do)
        examine(desk.store, now=desk.now, fix=True)
        assert examine(desk.store, now=desk.now).findings == (), call
        standing, archived = desk.ids_read("signals.jsonl"), desk.ids_read("archive.jsonl")
        assert sorted(standing + archived) == sorted(leave + stay), (call, calls[call])
        assert archived in ([], leave), "all of it or nothing"
        recorded = desk.layout.actions.read_bytes() if desk.layout.actions.exists() else b""
        assert not recorded or not kept or (b'"dropped"' in recorded) != bool(archived), "what was done, and no more"
        remaining = {name: [one for one in unread[name] if one in standing] for name in unread}
        assert {name: desk.unread(name) for name in unread} == remaining
        ended.add(bool(archived))
        desk.do("cleanup.signals")
        assert sorted(desk.ids_read("archive.jsonl")) == sorted(leave)
        assert sorted(desk.ids_read("signals.jsonl")) == sorted(stay)
    assert ended == {False, True}
