from __future__ import annotations

import json

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.tasks import Status
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import directories, locks
from lumen_tui.store.settings import roles
from lumen_tui.store.settings.roles import list_roles, load_role
from lumen_tui.store.tasks import task_files

ROLE = '+++\npurpose = "Keeps old things."\ntier = "haiku"\ntools = ["read_file"]\n+++\n\nKeep them.\n'


def names(desk) -> list[str]:
    return [role.name for role in list_roles(desk.store.layout)[0]]


def personnel(desk) -> list[dict]:
    return [json.loads(line) for line in desk.store.personnel.lines()]


def test_hire_fire_and_rehire_a_role_of_ones_own(desk):
    desk.do("role.hire", name="archivist", text=ROLE)
    assert load_role(desk.store.layout, "archivist").source == "hired"
    desk.do("role.fire", name="archivist", reason="nothing left to keep")
    assert "archivist" not in names(desk)
    assert "nothing left to keep" in desk.store.layout.retired_role("archivist").read_text()
    desk.do("role.rehire", name="archivist")
    assert desk.store.layout.role("archivist").read_text() == ROLE
    assert [entry["verb"] for entry in personnel(desk)] == ["hire", "fire", "rehire"]
    assert personnel(desk)[1]["reason"] == "nothing left to keep"


def test_firing_a_shipped_role_retires_it_and_rehiring_leaves_no_copy(desk):
    desk.do("role.fire", name="researcher", reason="on leave")
    assert "researcher" not in names(desk)
    assert list_roles(desk.store.layout)[1] == ["researcher"]
    with pytest.raises(ActionError, match="no role 'researcher'"):
        desk.do("task.new", objective="look")
    desk.do("role.rehire", name="researcher")
    assert load_role(desk.store.layout, "researcher").source == "shipped"
    assert list(desk.store.layout.roles.glob("*.md")) == []


def test_adjusting_a_shipped_role_puts_a_hired_one_over_it(desk):
    text = roles.render_role(load_role(desk.store.layout, "analyst")).replace('tier = "sonnet"', 'tier = "opus"')
    desk.do("role.adjust", name="analyst", text=text)
    assert load_role(desk.store.layout, "analyst").tier == "opus"
    desk.do("undo")
    assert load_role(desk.store.layout, "analyst").source == "shipped"


@pytest.mark.parametrize(
    ("verb", "arguments", "words"),
    [
        ("role.hire", {"name": "x", "text": ROLE.replace("haiku", "huge")}, "line 3: tier 'huge'"),
        ("role.hire", {"name": "x", "text": ROLE.replace('"read_file"', '"rm"')}, "line 4: tool 'rm'"),
        ("role.hire", {"name": "x", "text": "no fence"}, "line 1"),
        ("role.hire", {"name": "x", "text": ROLE.replace("Keep them.", "")}, "no prompt"),
        ("role.hire", {"name": "x", "text": ROLE + "y" * 30_000}, "longer"),
        ("role.hire", {"name": "../x", "text": ROLE}, "not usable"),
        ("role.hire", {"name": "builder", "text": ROLE}, "is active already"),
        ("role.adjust", {"name": "bilder", "text": ROLE}, "no role 'bilder'"),
        ("role.fire", {"name": "bilder", "reason": "r"}, "no role 'bilder'"),
        ("role.fire", {"name": "builder", "reason": ""}, "reason"),
        ("role.rehire", {"name": "builder"}, "no retired role"),
        ("task.new", {"objective": "  "}, "empty"),
        ("task.new", {"objective": "x", "role": "resercher"}, "no role 'resercher'"),
        ("task.new", {"objective": "x", "priority": "P7"}, "P7"),
        ("task.new", {"objective": "x", "wu_id": "WU-999"}, "no work unit WU-999"),
        ("task.new", {"objective": "x", "depends_on": ["tsk-none"]}, "no task"),
        ("task.new", {"objective": "x", "id": "../../x"}, "not usable"),
        ("task.new", {"objective": "x", "id": "archive"}, "archive"),
        ("task.new", {"objective": "x", "timeout_seconds": -1}, "-1"),
        ("task.new", {"objective": "x", "constraints": [" "]}, "constraint is empty"),
        ("task.new", {"objective": "x", "budget": {"usd": "many"}}, "usd"),
        ("task.new", {"objective": "x", "colour": "red"}, "colour"),
        ("task.cancel", {"task_id": "tsk-none"}, "no task"),
        ("task.retry", {"task_id": "{task}"}, "queued"),
        ("task.edit", {"task_id": "{task}", "changes": {"id": "other"}}, "cannot be edited"),
        ("task.edit", {"task_id": "{task}", "changes": {}}, "nothing to change"),
        ("task.edit", {"task_id": "{task}", "changes": {"priority": 3}}, "does not fit"),
        ("engine.beat", {}, "no engine runs"),
        ("engine.stop", {}, "no engine runs"),
        ("wu.new", {"title": ""}, "empty"),
        ("wu.new", {"title": "x", "type": "epic"}, "unknown"),
        ("signal.send", {"message": ""}, "empty"),
        ("signal.send", {"message": "x", "to": "a\nb"}, "not usable"),
        ("signal.send", {"message": "x", "reply_to": "sig-none"}, "no signal"),
        ("signal.send", {"message": "x", "wu_id": "42"}, "WU-042"),
        ("signal.read", {"signal_ids": "sig-none"}, "no signal"),
        ("signal.read_all", {}, "no signals"),
    ],
)
def test_bad_input_writes_nothing(desk, verb, arguments, words):
    task = desk.do("task.new", objective="there").target
    desk.do("wu.new", title="there")
    filled = {key: value.format(task=task) if isinstance(value, str) and "{task}" in value else value
              for key, value in arguments.items()}  # fmt: skip
    before = desk.files()
    with pytest.raises(ActionError) as refused:
        desk.do(verb, **filled)
    assert words in str(refused.value)
    assert desk.files() == before


