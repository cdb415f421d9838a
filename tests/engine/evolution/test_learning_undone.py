"""What a pass over sessions learnt is one entry: whoever had it made undoes it; the engine's own goes by its id."""

from __future__ import annotations

import asyncio
import json

import pytest
from evolution_folder import SessionFile

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.main import main
from lumen_tui.engine.evolution.learning import Learning
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.evolution import ObservationStatus
from lumen_tui.model.requests.engine import Redo, Undo
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution import evolved, versions


@pytest.fixture
def told(mind, session):
    """A session with something that is learnt and something that waits."""
    session.person("Always answer in German.").person("Never push to main on a Friday.")
    session.agent("I will always run the linter before a commit.")
    return session


def entries_of(mind, by: str) -> list[journal.JournalEntry]:
    return list(journal.in_effect(mind.layout, lambda action: action.by == by))


def learn(mind, monkeypatch, *words: str) -> None:
    monkeypatch.setenv("LUMEN_STATE", str(mind.store.root))
    monkeypatch.setenv("LUMEN_OPERATOR", "ana")
    assert main(list(words)) == 0


def test_evolve_is_undone_as_one_and_done_again_and_is_not_learnt_a_second_time(mind, told, monkeypatch):
    learn(mind, monkeypatch, "evolve", "--session", str(told.path))
    before = [(one.text, one.status) for one in mind.known]
    accepted, files, claude = mind.texts(), versions.on_disk(mind.layout), mind.claude_md
    assert accepted
    assert len(entries_of(mind, "ana")) == 1
    mind.do("undo")
    assert mind.texts() == mind.texts("proposed") == []
    assert {one.status for one in mind.known} == {ObservationStatus.WITHDRAWN}
    assert not any(text in mind.claude_md for text in accepted)
    learn(mind, monkeypatch, "evolve", "--session", str(told.path))
    assert mind.texts() == [], "what was read stays read"
    mind.do("redo")
    assert [(one.text, one.status) for one in mind.known] == before
    assert (versions.on_disk(mind.layout), mind.claude_md) == (files, claude)
    assert len(versions.listed(mind.layout)) == 3, "one version for all that is undone at once"


def test_undo_of_a_pass_leaves_what_was_known_before_and_refuses_where_somebody_decided_since(mind, told, monkeypatch):
    learn(mind, monkeypatch, "evolve", "--session", str(told.path))
    first = entries_of(mind, "ana")[0].first
    known, text = mind.texts(), mind.known[0].text
    told.person("Always use tabs in Makefiles.")
    learn(mind, monkeypatch, "evolve", "--session", str(told.path))
    assert len(mind.texts()) > len(known)
    mind.do("undo")
    assert mind.texts() == known
    mind.do("evolution.reject", by="bo", ids=mind.known[0].id, reason="no")
    with pytest.raises(ActionError, match="was changed since by bo"):
        mind.do("undo", action_id=first.id)
    assert mind.one(text).status is ObservationStatus.REJECTED


def test_what_the_engine_learnt_is_nobodys_newest_and_is_undone_by_its_id(mind):
    own = SessionFile(mind.layout.transcripts / "t1.jsonl", cwd=str(mind.layout.tasks / "tsk-1"))
    own.agent("We decided to rest on Sundays.").runs("npm test", "Cannot find module 'vite'", ok=False).runs("npm ci")
    own.runs("npm test")
    mind.do("wu.new", title="something of ana's")

    async def one_pass() -> None:
        learning = Learning(mind.layout, _Log())
        learning.beat(mind.config, mind.now)
        await learning.settled()

    asyncio.run(one_pass())
    (entry,) = entries_of(mind, acting.LEARNING)
    assert {action.client for action in entry.actions} == {acting.ENGINE}
    seen = [deed for deed in journal.recent(mind.layout, 50) if deed.verb == "evolve"]
    assert seen
    room = RemotePort(mind.store.root, "ana")
    learnt = [one.id for one in mind.known if one.status in (ObservationStatus.ACCEPTED, ObservationStatus.PROPOSED)]
    assert room.submit(Undo()).summary.startswith("undone: WU-001 made")
    with pytest.raises(ActionError, match="nothing of yours to undo"):
        room.submit(Undo())
    room.submit(Undo(action_id=entry.first.id))
    assert {mind.one(evolved.observations(mind.layout)[name].text).status for name in learnt} == {
        ObservationStatus.WITHDRAWN
    }
    assert room.submit(Redo()).summary.startswith("done again: WU-001 made"), "and not what the engine did"
    room.submit(Redo(action_id=entry.first.id))
    assert learnt == [
        one.id for one in mind.known if one.status in (ObservationStatus.ACCEPTED, ObservationStatus.PROPOSED)
    ]


class _Log:
    def add(self, *_: object, **__: object) -> None:
        """What is told is not looked at."""


def test_a_pass_that_learnt_nothing_leaves_no_entry_of_the_engine(mind, session):
    own = mind.layout.transcripts / session.path.name
    own.write_bytes(json.dumps({"type": "summary", "summary": "nothing"}).encode() + b"\n")
    mind.learn(own)
    assert list(journal.newest_first(mind.layout)) == []
