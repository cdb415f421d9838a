from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time

import pytest

from lumen_tui.actions import ready
from lumen_tui.actions.outcome import ActionError
from lumen_tui.queries import trail_file
from lumen_tui.queries.trail import Trail
from lumen_tui.queries.trail_file import NODES

READER = """
import sys
from pathlib import Path
from lumen_tui.storage.layout import Layout
from lumen_tui.queries.trail import Trail
layout = Layout(Path(sys.argv[1]))
worst = 10**9
for _ in range(10):
    with Trail(layout) as look:
        worst = min(worst, len(look.signals("WU-042", 10_000)))
print(worst)
"""


def test_everything_on_the_page_has_an_author_and_an_age(desk):
    desk.unit()
    desk.do("session.start", wu_id="WU-042", agent_type="claude-code", by="ana")
    desk.do("wu.claim", wu_id="WU-042", by="ana")
    desk.do("checkpoint.save", note="half", progress="50%", next_steps="integration", by="ana")
    desk.do("signal.send", message="auth half done", wu_id="WU-042", to="bo", by="ana")
    desk.do("node.create", content="Race", type="bug", priority="P1", wu_id="WU-042", by="cy")
    desk.do("decision.note", question="Which lock?", by="ana")
    desk.do("handoff.give", note="tests are red", by="ana")
    desk.now += 3600
    page = desk.page()
    groups = (page.signals, page.discoveries, page.pending_decisions, page.handoffs, (page.last_checkpoint,))
    for entry in [one for group in groups for one in group]:
        assert entry.by in ("ana", "cy")
        assert entry.age_seconds > 3500
    assert page.last_checkpoint.extra["nextSteps"] == "integration"
    text = "\n".join(ready.lines(page))
    for part in (
        "status: in_progress, lane Framework: Core", "claimed by ana 1 h ago", "of ana (claude-code), started 1 h ago",
        "hand-off: tests are red  — ana, 1 h ago", "Checkpoint: half  — ana, 1 h ago", "next steps: integration",
        "auth half done  — ana to bo, 1 h ago", "[P1] Race  — cy, 1 h ago", "Which lock?  — ana, 1 h ago",
    ):  # fmt: skip
        assert part in text


def test_order_is_priority_then_date_then_id_and_blocked_closed_ephemeral_are_dropped(desk):
    desk.unit()
    same = {"type": "discovery", "content": "x", "wu_id": "WU-042"}
    for identifier, priority, at, more in (
        ("mem-b", "P1", "2026-01-02", {}), ("mem-a", "P1", "2026-01-02", {}), ("mem-c", "P1", "2026-01-01", {}),
        ("mem-d", "", "2025-01-01", {}), ("mem-e", "P0", "2026-01-03", {}),
        ("mem-f", "P0", "2026-01-01", {"lifecycle": "ephemeral"}), ("mem-h", "P0", "2026-01-01", {}),
    ):  # fmt: skip
        record = {"id": identifier, **same, "created_at": f"{at}T00:00:00Z", "metadata": {"priority": priority}, **more}
        desk.store.nodes.append(record)
    closed = desk.do("node.create", content="closed", type="bug", priority="P0", wu_id="WU-042").target
    desk.do("triage.archive", node_ids=closed, reason="r")
    desk.do("relation.add", from_id="mem-d", to_id="mem-h", type="blocks")
    assert [one.id for one in desk.page().items] == ["mem-e", "mem-c", "mem-a", "mem-b", "mem-d"]
    desk.do("triage.archive", node_ids="mem-d", reason="closing a blocker unblocks")
    assert [one.id for one in desk.page().items] == ["mem-h", "mem-e", "mem-c", "mem-a", "mem-b"]


def test_the_type_option_picks_the_kind(desk):
    desk.unit()
    note = desk.do("node.create", content="a note", type="note", wu_id="WU-042").target
    desk.do("node.create", content="a bug", type="bug", wu_id="WU-042")
    assert [one.id for one in desk.page(type="note").items] == [note]
    assert desk.page(type="summary").items == ()


def test_long_lists_say_what_they_left_out(desk):
    desk.unit()
    for number in range(25):
        desk.do("node.create", content=f"d{number}", type="bug", wu_id="WU-042")
    page = desk.page()
    assert (len(page.discoveries), page.left_out) == (20, {"discovery": 5})
    assert "(5 more discovery not shown)" in ready.lines(page)


def test_hostile_text_reaches_nobody(desk):
    desk.unit()
    evil = "\x1b]52;c;x\x07 \u202e [@click=app.quit]x[/]"
    desk.store.nodes.append(
        {"id": "mem-evil", "type": "checkpoint", "content": evil, "created_at": evil, "created_by": evil,
         "wu_id": "WU-042", "metadata": {"nextSteps": evil, "gitDiffStat": evil, "files": [evil, 7], "progress": 5}}
    )  # fmt: skip
    desk.store.signals.append({"id": "sig-evil", "message": evil, "created_at": "x", "sender": evil, "wu_id": "WU-042"})
    text = "\n".join(ready.lines(desk.page()))
    assert not any(char in text for char in "\x1b\x07\u202e")


def test_records_of_odd_shapes_hide_only_themselves(desk):
    desk.unit()
    with desk.layout.memory.open("ab") as file:
        file.write(
            b'not json\n[1]\n{"id":7}\n{"id":"mem-t","type":7,"wu_id":"WU-042","tags":"x","metadata":[]}\n'
            b'{"id":"mem-n","type":"note","content":"n","created_at":"x","wu_id":"WU-042","metadata":{"priority":3}}\n'
            b"\xff\xfe\n" + b'{"a":' * 50_000 + b'\n{"id":"mem-torn","type":"no'
        )
    desk.do("checkpoint.save", note="kept", wu_id="WU-042")
    page = desk.page()
    assert page.last_checkpoint.text == "Checkpoint: kept"
    assert {one.id for one in page.items} == {"mem-t", "mem-n"}


