from __future__ import annotations

import subprocess
import sys

import pytest

from lumen_tui.actions import sessions
from lumen_tui.actions.outcome import ActionError

TAKER = """
import sys
from pathlib import Path
from lumen_tui.actions import sessions
from lumen_tui.storage.store import Store
store, who = Store(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
print(*sessions.take(store, by=who, now=1_800_000_100.0, wu_id="WU-042"))
"""


def test_a_handoff_is_taken_once_with_age_and_author_shown(desk):
    desk.unit()
    note = desk.do("handoff.give", note="tests are red", wu_id="WU-042", by="ana").target
    desk.now += 300
    waiting = desk.page().handoffs[0]
    assert (waiting.id, waiting.by, int(waiting.age_seconds)) == (note, "ana", 300)
    bo = desk.do("session.start", wu_id="WU-042", by="bo")
    assert "1 hand-off taken" in bo.summary
    assert "taken" not in desk.do("session.start", wu_id="WU-042", by="cy").summary
    shown = desk.page().handoffs[0]
    assert (shown.extra["taken_by"], shown.extra["taken_session"]) == ("bo", bo.target)
    with pytest.raises(ActionError) as refused:
        desk.do("handoff.take", wu_id="WU-042", by="cy")
    assert refused.value.missing


def test_a_handoff_to_somebody_waits_for_them(desk):
    desk.unit()
    desk.do("handoff.give", note="for bo alone", wu_id="WU-042", to="bo")
    assert "taken" not in desk.do("session.start", wu_id="WU-042", by="cy").summary
    assert desk.do("handoff.take", wu_id="WU-042", by="bo").summary == "1 hand-off taken on WU-042"


def test_of_many_takers_at_once_one_wins(desk):
    desk.unit()
    notes = {desk.do("handoff.give", note=f"note {number}", wu_id="WU-042").target for number in range(3)}
    command = [sys.executable, "-c", TAKER, str(desk.root)]
    takers = [
        subprocess.Popen([*command, f"agent{n}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(6)
    ]
    for taker in takers:
        assert taker.stdout.readline() == "ready\n"
    for taker in takers:
        taker.stdin.write("\n")
        taker.stdin.flush()
    taken = [word for taker in takers for word in taker.communicate(timeout=30)[0].split()]
    assert sorted(taken) == sorted(notes), "each exactly once"
    assert sessions.take(desk.store, by="late", now=desk.now, wu_id="WU-042") == []


def test_an_archived_handoff_is_not_taken(desk):
    desk.unit()
    note = desk.do("handoff.give", note="never mind", wu_id="WU-042").target
    desk.do("node.archive", node_ids=note, reason="not needed")
    assert sessions.take(desk.store, by="bo", now=desk.now, wu_id="WU-042") == []
