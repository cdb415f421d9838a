"""Sub-tasks: how deep, by whom, within whose limits, and that they end with the task that ordered them."""

from __future__ import annotations

import json
import re
import time

import msgspec
import pytest
from lumen_apiserver import tool

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.model.loop import Command
from lumen_tui.model.tasks import Exit
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.store.ledger.ledger import Ledger

ONE = "tsk-one"
BOSS = """+++
purpose = "Orders parts of its task."
shell = "read"
tools = ["read_file", "shell", "create_task", "read_task", "write_result"{tools}]
{more}
[limits]
subtasks = {most}
subtask_depth = {depth}
+++

You order parts of your task.
"""


def hire(home, name="boss", *, most=4, depth=1, more="", tools=""):
    home.do("role.hire", name=name, text=BOSS.format(most=most, depth=depth, more=more, tools=tools))


def children(home, parent):
    specs = [json.loads(path.read_bytes()) for path in home.layout.tasks.glob("tsk-*/spec.json")]
    return [spec for spec in specs if spec.get("parent") == parent]


def parent_spec(home, task):
    return json.loads((home.layout.task(task) / "spec.json").read_bytes())


def order(home, task, **arguments):
    """Order a task as the worker of another one does."""
    request = named("task.new", {"objective": "a part", **arguments})
    return perform(home.store, request, by="lumen", now=time.time(), client=f"{acting.AGENT}{task}").target


def test_a_sub_task_has_what_holds_the_task_that_ordered_it(home, plan, tmp_path):
    hire(home)
    unit = home.do("wu.new", title="A unit", lane="Core").target
    (said,) = plan(
        ("create_task", {"objective": "Read the first half", "constraints": ["Be brief"], "usd": 0.1}),
        role="boss", constraints=["Read only", "Only below /srv"], wu_id=unit, lane="Core", roots=["/srv/shop"],
        folder=str(tmp_path),
        budget={"usd": 0.5, "tokens": 0, "seconds": 0.0},
    )  # fmt: skip
    assert "queued for researcher" in said
    (spec,) = children(home, ONE)
    assert spec["constraints"] == ["Read only", "Only below /srv", "Be brief"] and spec["roots"] == ["/srv/shop"]
    assert (spec["wu_id"], spec["lane"], spec["order"], spec["created_by"]) == (unit, "Core", False, ONE)
    assert spec["folder"] == str(tmp_path)


def test_what_is_ordered_from_a_folder_apart_works_apart(home, make_task):
    hire(home)
    make_task("Change it", role="boss", task_id=ONE, isolate="copy", folder="/srv/shop")
    (kept,) = [parent_spec(home, order(home, ONE))]
    assert (kept["isolate"], kept["folder"]) == ("copy", "/srv/shop")


def test_more_than_the_role_may_order_is_refused_with_what_to_do(home, plan):
    hire(home, most=1)
    said = plan(
        ("create_task", {"objective": "one"}), ("create_task", {"objective": "two"}),
        ("create_task", {"objective": "one"}), role="boss",
    )  # fmt: skip
    assert "queued" in said[0] and "created 1 tasks, the most" in said[1] and "what is left" in said[1]
    assert "done before in this task" in said[2]


def test_a_loop_that_orders_itself_is_bounded_and_named(home, plan):
    hire(home, depth=2)
    plan(("create_task", {"objective": "deeper", "role": "boss"}), role="boss")
    (first,) = children(home, ONE)
    assert order(home, first["id"], objective="deeper still", role="boss")
    (second,) = children(home, first["id"])
    with pytest.raises(ActionError, match=r"one \(boss\) -> .* \(boss\) -> .* \(boss\): a task may be 2 below"):
        order(home, second["id"], objective="and deeper", role="boss")
    with pytest.raises(ActionError, match=f"that is {first['id']} over again"):
        order(home, first["id"], objective="deeper ", role="boss")
    with pytest.raises(ActionError, match=f"that is {ONE} over again"):
        order(home, first["id"], objective="Plan it", role="boss")


@pytest.mark.parametrize(
    ("role", "why"),
    [
        ("builder", "role builder may do more than role boss .write, shell"),
        ("planner", "may do more .*cancel_task"),
    ],
)
def test_a_role_orders_nobody_who_may_do_more_unless_a_person_said_so(home, plan, role, why):
    hire(home)
    (said,) = plan(("create_task", {"objective": "x", "role": role}), role="boss")
    assert re.search(why, said), said
    assert f'orders = ["{role}"]' in said and not children(home, ONE)
    home.do("role.adjust", name="boss", text=BOSS.format(most=4, depth=1, more=f'orders = ["{role}"]', tools=""))
    (said,) = plan(("create_task", {"objective": "x", "role": role}), role="boss", task_id="tsk-two")
    assert "queued" in said


