"""The journal of actions, read from its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.records import Action, Change
from lumen_tui.model.text import is_safe
from lumen_tui.storage import files
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal

HOSTILE = "[/] \x1b]52;c;QUJD\x07 \x1b[2J \u202egnp.exe\nsecond"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    Store(tmp_path / "state").layout.create()
    return Store(tmp_path / "state")


def act(store: Store, name: str, *, changes: int = 1, **more: str) -> None:
    made = tuple(Change("node", f"mem-{number}", {"content": "x" * 4000}, None) for number in range(changes))
    base = {"at": "2026-01-01T00:00:00.000Z", "by": "ana", "verb": "triage.archive", "target": "mem-0", "summary": name}
    files.append(store.layout.actions, journal.action_lines(Action(id=f"act-{name}", changes=made, **{**base, **more})))


def test_the_newest_comes_first_and_no_journal_is_no_deed(store: Store) -> None:
    assert journal.recent(store.layout, 10) == []
    for name in ("one", "two", "three"):
        act(store, name)
    assert [deed.summary for deed in journal.recent(store.layout, 2)] == ["three", "two"]


def test_an_action_in_several_lines_is_one_deed(store: Store) -> None:
    act(store, "small")
    act(store, "large", changes=60)
    assert store.layout.actions.read_bytes().count(b"\n") > 3
    assert [(deed.summary, deed.changes) for deed in journal.recent(store.layout, 10)] == [("large", 60), ("small", 1)]


def test_the_last_word_tells_whether_a_deed_stands(store: Store) -> None:
    act(store, "one")
    act(store, "two")
    act(store, "three", verb="undo", undoes="act-one")
    act(store, "four", verb="undo", undoes="act-two")
    act(store, "five", verb="redo", redoes="act-one")
    assert {deed.summary: deed.undone for deed in journal.recent(store.layout, 10)} == {
        "one": False, "two": True, "three": False, "four": False, "five": False,
    }  # fmt: skip


def test_reasons_are_those_of_the_verb_each_once_newest_first(store: Store) -> None:
    for name, reason in (("a", "old"), ("b", "new"), ("c", "old"), ("d", "")):
        act(store, name, reason=reason)
    act(store, "e", verb="node.archive", reason="another verb")
    assert journal.recent_reasons(store.layout, "triage.archive", 9) == ("old", "new")
    assert RemotePort(store.root).recent_reasons("triage.archive") == ("old", "new")


def test_damage_and_hostile_text_do_no_harm(store: Store) -> None:
    act(store, "good", reason=HOSTILE, by=HOSTILE)
    with store.layout.actions.open("ab") as out:
        out.write(b'{"id": 5}\nnot json\n\xff\xfe\n{"id":"act-torn","at"')
    found = journal.recent(store.layout, 10)
    assert [deed.id for deed in found] == ["act-good"]
    assert all(is_safe(text) for text in (found[0].reason, found[0].by))
    assert "\n" not in found[0].reason
