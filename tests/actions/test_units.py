"""Work units made with acceptance and order, and split; what an agent may do to them by its tools."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.registry import named, perform
from lumen_tui.model.tasks import Exit
from lumen_tui.storage import files
from lumen_tui.store.memory import edges
from lumen_tui.store.work import work_units
from tests.actions.conftest import ActionsFolder


def _as_agent(desk: ActionsFolder, verb: str, task: str = "loop-000001", **arguments: Any) -> Done:
    desk.now += 1
    return perform(desk.store, named(verb, arguments), by="lumen", now=desk.now, client=f"{acting.AGENT}{task}")


def _edges(desk: ActionsFolder) -> set[tuple[str, str, str]]:
    return {tuple(edge) for edge in edges.in_force(desk.store.layout)}


def _unit(desk: ActionsFolder, wu_id: str) -> Any:
    return work_units.read_tracked(desk.store.layout, wu_id)


def test_a_unit_has_its_conditions_and_waits_for_those_before_it(desk: ActionsFolder) -> None:
    first = desk.do("wu.new", title="Write the parser", lane="Core").target
    made = desk.do("wu.new", title="Write the printer", acceptance=["it prints\nall", "tests pass"], depends_on=[first])
    assert _unit(desk, made.target).acceptance == ("it prints all", "tests pass")
    with pytest.raises(ActionError, match=f"blocked by {first}"):
        desk.do("wu.claim", wu_id=made.target)
    desk.do("undo")
    assert _unit(desk, made.target) is None and not _edges(desk)
    desk.do("redo")
    assert _edges(desk) == {(first, made.target, "blocks")} and _unit(desk, made.target).acceptance


def test_a_unit_that_waits_for_one_nobody_knows_is_not_made(desk: ActionsFolder) -> None:
    with pytest.raises(ActionError, match="no work unit WU-009"):
        desk.do("wu.new", title="Too early", depends_on=["WU-009"])
    assert not work_units.list_tracked(desk.store.layout)


def test_a_split_unit_waits_for_its_parts_and_undo_takes_all_of_it_back(desk: ActionsFolder) -> None:
    whole = desk.do("wu.new", title="The compiler", lane="Core", priority="P1").target
    before = desk.files()
    parts = [{"title": "Parser", "acceptance": ["it parses"]}, {"title": "Printer", "body": "prints", "lane": "UI"}]
    done = desk.do("wu.split", wu_id=whole, parts=parts, in_order=True)
    parser, printer = work_units.list_tracked(desk.store.layout)[1:]
    assert (parser.title, parser.lane, parser.priority, parser.acceptance) == ("Parser", "Core", "P1", ("it parses",))
    assert (printer.lane, printer.body.strip()) == ("UI", "prints")
    assert done.target == parser.id and f"split into {parser.id}, {printer.id}" in done.summary
    assert _edges(desk) == {
        (whole, parser.id, "parent_child"), (whole, printer.id, "parent_child"),
        (parser.id, whole, "blocks"), (printer.id, whole, "blocks"), (parser.id, printer.id, "blocks"),
    }  # fmt: skip
    with pytest.raises(ActionError, match="blocked by"):
        desk.do("wu.claim", wu_id=whole)
    desk.do("wu.claim", wu_id=parser.id)
    desk.do("undo")
    desk.do("undo")
    assert [unit.id for unit in work_units.list_tracked(desk.store.layout)] == [whole] and not _edges(desk)
    assert desk.files()[f"work/{whole}.md"] == before[f"work/{whole}.md"]


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([{"title": "One"}], "1 parts will not do"),
        ([{"title": f"part {number}"} for number in range(51)], "51 parts will not do"),
        ([{"title": "One"}, {"title": "  "}], "title is empty"),
        ([{"title": "One"}, {"titel": "Two"}], "titel"),
        ([{"title": "One"}, {"title": "Two", "acceptance": ["x"] * 31}], "too many"),
    ],
)
def test_parts_that_will_not_do_leave_nothing(desk: ActionsFolder, parts: list[Any], why: str) -> None:
    whole = desk.do("wu.new", title="The compiler").target
    before = desk.files()
    with pytest.raises(ActionError, match=why):
        desk.do("wu.split", wu_id=whole, parts=parts)
    assert desk.files() == before


def test_what_is_done_or_worked_on_is_not_split(desk: ActionsFolder) -> None:
    whole = desk.do("wu.new", title="The compiler", lane="Core").target
    parts = [{"title": "One"}, {"title": "Two"}]
    desk.do("wu.claim", by="bo", wu_id=whole)
    with pytest.raises(ActionError, match="held by bo: `wu release"):
        desk.do("wu.split", wu_id=whole, parts=parts)
    desk.do("wu.done", by="bo", wu_id=whole, no_checkpoint_check=True)
    with pytest.raises(ActionError, match="is done"):
        desk.do("wu.split", wu_id=whole, parts=parts)


def test_the_same_key_splits_once(desk: ActionsFolder) -> None:
    whole = desk.do("wu.new", title="The compiler").target
    parts = [{"title": "One"}, {"title": "Two"}]
    first = desk.do("wu.split", wu_id=whole, parts=parts, key="k").target
    assert desk.do("wu.split", wu_id=whole, parts=parts, key="k").target == first
    assert len(work_units.list_tracked(desk.store.layout)) == 3


def test_a_hostile_title_is_one_plain_line(desk: ActionsFolder) -> None:
    made = desk.do("wu.new", title="a\x1b[31m\n+++\nstatus = 'done'\n\u202eb", acceptance=["\x1b]0;x\x07y"])
    unit = _unit(desk, made.target)
    assert unit.title == "a +++ status = 'done' b" and unit.status == "ready" and unit.acceptance == ("y",)


@pytest.mark.parametrize("verb", ["wu.release", "wu.block", "wu.done"])
def test_an_agent_ends_nobody_elses_work(desk: ActionsFolder, verb: str) -> None:
    unit = desk.do("wu.new", title="A unit", lane="Core").target
    desk.do("wu.claim", wu_id=unit)
    more = {"reason": "waits"} if verb == "wu.block" else {}
    before = desk.files()
    with pytest.raises(ActionError, match="held by ana: only they or the operator"):
        _as_agent(desk, verb, wu_id=unit, **more)
    assert desk.files() == before
    desk.do("wu.release", wu_id=unit)
    _as_agent(desk, "wu.claim", wu_id=unit)
    _as_agent(desk, verb, wu_id=unit, **more)


def test_an_agent_makes_no_more_units_than_may_be_open(desk: ActionsFolder) -> None:
    desk.store.layout.config.write_text("[projects]\nopen_units = 3\n")
    whole = _as_agent(desk, "wu.new", title="first").target
    with pytest.raises(ActionError, match=r"\[projects\] open_units"):
        _as_agent(desk, "wu.split", wu_id=whole, parts=[{"title": "a"}, {"title": "b"}, {"title": "c"}])
    _as_agent(desk, "wu.split", wu_id=whole, parts=[{"title": "a"}, {"title": "b"}])
    with pytest.raises(ActionError, match="close or merge some first"):
        _as_agent(desk, "wu.new", title="one too many")
    assert desk.do("wu.new", title="a person may").target == "WU-004"


def test_a_person_takes_back_what_the_agent_did_by_its_id(desk: ActionsFolder) -> None:
    made = _as_agent(desk, "wu.new", title="a unit")
    with pytest.raises(ActionError):
        desk.do("undo")
    desk.do("undo", action_id=made.action_id)
    assert _unit(desk, made.target) is None


def test_an_agent_cancels_no_order_and_what_it_repeats_is_none(desk: ActionsFolder) -> None:
    ordered = perform(
        desk.store, named("task.new", {"objective": "look"}), by="ana", now=desk.now, order=True
    ).target  # fmt: skip
    with pytest.raises(ActionError, match="order of the operator"):
        _as_agent(desk, "task.cancel", task_id=ordered)
    end = Exit(ordered, "failed", "2026-01-01T00:00:00Z", reason="no model")
    files.replace(desk.store.layout.task(ordered) / "exit.json", msgspec.json.encode(end))
    again = _as_agent(desk, "task.retry", task_id=ordered, key="k").target
    assert _as_agent(desk, "task.retry", task_id=ordered, key="k").target == again
    spec = msgspec.json.decode((desk.store.layout.task(again) / "spec.json").read_bytes())
    assert (spec["order"], spec["created_by"], spec["retry_of"]) == (False, "loop-000001", ordered)
