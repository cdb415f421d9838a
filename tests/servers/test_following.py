"""A desk that many clients read at once: what it keeps in memory is what is on the disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from lumen_folder import StateFolder
from lumen_until import until

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import searching
from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.queries import documents
from lumen_tui.servers import following
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.desk import Desk
from lumen_tui.servers.following import FollowingDesk
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.files import StoreError

WHO = Principal("zed", "http", frozenset(Scope))


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    made = StateFolder(tmp_path / "state", SystemClock())
    made.layout.create()
    return made


@pytest.fixture
def desk(folder: StateFolder) -> Iterator[FollowingDesk]:
    made = FollowingDesk(folder.root)
    made.follow()
    yield made
    made.close()


def test_what_others_do_is_taken_in_and_what_is_done_here_is_there_at_once(folder, desk) -> None:
    folder.do("signal.send", message="hello", to="*")
    until(lambda: len(desk.snapshot().signals) == 1)
    for number in range(10):
        task = desk.perform(WHO, NewTask(objective=f"Look at part {number}")).target
        assert task in [view.id for view in desk.snapshot().tasks]
        assert task in [one["id"] for one in desk.status()["tasks"]]


def test_a_task_that_is_newer_than_the_snapshot_is_found_and_one_that_is_not_there_is_not(folder, desk) -> None:
    for _ in range(20):
        task = folder.do("task.new", objective="Look at the pump").target
        assert desk.task(task).view.id == task
    with pytest.raises(ActionError, match="there is no task"):
        desk.task("tsk-none")


def test_the_status_is_worked_out_anew_when_something_changes(folder, desk) -> None:
    assert desk.status()["queued"] == 0
    folder.do("task.new", objective="Look at the pump")
    until(lambda: desk.status()["queued"] == 1)


def test_an_inbox_is_that_of_the_disk_whoever_writes_and_reads(folder, desk) -> None:
    counter = Counter(desk)

    def inbox(limit: int = 2, who: Principal = WHO) -> tuple[list[str], bool]:
        answer = counter.invoke(who, "inbox", {"limit": limit})
        return [signal["message"] for signal in answer["signals"]], answer["more"]

    assert inbox() == ([], False)
    for number in range(3):
        folder.do("signal.send", message=f"note {number}", to="*")
        assert inbox()[0][0] == f"note {number}"
    assert inbox(2) == (["note 2", "note 1"], True)
    assert inbox(3) == (["note 2", "note 1", "note 0"], False)
    listed = counter.invoke(WHO, "inbox", {})["signals"]
    counter.invoke(WHO, "mark_read", {"signal_ids": [signal["id"] for signal in listed]})
    assert inbox() == ([], False)
    assert inbox(3, Principal("other", "http", frozenset(Scope)))[0] == ["note 2", "note 1", "note 0"]


def test_a_task_is_as_its_files_are_at_that_moment(folder, desk) -> None:
    counter = Counter(desk)
    task = folder.do("task.new", objective="Look at the pump").target
    place = folder.layout.tasks / task

    def read(offset: int = 0) -> dict[str, object]:
        return counter.invoke(WHO, "read_task", {"task_id": task, "offset": offset})

    assert (read()["result"], len(read()["events"])) == ("", 0)
    for number in range(1, 4):
        with open(place / "events.jsonl", "a") as events:
            events.write(f'{{"kind":"note","at":"2026-11-24T00:00:0{number}Z","text":"step {number}"}}\n')
        assert len(read()["events"]) == number
    (place / "result.md").write_text("x" * 150_000)
    assert (len(read()["result"]), read()["next_offset"]) == (100_000, 100_000)
    assert len(read(100_000)["result"]) == 50_000


def test_what_is_kept_is_bounded_and_holds_for_a_second(folder, desk, monkeypatch) -> None:
    made = []
    for number in range(200):
        assert desk.settled(number, tuple, lambda number=number: made.append(number) or number) == number
        assert desk.settled(number, tuple, lambda: None) in (number, None)  # None: a second began in between
    assert sum(desk.is_settled(number) for number in range(200)) <= following._MOST_SETTLED
    until(lambda: not desk.is_settled(199))


def test_json_of_an_answer_is_that_of_its_safe_document() -> None:
    for text in ("plain", 'quote " and \n', "über", "\x1b[2J", "\u202e", "\\n", "\x7f", "half \ud800"):
        document = {"text": text, "list": [text, 1, 2.5, None], "deep": {"a": (text,)}}
        assert json.loads(documents.encoded(document)) == json.loads(msgspec.json.encode(documents.plain(document)))
        settled = documents.SettledDocument(document)
        assert documents.encoded(settled) is documents.encoded(settled)
        assert documents.encoded(settled) == documents.encoded(document)


def test_a_search_finds_what_was_just_done_here_and_soon_what_others_did(folder, desk) -> None:
    def hits(word: str) -> int:
        return len(desk.search(searching.parse(word, desk.now, limit=5)).hits)

    assert hits("pump") == 0
    folder.do("signal.send", message="The pump is old", to="*")
    until(lambda: hits("pump") == 1)


def test_all_who_wait_for_changes_are_told_and_end_when_they_are_asked_to(folder, desk) -> None:
    stops = [threading.Event() for _ in range(5)]
    seen: list[list[int]] = [[] for _ in stops]

    def watch(number: int) -> None:
        for snapshot in desk.changes(stops[number]):
            seen[number].append(len(snapshot.signals))

    threads = [threading.Thread(target=watch, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    until(lambda: all(seen))
    folder.do("signal.send", message="hello", to="*")
    until(lambda: all(counts[-1] == 1 for counts in seen))
    for stop in stops:
        stop.set()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_a_disk_that_fails_for_a_while_ends_nothing(folder, monkeypatch) -> None:
    monkeypatch.setattr(following, "_LOOK", 0.01)
    failures = iter([OSError("gone"), StoreError("gone")])
    changes = Desk.changes

    def failing(desk: Desk, stop: threading.Event) -> Iterator[object]:
        if failure := next(failures, None):
            raise failure
        return changes(desk, stop)

    monkeypatch.setattr(Desk, "changes", failing)
    desk = FollowingDesk(folder.root)
    desk.follow()
    folder.do("signal.send", message="hello", to="*")
    until(lambda: len(desk.snapshot().signals) == 1)
    desk.close()