def test_nearest_names_are_offered(desk):
    with pytest.raises(ActionError) as refused:
        desk.do("task.new", objective="x", role="resercher")
    assert refused.value.candidates[0] == "researcher"


def test_a_spec_appears_whole_under_the_id_a_person_gave(desk):
    done = desk.do("task.new", objective="count", id="task-001", constraints=("Read only",), depends_on=())
    assert done.target == "task-001"
    spec = task_files.read_spec(desk.store.layout, "task-001")
    assert (spec.objective, spec.constraints, spec.created_by) == ("count", ("Read only",), "ana")
    assert not [path for path in desk.store.layout.tasks.iterdir() if path.name.startswith(".")]
    with pytest.raises(ActionError, match="already"):
        desk.do("task.new", objective="another", id="task-001")


def test_the_same_key_gives_the_same_task_even_from_the_archive(desk):
    first = desk.do("task.new", objective="count", key="nightly-2026-11-21")
    assert desk.do("task.new", objective="count", key="nightly-2026-11-21").target == first.target
    month = desk.store.layout.archive / "2026" / "11"
    directories.make_folder(month)
    directories.move(desk.store.layout.task(first.target), month / first.target)
    assert desk.do("task.new", objective="count", key="nightly-2026-11-21").target == first.target
    assert desk.do("task.new", objective="count", key="nightly-2026-11-22").target != first.target


def test_what_failed_and_is_tried_again_needs_nobody_until_that_is_taken_back(desk):
    old = desk.do("task.new", objective="count").target
    folder = task_files.folder_of(desk.store.layout, old)
    (folder / "exit.json").write_text(json.dumps({"task_id": old, "status": "failed", "finished_at": ""}))
    before = SnapshotReader(desk.store.root).snapshot(desk.now).attention
    desk.do("task.retry", task_id=old)
    assert [need.target for need in before] == [old]
    assert SnapshotReader(desk.store.root).snapshot(desk.now).attention == ()
    desk.do("undo")
    assert [need.target for need in SnapshotReader(desk.store.root).snapshot(desk.now).attention] == [old]


def test_retry_can_have_more_to_spend(desk):
    old = desk.do("task.new", objective="count", budget={"tokens": 10, "usd": 0.5}).target
    (desk.store.layout.task(old) / "exit.json").write_text(
        f'{{"task_id": "{old}", "status": "failed", "finished_at": "2026-01-01T00:00:00Z"}}'
    )
    same = task_files.read_spec(desk.store.layout, desk.do("task.retry", task_id=old).target)
    assert (same.budget.tokens, same.budget.usd) == (10, 0.5)
    more = task_files.read_spec(desk.store.layout, desk.do("task.retry", task_id=old, budget={"tokens": 0}).target)
    assert (more.budget.tokens, more.budget.usd) == (0, 0.5)


def test_retry_is_a_new_task_that_names_the_old_one(desk):
    old = desk.do("task.new", objective="count", priority="P0").target
    (desk.store.layout.task(old) / "exit.json").write_text(
        json.dumps({"task_id": old, "status": "failed", "finished_at": "2026-01-01T00:00:00Z"})
    )
    new = desk.do("task.retry", task_id=old[:8]).target
    spec = task_files.read_spec(desk.store.layout, new)
    assert (spec.retry_of, spec.priority, spec.objective) == (old, "P0", "count")
    with pytest.raises(ActionError, match="ended already") as refused:
        desk.do("task.cancel", task_id=old)
    assert refused.value.missing


def test_cancel_asks_the_engine(desk):
    task = desk.do("task.new", objective="count").target
    desk.do("task.cancel", task_id=task, reason="not needed")
    command = json.loads(next(iter(desk.store.commands.lines())))
    assert (command["verb"], command["target"], command["reason"]) == ("cancel", task, "not needed")


def test_engine_verbs_reach_the_engine_that_holds_the_lock(desk):
    lock = locks.try_lock(desk.store.layout.engine_lock)
    assert lock is not None
    for verb in ("beat", "pause", "resume", "stop"):
        desk.do(f"engine.{verb}")
    assert [json.loads(line)["verb"] for line in desk.store.commands.lines()] == ["beat", "pause", "resume", "stop"]


def test_edit_only_while_the_task_waits(desk):
    task = desk.do("task.new", objective="count").target
    desk.do("task.edit", task_id=task, changes={"objective": "count lines", "priority": "p1"})
    assert task_files.read_spec(desk.store.layout, task).priority == "P1"
    lock = locks.try_lock(desk.store.layout.task(task) / "run.lock")
    assert lock is not None
    assert task_files.status_of(desk.store.layout.task(task)) is Status.RUNNING
    before = desk.files()
    with pytest.raises(ActionError, match="has begun"):
        desk.do("task.edit", task_id=task, changes={"priority": "P2"})
    assert desk.files() == before


def test_a_signal_is_read_by_one_reader_only(desk):
    from lumen_tui.store.signals import inbox

    memory = str(desk.root / "memory")
    one = desk.do("signal.send", message="one", to="bo", priority="p0").target
    two = desk.do("signal.send", message="two", reply_to=one[:10]).target
    desk.do("signal.read", signal_ids=[one])
    assert [signal["id"] for _, signal in inbox.unread(memory, "ana", 9).signals] == [two]
    assert [signal["id"] for _, signal in inbox.unread(memory, "bo", 9).signals] == [two, one]
    desk.do("signal.read_all", by="bo")
    assert inbox.unread(memory, "bo", 9).signals == []
    assert desk.store.receipts.path.read_bytes().count(b"\n") == 2
