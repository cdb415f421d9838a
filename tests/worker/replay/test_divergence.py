"""What differs under other rules is named: the step, what was, what is now, and the rule that made the difference."""

from __future__ import annotations

import msgspec
import pytest

from lumen_tui.model.config import Config
from lumen_tui.model.replay import DecisionKind, ReplayOutcome, ReplayPart, ResultKind, ShadowBase, lines
from lumen_tui.model.roles import ToolRule
from lumen_tui.store.settings.roles import load_role
from lumen_tui.worker.replay.run import Variant

DONE = ("write_result", {"text": "ok"})
WRITE = ("write_file", {"path": "new.txt", "content": "fresh\n"})
NO_WRITES = '[[rules]]\nkind = "deny"\ntool = "write_file"\nwhy = "no new files"'
ASK_WRITES = '[approvals]\nask = ["write"]\n'


@pytest.fixture
def wrote(played):
    """A task that wrote a file and its result."""
    task = played.play(WRITE, ("read_file", {"path": "new.txt"}), DONE)
    assert task.exit["status"] == "done", task.instead()
    return task


def test_a_task_in_place_is_replayed_on_the_folder_as_it_is(played, tmp_path, untouched):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    task = played.play(("read_file", {"path": str(folder / "a.txt")}), WRITE, DONE, folder=str(folder))
    assert played.replay(task).outcome is ReplayOutcome.IDENTICAL
    (folder / "a.txt").write_text("two\n")
    untouched(folder)
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL
    assert report.base is ShadowBase.NOW
    assert [step.result for step in report.steps] == [ResultKind.DIFFERS, ResultKind.SAME, ResultKind.SAME]
    assert any("the folder has changed" in note for note in report.notes)


def test_a_rule_of_the_role_that_denies_now_is_named(played, wrote):
    role = wrote.layout.role("maker")
    role.write_text(role.read_text().replace('\n"""', "").replace("\n\n+++\n\nWork", f"\n{NO_WRITES}\n+++\n\nWork"))
    report = played.replay(wrote)
    assert report.outcome is ReplayOutcome.DIVERGED
    assert report.divergence.part is ReplayPart.DECISION
    assert (report.divergence.step, report.divergence.tool) == (1, "write_file")
    assert report.divergence.recorded == "allowed"
    assert report.divergence.now.startswith("denied: write_file is refused by a rule of this task")
    assert report.divergence.rule == "write_file is refused (no new files)"
    assert len(report.steps) == 1


def test_a_setting_that_asks_now_is_named(played, wrote):
    wrote.layout.config.write_text(ASK_WRITES)
    divergence = played.replay(wrote).divergence
    assert (divergence.step, divergence.recorded, divergence.now) == (1, "allowed", "asked: a person has to allow it")
    assert divergence.rule == "[approvals] ask: write"


def test_a_tool_that_the_role_has_no_more_is_named(played, wrote):
    role = wrote.layout.role("maker")
    role.write_text(role.read_text().replace('"write_file", ', ""))
    divergence = played.replay(wrote).divergence
    assert (divergence.step, divergence.rule) == (1, "the tools of the role")


def test_fewer_steps_are_a_limit(played, wrote):
    role = wrote.layout.role("maker")
    role.write_text(role.read_text().replace('purpose = "p"', 'purpose = "p"\nlimits = { max_steps = 1 }'))
    report = played.replay(wrote)
    assert report.divergence.step == 2
    assert report.steps[1].now.kind is DecisionKind.LIMITED
    assert report.divergence.rule == "max_steps = 1"


def test_a_call_that_is_needed_before_the_end_now(played, wrote):
    role = wrote.layout.role("maker")
    needs = '[[rules]]\nkind = "required_before_exit"\ntool = "grep"'
    role.write_text(role.read_text().replace("\n\n+++\n\nWork", f"\n{needs}\n+++\n\nWork"))
    divergence = played.replay(wrote).divergence
    assert divergence.step == 3
    assert divergence.rule == "grep is needed before the end"


def test_another_role_and_other_settings_are_tried_without_being_in_force(played, wrote, untouched):
    untouched(wrote.layout.root)
    role = load_role(wrote.layout, "maker")
    stricter = msgspec.structs.replace(role, rules=(ToolRule(kind="deny", tool="read_file"),))
    assert played.replay(wrote, Variant(role=stricter)).divergence.step == 2
    config = msgspec.convert({"approvals": {"ask": ["write"]}}, Config)
    assert played.replay(wrote, Variant(config=config)).divergence.rule == "[approvals] ask: write"
    assert played.replay(wrote).outcome is ReplayOutcome.IDENTICAL


def test_a_role_that_is_gone_is_a_divergence_at_the_beginning(played, wrote):
    wrote.layout.role("maker").unlink()
    report = played.replay(wrote)
    assert report.divergence.part is ReplayPart.BEGIN
    assert "maker" in report.divergence.now
    assert "its beginning" in lines(report)[0]