def test_a_worker_does_not_get_at_more_by_trying_again_what_another_may_do(home, plan):
    hire(home, tools=', "retry_task"')
    home.do("task.new", objective="change it", role="builder", id="tsk-build")
    end = Exit("tsk-build", "failed", iso(time.time()), reason="no model")
    files.replace(home.layout.task("tsk-build") / "exit.json", msgspec.json.encode(end))
    (said,) = plan(("retry_task", {"task_id": "tsk-build"}), role="boss")
    assert "role builder may do more than role boss" in said and not children(home, ONE)


def test_cancel_takes_what_was_ordered_along_and_undo_queues_all_of_it_again(home, plan):
    hire(home, depth=2)
    top = home.do("task.new", objective="top", role="boss").target
    below = order(home, top, role="boss", objective="middle")
    lowest = order(home, below, objective="low")
    other = home.do("task.new", objective="another").target
    done = home.do("task.cancel", task_id=top)
    assert "and the 2 that it ordered" in done.summary
    asked = [command.target for command in home.store.commands.records(Command) if command.verb == "cancel"]
    assert asked == [top, below, lowest] and other not in asked
    home.do("undo")
    for name in (top, below, lowest):
        assert home.layout.task(name).is_dir()


USED = {"input_tokens": 20_000, "output_tokens": 500, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def test_sub_tasks_spend_of_the_limit_of_the_task_that_ordered_them(home, make_task, api, tmp_path):
    hire(home)
    parent = make_task("Have it counted", role="boss", task_id="tsk-top")
    call = tool("create_task", {"objective": "Count"}, how={"usage": USED})
    api.say(call, tool("write_result", {"text": "ordered"}, how={"usage": USED}))
    assert parent.run(warm=True, **api.anthropic_env)["status"] == "done"
    assert len(children(home, "tsk-top")) == 1
    own = Ledger(home.layout).refresh().tasks["tsk-top"].usd
    limit = own * 2.2  # two calls of its own, and two of its sub-task
    budget = {"usd": limit, "tokens": 0, "seconds": 0.0}
    parent.write("spec.json", {**parent_spec(home, "tsk-top"), "budget": budget})
    child = make_task("Count", task_id="tsk-low", parent="tsk-top")
    rooms = [tmp_path / f"room-{number}" for number in range(8)]
    for room in rooms:
        room.mkdir()
    api.script.main.answers = [tool("list_dir", {"path": str(room)}, how={"usage": USED}) for room in rooms]
    ended = child.run(warm=True, **api.anthropic_env)
    assert ended["status"] == "failed" and "the budget of tsk-top, which ordered this" in ended["reason"]
    book = Ledger(home.layout).refresh()
    assert book.below["tsk-top"].usd == pytest.approx(book.tasks["tsk-low"].usd) and book.tasks["tsk-low"].usd > 0
    assert book.family("tsk-top")[0].usd <= limit


def test_more_than_the_whole_may_spend_is_not_asked_for(home, plan):
    hire(home)
    budget = {"usd": 0.5, "tokens": 0, "seconds": 0.0}
    (said,) = plan(("create_task", {"objective": "x", "usd": 0.6}), role="boss", budget=budget)
    assert "out of the $0.50 that tsk-one may spend in all" in said and not children(home, ONE)


def test_one_task_puts_the_results_of_others_together(home, plan, make_task, api):
    hire(home)

    def made():
        return children(home, ONE)[0]["id"]

    first, then = plan(
        ("create_task", {"objective": "Count the lamps"}),
        lambda: tool(
            "create_task", objective="Put it together", role="boss", depends_on=[children(home, ONE)[0]["id"]]
        ),
        role="boss",
    )
    assert "queued" in first and "queued for boss" in then
    by_text = {spec["objective"]: spec for spec in children(home, ONE)}
    counted = by_text["Count the lamps"]["id"]
    assert by_text["Put it together"]["depends_on"] == [counted]
    files.replace(home.layout.task(counted) / "result.md", b"Nine lamps.\n")
    (said,) = plan(("read_task", {"id": counted}), role="boss", task_id="tsk-sum", parent=ONE)
    assert "Nine lamps." in said and f"sub-task of: {ONE}" in said
    assert "This is a sub-task of tsk-one" in api.asked[-1].first_text
