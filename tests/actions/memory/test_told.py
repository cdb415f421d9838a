"""What happens by itself stands in the journal of the operators; what somebody else could have needed is given back."""

from __future__ import annotations

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.store.audit import journal


def told(desk) -> list[tuple[str, str, str, int]]:
    return [(deed.verb, deed.by, deed.summary, deed.changes) for deed in journal.recent(desk.layout, 100)]


def begin(desk) -> None:
    desk.do("wu.new", title="t", id="WU-001")


def test_a_hand_off_taken_by_mistake_is_given_back(desk):
    begin(desk)
    note = desk.do("handoff.give", note="tests are red", wu_id="WU-001").target
    done = desk.do("handoff.take", wu_id="WU-001", by="bo")
    assert told(desk)[0] == ("handoff.take", "bo", "1 hand-off taken on WU-001", 1)
    assert desk.do("undo", by="bo").action_id
    with pytest.raises(ActionError):
        desk.do("handoff.take", wu_id="WU-002", by="cy")
    assert desk.do("handoff.take", wu_id="WU-001", by="cy").target == done.target == note
    with pytest.raises(ActionError, match="changed since by cy"):
        desk.do("redo", by="bo")


def test_a_session_start_is_told_and_its_hand_off_can_be_given_back(desk):
    begin(desk)
    desk.do("handoff.give", note="tests are red", wu_id="WU-001")
    session = desk.do("session.start", wu_id="WU-001", by="bo").target
    assert ("session.start", "bo", "session on WU-001 started", 3) in told(desk)
    desk.do("undo", by="bo")
    with pytest.raises(ActionError, match="no session"):
        desk.do("session.end", session=session, by="bo")
    assert desk.do("handoff.take", wu_id="WU-001", by="cy").action_id


def test_checkpoints_that_are_put_away_by_themselves_are_told_and_come_back_with_the_one_that_put_them_away(desk):
    begin(desk)
    made = [desk.do("checkpoint.save", note=f"n{number}", wu_id="WU-001").target for number in range(11)]
    assert told(desk)[0] == ("checkpoint.retire", "ana", "1 older checkpoint of WU-001 archived", 1)
    assert desk.status(made[0]) == "archived"
    desk.do("undo")
    assert [desk.status(made[0]), desk.status(made[-1])] == ["open", "deleted"]
    desk.do("redo")
    assert [desk.status(made[0]), desk.status(made[-1])] == ["archived", "open"]
    desk.do("node.unarchive", node_ids=made[0])
    assert desk.status(made[0]) == "open"
