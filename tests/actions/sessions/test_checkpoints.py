from __future__ import annotations

import json
import os
import time

import pytest

from lumen_tui.actions import checkpoints
from lumen_tui.model.config import MemoryConfig
from lumen_tui.store.work import sessions
from lumen_tui.tools.shell import git_status


def look(folder, **given):
    return git_status.changes(str(folder), environ=os.environ, **given)


def test_a_checkpoint_finds_out_by_itself_what_changed(desk, git):
    desk.unit()
    git.commit("a.txt", "one\n")
    session = desk.do("session.start", wu_id="WU-042", folder=str(git.root)).target
    desk.do("decision.note", question="Which lock?")
    git.write("a.txt", "one\ntwo\n")
    git.write("über ünïcode\t\x1b[2J.txt", "new")
    (git.root / "deep").mkdir()
    node = desk.do("checkpoint.save", progress="50%", next_steps="integration", trigger="handoff").target
    record = desk.node(node)
    meta = record["metadata"]
    assert (record["wu_id"], record["session_id"], record["lifecycle"]) == ("WU-042", session, "session")
    assert (meta["progress"], meta["nextSteps"], meta["trigger"]) == ("50%", "integration", "handoff")
    assert "a.txt | 1 +" in meta["gitDiffStat"]
    assert meta["files"] == ["a.txt", "über ünïcode\t␛[2J.txt"]
    assert meta["decisions"][0]["question"] == "Which lock?"
    assert sessions.read(desk.layout, session).files_touched == tuple(meta["files"])


def test_the_next_checkpoint_shows_what_was_committed_since(desk, git):
    desk.unit()
    git.commit("a.txt", "one\n")
    desk.do("checkpoint.save", note="first", wu_id="WU-042", folder=str(git.root))
    git.commit("b.txt", "two\n")
    meta = desk.node(desk.do("checkpoint.save", wu_id="WU-042", folder=str(git.root)).target)["metadata"]
    assert meta["files"] == ["b.txt"]
    assert meta["git"]["base"] != meta["git"]["head"]
    desk.do("checkpoint.save", wu_id="WU-042", folder=str(git.root))
    assert "files" not in desk.records(desk.layout.memory)[-1]["metadata"]


def test_a_base_that_is_gone_or_hostile_falls_back_to_the_last_commit(git):
    git.commit("a.txt", "one\n")
    git.write("a.txt", "two\n")
    for base in ("0" * 40, "--output=/tmp/x", "HEAD~1", "$(id)"):
        assert look(git.root, base=base).files == ("a.txt",)


def test_a_repository_without_a_commit_and_a_folder_without_a_repository(git, tmp_path):
    git.write("a.txt", "one\n")
    assert look(git.root).files == ("a.txt",)
    assert look(tmp_path).why == "not a git repository"
    assert look(tmp_path / "gone").why == "no folder"
    assert look("").why == "no folder"


def test_the_state_folder_inside_the_repository_does_not_count(git):
    git.commit("a.txt", "one\n")
    git.write("state [x]/memory/memory.jsonl", "{}\n")
    git.write("b.txt", "new")
    assert look(git.root / "state [x]", without=str(git.root / "state [x]")).files == ("b.txt",)
    assert look(git.root, without=str(git.root)).files == ("b.txt", "state [x]/memory/memory.jsonl")


@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor", "core.hooksPath", "core.pager", "diff.external", "diff.evil.command", "diff.evil.textconv",
        "filter.evil.clean", "filter.evil.process", "core.sshCommand", "core.editor", "interactive.diffFilter",
    ],
)  # fmt: skip
def test_nothing_that_the_repository_names_is_run(git, tmp_path, setting):
    mark = tmp_path / "ran"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    git.commit("a.txt", "one\n")
    git.write(".gitattributes", "*.txt diff=evil filter=evil\n")
    git("config", setting, str(program))
    for hook in ("post-index-change", "pre-commit", "post-checkout"):
        path = git.root / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {mark}\n")
        path.chmod(0o755)
    git.write("a.txt", "two\n")
    found = look(git.root)
    assert not mark.exists()
    assert "a.txt" in found.files or "runs a program" in found.why


@pytest.mark.parametrize("setting", ["filter.evil.clean", "filter.evil.process"])
def test_nor_what_it_names_a_moment_after_it_was_looked_at(git, tmp_path, monkeypatch, setting):
    mark = tmp_path / "ran"
    git.commit("a.txt", "one\n")
    git.write(".gitattributes", "*.txt filter=evil\n")
    git("config", setting, f"touch {mark}; cat")
    git.write("a.txt", "two\n")
    monkeypatch.setattr(git_status, "_own_program", lambda listed: "")
    found = look(git.root)
    assert not mark.exists()
    assert found.files == ("a.txt", ".gitattributes")
    assert "a.txt | 2 +-" in found.stat


