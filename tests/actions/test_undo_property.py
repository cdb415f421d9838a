"""Whatever an operator does: undone until nothing is left, all is as before, or undo says what stays and why."""

from __future__ import annotations

import contextlib
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.cli.main import main
from lumen_tui.storage.files import StoreError
from lumen_tui.store.audit import journal
from tests.actions import random_acts
from tests.actions.conftest import ActionsFolder
from tests.actions.random_acts import MAKES, Stage
from tests.actions.visible import STAMPS, View, visible

_LISTINGS = (
    "inbox --reader zed --no-mark --all", "inbox --reader ana --no-mark --all", "triage --all", "task list", "wu list",
    "fact list", "archive list", "blocks list", "role list", "session list --all", "relay list", "relay held",
    "approvals list", "approvals rules", "attention list", "budget", "status",
)  # fmt: skip


@pytest.mark.fault("R14", "random acts of every verb, undone one after the other")
def test_any_acts_undone_one_after_the_other_leave_all_as_it_was(tmp_path, sampled, monkeypatch):
    for seed in sampled(list(range(1, 201)), 4):
        _one_run(tmp_path / str(seed), seed, monkeypatch)


def _one_run(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    desk = ActionsFolder(folder / "state")
    desk.store.layout.create()
    stage = Stage(desk, folder, seed)
    listed = _listings(desk, monkeypatch)
    acts = Acts(stage)
    for _ in range(stage.chance.randrange(10, 31)):
        acts.act()
        if stage.chance.random() < 0.3:
            acts.there_and_back()
    acts.take_back()
    assert not acts.standing() or acts.refused, seed
    if not acts.refused:
        after = _listings(desk, monkeypatch)
        for words, said in listed.items():
            assert after[words] == said, (seed, words, acts.done)


class Acts:
    """What was done, each with what stood before it."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.desk = stage, stage.desk
        self.last: tuple[str, dict[str, Any]] = ("", {})
        self.done: list[str] = []
        self.before: dict[str, View] = {}  # by the id of the entry
        self.verbs: dict[str, str] = {}
        self.joined: set[str] = set()  # entries of acts of which an older entry stands
        self.refused: dict[str, str] = {}
        self.held: set[tuple[str, str]] = set()  # what refused entries changed
        self.again: set[str] = set()  # verbs of which redo was carried out
        self.not_again: dict[str, str] = {}  # why redo refused, and what was done

    def standing(self) -> list[str]:
        mine = journal.in_effect(self.desk.store.layout, lambda action: action.by == "ana")
        return [entry.first.id for entry in mine if entry.first.id not in self.refused]

    def act(self) -> None:
        verb, arguments = self.last = random_acts.next_act(self.stage, *self.last)
        before, entries = visible(self.desk), self.standing()
        try:
            made = self.desk.do(verb, **arguments)
        except (ActionError, StoreError):
            assert _differing(before, visible(self.desk)) == set(), ("it was refused, and wrote", verb, arguments)
            assert self.standing() == entries, ("it was refused, and left an entry", verb, arguments)
            return
        self.stage.note(MAKES.get(verb, ""), made.target)
        self.done.append(f"{verb} {arguments}")
        new = [name for name in self.standing() if name not in entries]
        if not new:
            assert _differing(before, visible(self.desk)) == set(), ("it left no entry, and wrote", verb, arguments)
        for name in new:
            self.before[name], self.verbs[name] = before, verb
        self.joined |= set(new[:-1])

    def there_and_back(self) -> None:
        """Undo the newest entry and do it again: all is as it was. Where one is refused, nothing is written."""
        before, entries = visible(self.desk), self.standing()
        if not entries or not self._turned("undo"):
            return
        newest = entries[0]
        undone = visible(self.desk)
        if self._turned("redo"):
            left = _differing(before, visible(self.desk))
            assert not left, (self.verbs.get(newest), left, self.done)
            assert self.standing() == entries
            self.again.add(self.verbs.get(newest, ""))
        else:
            assert _differing(undone, visible(self.desk)) == set()

    def _turned(self, verb: str) -> bool:
        """Whether it was carried out; where it was refused, nothing was written, not even to the journal of actions."""
        journal = self.desk.store.layout.actions.read_bytes()
        try:
            self.desk.do(verb)
        except ActionError as error:
            assert self.desk.store.layout.actions.read_bytes() == journal, ("it was refused, and wrote", str(error))
            if verb == "redo":
                self.not_again[str(error)] = self.done[-1]
            return False
        return True

    def take_back(self) -> None:
        while entries := self.standing():
            newest = entries[0]
            stands, journal = visible(self.desk), self.desk.store.layout.actions.read_bytes()
            self.desk.now += 1
            try:
                entry = {"action_id": newest} if self.refused else {}
                perform(self.desk.store, named("undo", entry), by="ana", now=self.desk.now)
            except ActionError as error:
                assert self.desk.store.layout.actions.read_bytes() == journal, ("it was refused, and wrote", str(error))
                self._must_be_documented(newest, str(error))
                self.refused[newest] = str(error)
                self.held |= _differing(self.before[newest], stands)
                continue
            if newest in self.before and newest not in self.joined:
                left = _differing(self.before[newest], visible(self.desk)) - self.held
                assert not left, (self.verbs[newest], left, self.done)

    def _must_be_documented(self, newest: str, why: str) -> None:
        assert "not undone, as" in why
        mine = journal.in_effect(self.desk.store.layout, lambda action: action.by == "ana")
        entry = next(one for one in mine if one.first.id == newest)
        final = any(action.final for action in entry.actions)
        assert final or self.held, ("refused without a word of its own", self.verbs.get(newest), why, self.done)


def _listings(desk: ActionsFolder, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What each list says at one and the same hour."""
    with monkeypatch.context() as fixed:
        fixed.setenv("LUMEN_STATE", str(desk.root))
        fixed.setenv("LUMEN_OPERATOR", "ana")
        fixed.setattr(time, "time", lambda: _LATER)
        return {words: _without(_listing(words), STAMPS | _GOES_ON.get(words, set())) for words in _LISTINGS}


def _listing(words: str) -> Any:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*words.split(), "--json"])
    assert code in (0, 3), words
    rest, said = out.getvalue().strip(), []
    while rest:  # a document, or one for each line
        value, end = json.JSONDecoder().raw_decode(rest)
        said.append(value)
        rest = rest[end:].lstrip()
    return said


_GOES_ON = {
    "relay list": {"position"},
    "blocks list": {"step", "at", "by", "how", "age_seconds"},
}  # undo is a step of what is told of a block, and a text that was dropped from a relay keeps its place
_LATER = 1_800_003_000.0


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(one, names) for key, one in value.items() if key not in names}
    return [_without(one, names) for one in value] if isinstance(value, list) else value


def _differing(one: View, other: View) -> set[tuple[str, str]]:
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
