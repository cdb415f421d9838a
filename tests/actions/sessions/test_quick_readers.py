"""What is read without a library says the same as what is read with it."""

from __future__ import annotations

import json
import os
import subprocess

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lumen_tui.actions import changes
from lumen_tui.model import jsontext
from lumen_tui.model.views import builtins
from lumen_tui.model.work import SessionDecision, Tracked, WorkSession
from lumen_tui.storage import frontmatter, raw_json
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.work import open_sessions, sessions, views, work_units

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def full(desk, wu_id: str) -> dict[str, object]:
    unit = work_units.read_tracked(desk.layout, wu_id)
    assert unit is not None
    return {name: getattr(unit, name) for name in Tracked.__struct_fields__}


def quick(desk, wu_id: str) -> dict[str, object]:
    unit = views.read_unit(desk.root, wu_id)
    assert unit is not None
    return {name: getattr(unit, name) for name in type(unit).__annotations__}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=TEXT, lane=TEXT, body=TEXT, acceptance=st.lists(TEXT, max_size=3), reason=TEXT)
def test_a_work_unit_reads_the_same(desk, title, lane, body, acceptance, reason):
    unit = Tracked(
        id="WU-001", title=title, lane=lane, body=body, acceptance=tuple(acceptance), blocked_reason=reason, type="bug"
    )
    (desk.layout.work / "WU-001.md").write_bytes(work_units.render_unit(unit).encode())
    assert quick(desk, "WU-001") == full(desk, "WU-001")


@pytest.mark.parametrize(
    "text",
    [
        "+++\ntitle = 'one quote'\n+++\n",
        '+++\ntitle = "a" # said\nlane = "b"\n+++\nbody\n+++\nmore',
        '+++\n# nothing\ntitle = """\nlong\n"""\n+++\n',
        '+++\ntitle = "a"\nmine = 7\nacceptance = ["x", "y"]\n+++\n',
        '+++\ntitle = "\\u00e9"\n[table]\nkey = "x"\n+++\n',
        '+++ \ntitle = "a"\n+++\nbody',
    ],
)
def test_what_a_person_wrote_in_another_way_reads_the_same(desk, text):
    (desk.layout.work / "WU-001.md").write_bytes(text.encode())
    assert quick(desk, "WU-001") == full(desk, "WU-001")


@pytest.mark.parametrize(
    "text", ["", "no fence", '+++\ntitle = "a"\n', "+++\ntitle = 7\n+++\n", '+++\ntitle = "a"\ntitle = "b"\n+++\n',
             '+++\nacceptance = [\n    "a"\n    "b",\n]\n+++\n',
             '+++\r\ntitle = "a"\r\n+++\r\nbody'],
)  # fmt: skip
def test_what_a_person_must_mend_is_said_by_both(desk, text):
    (desk.layout.work / "WU-001.md").write_text(text)
    with pytest.raises(BadFile) as by_full:
        work_units.read_tracked(desk.layout, "WU-001")
    with pytest.raises(BadFile) as by_quick:
        views.read_unit(desk.root, "WU-001")
    assert (str(by_quick.value), by_quick.value.line) == (str(by_full.value), by_full.value.line)


def test_the_files_of_this_program_are_the_usual_ones(desk):
    """If these were read in full, everything would still be right, and slow."""
    desk.unit()
    desk.do("wu.claim", wu_id="WU-042")
    desk.do("wu.block", wu_id="WU-042", reason="no key")
    text = desk.layout.work_unit("WU-042").read_text()
    assert views._usual(text) is not None
    assert frontmatter.split(text)[0]["blocked_reason"] == "no key"


@given(VALUES)
def test_json_by_hand_is_the_json_of_the_library(value):
    assert json.loads(jsontext.dumps(value)) == json.loads(json.dumps(value))
    assert jsontext.decode(jsontext.dumps({"x": value}).encode()) == {"x": json.loads(json.dumps(value))}


def test_a_line_too_long_by_its_escapes_is_written_with_its_letters():
    line = raw_json.line({"id": "mem-x", "content": "中" * 15_000})
    assert json.loads(line)["content"] == "中" * 15_000
    assert len(line) < 64 * 1024


def test_a_session_reads_the_same_and_keeps_what_nobody_knows(desk):
    one = WorkSession(
        session_id="ses-1", started_at="2026-01-01T00:00:00Z", active_wu="WU-1", agent="ana", folder="/x\u200by",
        files_touched=("a", "b"), decisions=(SessionDecision("q", "a", "t"),),
    )  # fmt: skip
    sessions.start(desk.layout, one)
    assert sessions.read(desk.layout, "ses-1") == one
    view = open_sessions.read(desk.root, "ses-1")
    assert msgspec.convert(builtins(view), WorkSession) == one
    path = desk.layout.sessions / "ses-1.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "theirs": {"x": 1.5}}))
    sessions.set_fields(desk.layout, "ses-1", {"lane": "UI"})
    assert json.loads(path.read_text())["theirs"] == {"x": 1.5}
    assert json.loads(desk.layout.current_session.read_text())["lane"] == "UI"


@pytest.mark.parametrize(
    "spoilt",
    [{"session_id": "ses-2"}, {"started_at": 7}, {"files_touched": [1]}, {"decisions": [{"answer": "x"}]},
     {"decisions": ["x"]}, {"schema": True}],
)  # fmt: skip
def test_a_spoilt_session_hides_only_itself(desk, spoilt):
    for name in ("ses-1", "ses-9"):
        sessions.start(desk.layout, WorkSession(session_id=name, agent="ana", active_wu="WU-1"))
    path = desk.layout.sessions / "ses-1.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **spoilt}))
    assert [one.session_id for one in open_sessions.live(desk.root)] == ["ses-9"]
    assert [one.session_id for one in sessions.live(desk.layout)] == ["ses-9"]


def test_where_there_is_no_repository_git_is_not_started(tmp_path, monkeypatch, git):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("git was started")

    inner = git.root / "deep" / "er"
    inner.mkdir(parents=True)
    git.commit("a.txt", "one\n")
    git.write("b.txt", "new")
    assert changes.detect(str(inner), base="", without="").files == ("b.txt",)
    os.symlink(inner, tmp_path / "link")
    assert changes.detect(str(tmp_path / "link"), base="", without="").files == ("b.txt",)
    monkeypatch.setattr(subprocess, "run", refuse)
    assert changes.detect(str(tmp_path), base="", without="").why == "not a git repository"
    assert changes.detect("", base="", without="").why == "no folder"
    assert changes.detect(str(tmp_path / "gone"), base="", without="").why == "no folder"
