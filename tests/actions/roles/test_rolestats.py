"""The index of ended tasks: level with the folders, read once, thrown away at will; and what is proposed from it."""

from __future__ import annotations

import json
import os

import pytest

from lumen_tui.__main__ import main
from lumen_tui.model.acceptance import Acceptance, Verdict
from lumen_tui.model.tasks import Exit
from lumen_tui.queries.search.index import SearchIndex
from lumen_tui.queries.search.search import all_documents
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.tasks import claims, role_stats
from lumen_tui.store.tasks.role_stats import RoleIndex, book


def figures(house) -> dict[str, tuple[int, int]]:
    return {one.name: (one.tasks, one.done) for one in book(house.layout, house.now).roles}


def test_live_and_archived_tasks_count_once_each_wherever_they_stand(house):
    house.ended("one")
    house.ended("two", status="failed", live=True)
    assert figures(house) == {"builder": (2, 1)}
    house.archive("two")
    assert figures(house) == {"builder": (2, 1)}


def test_an_end_that_is_taken_back_is_none(house):
    folder = house.ended("two", status="cancelled", live=True)
    assert figures(house) == {"builder": (1, 0)}
    (folder / "exit.json").unlink()
    assert figures(house) == {}


def test_only_what_is_new_is_read(house, monkeypatch):
    for number in range(5):
        house.ended(f"t-{number}")
    month = house.layout.archive / "2027" / "01"
    os.utime(month, (house.now - 900, house.now - 900))
    figures(house)
    read = []
    row = role_stats._row
    monkeypatch.setattr(role_stats, "_row", lambda name, *rest: read.append(name) or row(name, *rest))
    assert figures(house) == {"builder": (5, 5)}
    assert read == []
    house.ended("t-9")
    assert figures(house) == {"builder": (6, 6)}
    assert read == ["t-9"]


@pytest.mark.parametrize(
    "damage", [b"", b"not a database at all, but long enough to be looked at" * 40], ids=["empty", "no database"]
)
def test_the_index_may_be_damaged_or_gone(house, damage):
    house.ended("one")
    figures(house)
    role_stats.path(house.layout).write_bytes(damage)
    assert figures(house) == {"builder": (1, 1)}
    role_stats.path(house.layout).unlink()
    assert figures(house) == {"builder": (1, 1)}


def test_where_it_cannot_be_written_it_is_made_in_memory(house):
    house.ended("one")
    role_stats.path(house.layout).symlink_to("/etc/passwd")
    assert figures(house) == {"builder": (1, 1)}


def test_what_cannot_be_read_is_passed_over_and_not_read_again(house):
    folder = house.ended("one")
    (folder / "spec.json").write_bytes(b"{")
    house.ended("two")
    assert figures(house) == {"builder": (1, 1)}


def test_odd_names_in_the_archive_are_no_months(house):
    house.ended("one")
    year = house.layout.archive / "2027"
    (year / "02").symlink_to("/nowhere")
    (year / "03").write_text("x")
    (house.layout.archive / "2028").write_text("x")
    elsewhere = house.layout.root / "elsewhere"
    elsewhere.mkdir()
    (year / "04").symlink_to(elsewhere)
    assert figures(house) == {"builder": (1, 1)}
    assert [doc.ref for doc in all_documents(house.layout) if doc.type == "task"] == ["one"]
    picture = SnapshotReader(house.layout.root).snapshot(house.now)
    assert [view.id for view in picture.tasks] == ["one"]
    index = SearchIndex(house.layout)
    index.refresh(house.now)
    assert not index.in_memory
    assert index.db.execute("SELECT ref FROM docs WHERE type = 'task'").fetchall() == [("one",)]
    index.close()


def test_who_made_what_and_what_repeats_what(house):
    house.ended("one", made_by="loop-000001")
    house.ended("two", retry_of="one")
    with RoleIndex(house.layout, house.now) as index:
        assert index.made_by("loop-000001") == ["one"]
        assert index.retries_of("one") == ["two"]


def test_a_bad_role_is_proposed_and_can_be_put_aside(house):
    house.bad_builder()
    assert house.needs() == ["retire-builder-1"]
    done = house.do("attention.dismiss", targets=house.needs())
    assert house.needs() == []
    house.do("undo", action_id=done.action_id)
    assert house.needs() == ["retire-builder-1"]
    assert not list(house.layout.retired_roles.iterdir())  # nothing is fired by itself


def test_live_failures_count_for_a_proposal_too(house):
    house.bad_builder(live=True)
    assert house.needs() == ["retire-builder-1"]


def test_a_folder_with_few_tasks_is_not_indexed_by_a_look(house):
    house.ended("one", live=True)
    assert house.needs() == []
    assert not role_stats.path(house.layout).exists()


def test_on_the_command_line(house, capsys):
    house.bad_builder()
    house.ended("evil-1", role="\x1b[2Jevil", live=True)
    assert main(["--state", str(house.root), "role", "stats"]) == 0
    said = capsys.readouterr().out
    assert "does worse than the others: 5 of 30" in said and "\x1b" not in said
    assert main(["--state", str(house.root), "role", "stats", "builder", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], found["done"], found["median"]) == (30, 5, 9.0)
    assert main(["--state", str(house.root), "role", "stats", "nobody"]) == 3


def test_what_was_proved_and_how_often_done_was_wrong(house, capsys):
    """A task that was sent back counts once, as what it ended as; each time it was called done and was not counts."""
    house.ended("plain")
    house.ended("proved", acceptance=Acceptance(Verdict.PROVED))
    house.ended("claimed", acceptance=Acceptance(Verdict.CLAIMED))
    wrong = Acceptance(Verdict.DISPROVED)
    twice = house.ended("wrong", status="failed", acceptance=wrong, attempt=2)
    mended = house.ended("mended", acceptance=Acceptance(Verdict.PROVED), attempt=2)
    for folder in (twice, mended):
        claims.leave(folder, Exit(folder.name, "done", "", attempt=1))
        claims.send_back(folder, Exit(folder.name, "done", "", attempt=1, acceptance=wrong))
    (builder,) = book(house.layout, house.now).roles
    assert (builder.checked, builder.proved, builder.claimed, builder.disproved) == (4, 2, 1, 3)
    assert main(["--state", str(house.root), "role", "stats", "builder"]) == 0
    assert "2 of 4 proved, 1 only claimed; 3 times done was disproved" in capsys.readouterr().out