def test_a_unit_that_only_records_know_of_has_a_page(desk):
    desk.store.signals.append({"id": "sig-1", "message": "old", "created_at": "", "sender": "x", "wu_id": "WU-7"})
    page = desk.page("WU-7")
    assert (page.unit, page.signals[0].text) == (None, "old")
    with pytest.raises(ActionError, match="no work unit WU-8"):
        desk.page("WU-8")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b"no database at all" * 100),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: path.chmod(0o400),
    ],
)
def test_a_spoilt_index_changes_nothing(desk, spoil):
    desk.unit()
    for number in range(50):
        desk.do("signal.send", message=f"s{number}", wu_id="WU-042")
        desk.do("node.create", content=f"d{number}", type="bug", wu_id="WU-042")
    before = desk.page()
    spoil(trail_file.path(desk.layout))
    assert desk.page() == before
    desk.do("signal.send", message="later", wu_id="WU-042")
    assert desk.page().signals[0].text == "later"


def test_the_index_is_private_and_follows_rewrites_and_cuts(desk):
    desk.unit()
    for number in range(5):
        desk.do("signal.send", message=f"s{number}", wu_id="WU-042")
    assert [one.text for one in desk.page().signals] == ["s4", "s3", "s2", "s1", "s0"]
    assert trail_file.path(desk.layout).stat().st_mode & 0o077 == 0
    desk.store.signals.rewrite(lambda lines: [line for line in lines if b'"s2"' not in line])
    assert [one.text for one in desk.page().signals] == ["s4", "s3", "s1", "s0"]
    lines = desk.layout.signals.read_bytes().splitlines(keepends=True)
    with desk.layout.signals.open("r+b") as file:  # cut in place and grown again: same inode
        file.truncate(len(b"".join(lines[:2])))
    desk.do("signal.send", message="other", wu_id="WU-042")
    assert [one.text for one in desk.page().signals] == ["other", "s1", "s0"]
    desk.layout.signals.unlink()
    assert desk.page().signals == ()


def test_a_write_into_the_middle_of_the_known_part_is_noticed_at_its_ends(desk):
    desk.unit()
    desk.do("node.create", content="before", type="bug", wu_id="WU-042")
    desk.page()
    data = desk.layout.memory.read_bytes().replace(b"before", b"after!")
    with desk.layout.memory.open("r+b") as file:
        file.write(data)
    assert desk.page().discoveries[0].text == "after!"


def test_many_looks_beside_writers_never_miss_what_was_there(desk):
    desk.unit()
    for number in range(200):
        desk.do("signal.send", message=f"s{number}", wu_id="WU-042")
    lookers = [
        subprocess.Popen([sys.executable, "-c", READER, str(desk.root)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    while any(looker.poll() is None for looker in lookers):
        desk.do("signal.send", message="more", wu_id="WU-042")
        desk.store.signals.rewrite(lambda lines: list(lines))
    assert [int(looker.communicate(timeout=30)[0]) >= 200 for looker in lookers] == [True] * 4


def test_a_busy_index_is_not_waited_for_without_end(desk, monkeypatch):
    desk.unit()
    desk.do("checkpoint.save", note="kept", wu_id="WU-042")
    holder = sqlite3.connect(trail_file.path(desk.layout), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(trail_file, "BUSY_SECONDS", 0.05)
    begun = time.monotonic()
    assert desk.page().last_checkpoint.text == "Checkpoint: kept"
    assert time.monotonic() - begun < 5
    holder.close()


def test_ready_does_not_grow_with_history(desk):
    """Counted in bytes read, which no machine's speed changes."""
    desk.unit()
    with desk.layout.signals.open("a") as file:
        for number in range(30_000):
            unit = "WU-042" if number % 100 == 0 else "WU-900"
            record = {"id": f"sig-{number}", "message": "x" * 200, "created_at": "", "sender": "a", "wu_id": unit}
            file.write(json.dumps(record) + "\n")
    desk.page()
    before = _read_bytes()
    assert desk.page().signals[0].id == "sig-29900"
    assert _read_bytes() - before < 400_000


def _read_bytes() -> int:
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


def test_looks_leave_no_descriptors_behind(desk):
    desk.unit()
    desk.page()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        desk.page()
        with Trail(desk.layout, (NODES,)):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("last", ["decision.note", "node.create"])
def test_what_was_decided_stays_on_the_page_when_it_is_summarized(desk, last):
    desk.unit()
    if last == "decision.note":
        desk.do("decision.note", question="Which exporter?", answer="OpenTelemetry", wu_id="WU-042")
    else:
        desk.do("node.create", content="Decision: OpenTelemetry", type="note", tags=("decision",), wu_id="WU-042")
    desk.do("checkpoint.save", note="half of the exporters", wu_id="WU-042")
    desk.do("checkpoint.save", note="all of the exporters", wu_id="WU-042")
    before = "\n".join(ready.lines(desk.page()))
    made = desk.do("summary.make", wu_id="WU-042")
    page = desk.page()
    after = "\n".join(ready.lines(page))
    assert "OpenTelemetry" in before
    assert "OpenTelemetry" in after
    assert page.summary.id == made.target
    assert f"({made.target})" in after
    desk.do("undo")
    assert desk.page().summary is None


def test_a_summary_of_one_line_is_shown_too(desk):
    desk.unit()
    made = desk.do("node.create", content="Vendor neutral: OpenTelemetry", type="summary", wu_id="WU-042")
    assert ready.lines(desk.page())[-1] == "  Vendor neutral: OpenTelemetry"
    assert desk.page().summary.id == made.target