def test_a_tree_without_modes_has_not_changed_for_them(git):
    git.commit("a.txt", "one\n")
    git("config", "core.fileMode", "false")
    (git.root / "a.txt").chmod(0o755)
    assert look(git.root).files == ()


def test_a_git_that_hangs_is_given_up_in_time(desk, tmp_path, git):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    begun = time.monotonic()
    found = git_status.changes(str(git.root), environ={"PATH": f"{program.parent}:{os.environ['PATH']}"}, seconds=0.3)
    assert "longer than 0.3 s" in found.why
    assert time.monotonic() - begun < 5


def test_no_git_and_many_files(git, tmp_path):
    assert "cannot be run" in git_status.changes(str(git.root), environ={"PATH": str(tmp_path)}).why
    for number in range(git_status.MOST_FILES + 7):
        git.write(f"f{number:03d}", "x")
    found = look(git.root)
    assert (len(found.files), found.more_files) == (git_status.MOST_FILES, 7)


def test_at_most_ten_stay_active_and_archived_ones_come_back(desk):
    desk.unit()
    made = [desk.do("checkpoint.save", note=f"n{number}", wu_id="WU-042").target for number in range(13)]
    other = desk.unit(43, "UI")
    desk.do("checkpoint.save", note="another unit's", wu_id=other)
    states = [desk.node(one).get("metadata", {}).get("status", "open") for one in made]
    assert states == ["archived"] * 3 + ["open"] * 10
    desk.do("node.unarchive", node_ids=made[0])
    assert desk.node(made[0]).get("metadata", {}).get("status") is None
    assert desk.page().last_checkpoint.id == made[-1], "brought back is not newest"
    desk.settings("[memory]\nmax_checkpoints = 2\n")
    made.append(desk.do("checkpoint.save", note="last", wu_id="WU-042").target)
    assert [one for one in made if desk.node(one).get("metadata", {}).get("status") != "archived"] == made[-2:]


def test_a_checkpoint_stands_where_what_follows_it_fails(desk, monkeypatch):
    desk.unit()
    desk.do("session.start", wu_id="WU-042")
    (desk.root / "locks" / "sessions.lock").unlink()
    (desk.root / "locks" / "sessions.lock").symlink_to(desk.root / "elsewhere")
    done = desk.do("checkpoint.save", note="kept")
    assert "symbolic link" in done.summary
    assert desk.node(done.target)["content"] == "Checkpoint: kept"


def test_checkpoints_are_due_by_interval_and_only_where_something_changed(desk, git):
    desk.unit()
    git.commit("a.txt", "one\n")
    session = desk.do("session.start", wu_id="WU-042", folder=str(git.root)).target
    config = MemoryConfig()
    later = desk.now + 30 * 60
    assert checkpoints.due(desk.store, config, now=later - 1) == []
    assert [one.session_id for one in checkpoints.due(desk.store, config, now=later)] == [session]
    assert checkpoints.due(desk.store, MemoryConfig(auto_checkpoint=False), now=later) == ()
    assert checkpoints.save_due(desk.store, config, now=later) == [], "nothing changed"
    git.write("a.txt", "two\n")
    (made,) = checkpoints.save_due(desk.store, config, now=later)
    assert desk.node(made.target)["metadata"]["trigger"] == "interval"
    assert desk.node(made.target)["created_by"] == "ana"
    assert checkpoints.save_due(desk.store, config, now=later + 60) == []
    desk.do("session.end")
    assert checkpoints.due(desk.store, config, now=later * 2) == []


def test_a_checkpoint_costs_the_same_with_a_long_history(desk):
    """Counted in bytes read of the journal, which no machine's speed changes."""
    desk.unit()
    line = {"type": "note", "content": "x" * 300, "created_at": "2026-01-01T00:00:00.000Z", "wu_id": "WU-042"}
    with desk.layout.memory.open("a") as file:
        file.writelines(json.dumps({"id": f"mem-{number}", **line}) + "\n" for number in range(20_000))
    desk.do("checkpoint.save", note="first: takes the history in", wu_id="WU-042")
    before = _read_bytes()
    desk.do("checkpoint.save", note="second", wu_id="WU-042")
    assert _read_bytes() - before < 400_000, f"the journal has {desk.layout.memory.stat().st_size:,} bytes"


def _read_bytes() -> int:
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])
