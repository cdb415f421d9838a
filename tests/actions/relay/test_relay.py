"""Submissions on what their contributors have seen: in, held with what moved since, refused; what persons decide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from lumen_rows import each_row

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import relay
from lumen_tui.model.relay import SubmissionStatus
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import relays as kept
from lumen_tui.store.memory.relays import RelayIndex


def test_texts_in_turn_go_in_one_after_the_other(desk) -> None:
    assert [desk.submit(text, base).position for base, text in enumerate(("one", "two", "three"))] == [1, 2, 3]
    assert desk.texts == ["one", "two", "three"]
    assert desk.needs() == []


def test_an_old_base_is_held_with_what_moved_since_and_by_whom(desk) -> None:
    desk.submit("first", 0)
    desk.submit("second\nwith more", 1, "agent-b")
    desk.submit("third", 2, "agent-c")
    answer = desk.submit("on what I saw", 1)
    assert answer.status is SubmissionStatus.HELD
    assert answer.reasons == ("conflict: based on position 1, head is 3",)
    assert [(one.position, one.by, one.title) for one in answer.moved] == [
        (2, "agent-b", "second"), (3, "agent-c", "third"),
    ]  # fmt: skip
    assert desk.texts == ["first", "second\nwith more", "third"]
    assert desk.needs() == [answer.id]


def test_the_resubmission_is_held_and_its_contributor_is_told(desk) -> None:
    """The incident: the same text again, under a newer time, from one that does not know it was there."""
    first = desk.submit("2026-09-20 10:00 Deployment is done.\nAll checks pass.", 0)
    desk.submit("Thanks, closing the ticket.", 1, "agent-b")
    again = desk.submit("2026-09-21 08:15  Deployment is done. All   checks pass.\n", 2)
    assert (first.status, again.status) == (SubmissionStatus.SENT, SubmissionStatus.HELD)
    assert again.reasons == ("the same text is at position 1, by agent-a (2026-09-21 14:14 UTC)",)
    said = "\n".join(relay.words(again))
    for words in ("is held", "it is not in outbox", "the same text is at position 1", "on base 2"):
        assert words in said
    assert len(desk.texts) == 2
    third = desk.submit("Deployment is done. All checks pass.", 1)
    assert (third.id, third.repeated) == (again.id, True), "asked again it is told the same, and nothing piles up"
    assert [one.title for one in third.moved] == ["Thanks, closing the ticket."]
    assert len(desk.box.by_id) == 3


@pytest.mark.parametrize(("base", "name"), [(7, "outbox"), (-1, "outbox"), (1, "inbox"), (0, "../x"), (0, "")])
def test_a_base_or_a_relay_that_is_not_known_is_refused(desk, base: int, name: str) -> None:
    desk.submit("first", 0)
    with pytest.raises(ActionError):
        desk.submit("second", base, name=name)
    assert desk.texts == ["first"]
    assert kept.names(desk.layout) == ["outbox"]


def test_who_looks_and_submits_again_replaces_what_was_held(desk) -> None:
    desk.submit("first", 0)
    held = desk.submit("my words", 0, "agent-b")
    sent = desk.submit("my words", 1, "agent-b")
    assert (held.status, sent.status, sent.position) == (SubmissionStatus.HELD, SubmissionStatus.SENT, 2)
    assert desk.box.by_id[held.id].status is SubmissionStatus.REPLACED
    assert desk.needs() == []


def test_a_key_makes_one_and_belongs_to_one_text(desk) -> None:
    first = desk.submit("one", 0, key="k1")
    desk.submit("two", 1, "agent-b")
    again = desk.submit("one", 0, key="k1")
    assert (again.id, again.status, again.repeated) == (first.id, SubmissionStatus.SENT, True)
    with pytest.raises(ActionError, match="belongs to another text"):
        desk.submit("other", 2, key="k1")
    assert desk.submit("other", 2, "agent-c", key="k1").status is SubmissionStatus.SENT


def test_a_person_releases_drops_and_takes_both_back(desk) -> None:
    desk.submit("first", 0)
    held = desk.submit("second", 0, "agent-b")
    for name in ("lumen", "Lumen", "researcher", "system", "agent", "agent-c", "ses-1", "tsk-1", "assistant"):
        with pytest.raises(ActionError, match="only a person"):
            desk.do("relay.release", name, ids=held.id)
    done = desk.do("relay.release", ids=held.id[:8])
    assert "at position 2" in done.summary
    assert desk.texts == ["first", "second"]
    with pytest.raises(ActionError, match="does not wait"):
        desk.do("relay.drop", ids=held.id)
    desk.do("undo")
    assert (desk.texts, desk.needs()) == (["first"], [held.id])
    desk.do("relay.drop", ids=held.id, reason="said before")
    assert desk.needs() == []
    again = desk.submit("second", 2, "agent-b")
    assert again.reasons[0].startswith("the same text was dropped by ann (2026-09-21 ")
    assert again.reasons[0].endswith(": said before")
    desk.do("undo")
    assert desk.box.by_id[held.id].status is SubmissionStatus.HELD
    desk.do("redo")
    assert desk.box.by_id[held.id].status is SubmissionStatus.DROPPED


def test_nobody_releases_what_they_wrote_themselves(desk) -> None:
    desk.submit("first", 0)
    held = desk.submit("second", 0, "bob")
    with pytest.raises(ActionError, match="your own"):
        desk.do("relay.release", "bob", ids=held.id)
    desk.do("relay.drop", "bob", ids=held.id)
    assert desk.box.by_id[held.id].status is SubmissionStatus.DROPPED, "to take it back is theirs"


def test_a_position_is_never_given_twice(desk) -> None:
    desk.submit("first", 0)
    desk.submit("second", 1, "ann")
    desk.do("undo")
    assert desk.texts == ["first"]
    assert desk.submit("third", 1).position == 3
    desk.do("redo")
    assert [(one.position, one.text) for one in desk.box.entries] == [(1, "first"), (3, "third"), (4, "second")]


def test_one_contributor_cannot_fill_the_queue(desk) -> None:
    desk.submit("first", 0, "agent-b")
    for number in range(relay.MOST_HELD):
        assert desk.submit(f"late {number}", 0).status is SubmissionStatus.HELD
    with pytest.raises(ActionError, match="wait in outbox already"):
        desk.submit("one more", 0)
    assert desk.submit("of another", 0, "agent-c").status is SubmissionStatus.HELD


def test_the_index_follows_and_damage_hides_only_itself(desk) -> None:
    desk.submit("first", 0)
    index = RelayIndex(desk.layout)
    assert index.refresh()
    assert not index.refresh()
    with kept.path_of(desk.layout, "outbox").open("ab") as file:
        file.write(b'{"id":7}\n\xff\xfe\nnot json\n')
    (kept.folder(desk.layout) / "Not A Name.jsonl").write_bytes(b"x\n")
    held = desk.submit("esc \x1b[2J \u202e", 0, "agent-\u00e9")
    assert index.refresh()
    assert [(name, one.id) for name, one in index.held()] == [("outbox", held.id)]
    assert "\x1b" not in index.held()[0][1].text
    assert "3 damaged lines" in index.problems[0].what
    assert desk.needs() == [held.id]


@each_row(
    ("one", "other", "same"),
    [("a  b\n", "a b", True), ("[2026-11-21] a b", "2026-11-22T10:00:00Z — a b", True), ("a b", "a c", False),
     ("Nov 21 14:00: Deployment is done", "2026-11-20 10:00 Deployment is done", True),
     ("[14:05] It is DONE.", "it is done", True), ("Sat, 21 November 2026, 9:15 pm - ok so", "21.11.2026: ok so", True),
     ("14:00 standup", "15:00 standup", False), ("May 5 apples", "May 6 apples", False), ("...", "!", False),
     ("2026-11-21", "2026-11-22", False), ("at 2026-11-21 a", "at 2026-11-22 a", False)],
)  # fmt: skip
def test_the_same_text_is_the_same_under_another_time(one: str, other: str, same: bool) -> None:
    assert (relay.content_hash(one) == relay.content_hash(other)) is same


RACER = """
import sys
from pathlib import Path
from lumen_tui.store.memory import relays as relay
from lumen_tui.storage.layout import Layout
layout = Layout(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(40):
    relay.submit(layout, "outbox", f"text {number}", by="agent", base=0, now=1.0, key=f"k{number}")
"""


def test_two_processes_with_the_same_keys_make_one_of_each(desk) -> None:
    command = [sys.executable, "-c", RACER, str(desk.layout.root)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True, stderr=subprocess.PIPE) for _ in range(2)]
    errors = [racer.communicate("go\n", timeout=60)[1] for racer in racers]
    box = desk.box
    assert len({one.key for one in box.by_id.values()}) == len(box.by_id) == 21, errors
    assert [len(box.entries), len(box.held)] == [1, relay.MOST_HELD]


def test_the_contributor_is_told_on_its_own_command_line(desk, tmp_path: Path, monkeypatch, capsys) -> None:
    """End to end: what another program sees of the incident."""
    from lumen_tui.cli.main import main

    monkeypatch.setenv("LUMEN_STATE", str(desk.layout.root))
    monkeypatch.setenv("LUMEN_OPERATOR", "ann")
    monkeypatch.delenv("CLAUDECODE", raising=False)
    assert main(["relay", "submit", "outbox", "Deployment is done.", "--base", "0", "--from", "agent-a"]) == 0
    assert main(["relay", "submit", "outbox", "Closed.", "--base", "1", "--from", "agent-b"]) == 0
    capsys.readouterr()
    words = ["relay", "submit", "outbox", "Deployment  is done.", "--base", "1", "--from", "agent-a", "--json"]
    assert main(words) == 4
    answer = msgspec.json.decode(capsys.readouterr().out)
    assert (answer["status"], answer["position"], answer["base"]) == ("held", 2, 1)
    assert [one["by"] for one in answer["moved"]] == ["agent-b"]
    assert main(["relay", "held", "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)[0]["id"] == answer["id"]
    monkeypatch.setenv("CLAUDECODE", "1")
    capsys.readouterr()
    assert main(["relay", "release", answer["id"]]) == 2
    assert "an agent's own program asks" in capsys.readouterr().err, "no name that nobody typed"
    monkeypatch.delenv("CLAUDECODE")
    assert main(["relay", "drop", answer["id"], "-r", "said before"]) == 0
    assert main(["relay", "held"]) == 3
    assert main(["relay", "show", "outbox", "--since", "1"]) == 0
    assert main(["relay", "show", "outbx"]) == 3
    assert main(["relay", "submit", "outbox", "x y", "--base", "9"]) == 2


def test_a_worker_reads_and_submits_and_a_second_attempt_repeats_nothing(desk, tmp_path: Path) -> None:
    from lumen_tui.model.roles import Role
    from lumen_tui.model.tasks import Spec
    from lumen_tui.tools.agent import blocks
    from lumen_tui.tools.base import Context, ToolError

    context = Context(
        Role(name="researcher", purpose="p"), Spec(id="tsk-1", objective="o"), desk.store, tmp_path,
        now=lambda: desk.now, monotonic=lambda: 0.0,
    )  # fmt: skip
    desk.submit("first", 0)
    assert blocks.relay_read(context, blocks.RelayReadArguments("outbox")).data == {"position": 1}
    late = blocks.relay_submit(context, blocks.RelaySubmitArguments("outbox", "a finding", 0))
    assert not late.ok
    assert "since position 0:" in late.text
    assert blocks.relay_submit(context, blocks.RelaySubmitArguments("outbox", "a finding", 0)).data["repeated"]
    for call in (("nowhere", 0), ("outbox", 9)):
        with pytest.raises(ToolError):
            blocks.relay_submit(context, blocks.RelaySubmitArguments(call[0], "more of it", call[1] or 3))
    assert Layout(desk.layout.root).exists()
