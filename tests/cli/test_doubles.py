"""What stands there already is told before it is made once more: at `create`, in the list, and before a promotion."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from lumen_tui.actions import edits
from lumen_tui.storage import raw_json
from lumen_tui.store.memory import nodes

SECRET = "key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOP"


@pytest.mark.parametrize("text", ["Race in the lock", 'half "done" – ¾\n\ttwo lines', SECRET])
@pytest.mark.parametrize(
    "again",
    [
        lambda text, first: ("create", text),
        lambda text, first: ("mem:create", text),
        lambda text, first: ("create", text, "--discovered-from", first),
        lambda text, first: ("create", text, "--key", "two"),
    ],
)
def test_every_way_to_note_a_text_a_second_time_names_the_first_and_notes_it(shell, text, again: Callable[..., tuple]):
    first = shell("create", text).stdout.strip()
    shell("create", "something else")
    made = shell(*again(text, first))
    assert made.returncode == 0
    assert f"lumen-tui: {first} says the same word for word\n" in made.stderr
    second = made.stdout.strip()
    assert nodes.find(shell.layout.memory, [second])[second][1]["id"] == second != first


def test_a_new_text_is_noted_without_a_word(shell):
    shell("create", "Race in the lock")
    shell("create", "to be deleted", "--key", "a")
    assert shell("create", "Race in the loc").stderr == ""
    assert shell("create", "the text: Race in the lock").stderr == ""
    assert shell("create", "to be deleted", "--key", "a").stderr == ""  # the same note, not a second one


def test_what_became_of_the_first_is_told_and_a_deleted_one_is_none(shell):
    kept, gone = (shell("create", text).stdout.strip() for text in ("archived text", "deleted text"))
    assert shell("triage", "--archive", kept, "-r", "no").returncode == 0
    assert shell("delete", gone).returncode == 0
    assert f"{kept} says the same word for word (archived)" in shell("create", "archived text").stderr
    assert shell("create", "deleted text").stderr == ""


def test_only_the_end_of_the_journal_is_looked_at_and_no_line_of_it_stops_the_look(shell, monkeypatch):
    first = shell("create", "Race in the lock").stdout.strip()
    filler = b'{"id":"mem-x","type":"note","content":"' + b"x" * 900 + b'"}\n'
    with open(shell.layout.memory, "ab") as journal:
        journal.write(b'{"id": 7, "content": "Race in the lock"}\n{"content":"Race in the lock"\n')
        journal.write(b'\xff"Race in the lock"\n')
    second = shell("create", "Race in the lock")
    assert f"{first} says the same" in second.stderr
    with open(shell.layout.memory, "ab") as journal:
        journal.write(filler * 1200)
    assert shell("create", "Race in the lock").stderr == ""
    monkeypatch.setattr(raw_json, "_WINDOW", 0)
    assert raw_json.same_text(shell.layout.memory, first) is None
    assert raw_json.same_text(shell.root / "nowhere", first) is None


@pytest.fixture
def doubles(shell) -> list[str]:
    texts = ("Session manager races on close", "Session manager race on close", "The disk is full")
    return [shell("create", text, "--type", "bug", "-p", "P1").stdout.strip() for text in texts]


def test_the_list_marks_what_is_likely_a_double(shell, doubles):
    one, two, other = doubles
    rows = {row.split()[0]: row for row in shell("triage").stdout.splitlines()}
    assert re.search(rf"\(like {two[4:8]}, \d\d %\)$", rows[one])
    assert re.search(rf"\(like {one[4:8]}, \d\d %\)$", rows[two])
    assert "like" not in rows[other]
    likes = {node["id"]: node.get("like", {}).get("id") for node in json.loads(shell("triage", "--json").stdout)}
    assert likes == {one: two, two: one, other: None}


@pytest.mark.parametrize(
    "words",
    [
        ("triage", "--promote"), ("triage", "--json", "--promote"), ("mem:triage", "--promote"),
        ("mem:triage", "--json", "--promote"), ("mem:triage", "--dry-run", "--promote"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kept", [False, True])
def test_a_promotion_says_first_which_others_are_alike(shell, doubles, words, kept):
    one, two, _ = doubles
    if kept:  # not listed for now, and compared all the same
        assert shell("triage", "--keep", one).returncode == 0
    done = shell(*words, one, "--lane", "Core")
    assert done.returncode == 0
    told = rf"lumen-tui: {one} is like {two}, \d\d % \(“Session manager race on close”\)\n"
    assert re.fullmatch(told, done.stderr)
    node = nodes.find(shell.layout.memory, [one])[one][1]
    assert edits.status_of(node) == ("open" if "--dry-run" in words else "promoted")


def test_a_list_shows_what_each_discovery_is(shell, doubles):
    plain = shell("create", "a thing", "--wu", "WU-042", "--tags", "auth,race", "-p", "P2").stdout.strip()
    rows = {row.split()[0]: row.split()[1] for row in shell("triage").stdout.splitlines()}
    assert rows == {**dict.fromkeys(doubles, "bug"), plain: "discovery"}
    for listing in (("mem:triage", "--list"), ("mem:triage",), ("mem-triage", "-l")):
        shown = shell(*listing).stdout
        assert shown.count("  Type: discovery (bug)\n") == 3
        assert (
            f"{plain}: a thing\n  Type: discovery\n  Priority: P2\n  Discovered during: WU-042\n  Tags: auth, race\n"
        ) in shown
