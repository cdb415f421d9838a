"""Checks among the acceptance of a work unit: run after its tasks, and no agent closes it where they failed."""

from __future__ import annotations

import pytest
from lumen_apiserver import tool
from lumen_until import until

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.store.work import unit_checks, work_units

pytestmark = pytest.mark.usefixtures("sandbox")


def close(court, *, order: bool, **more: object):
    request = named("wu.done", {"wu_id": "WU-001", "no_checkpoint_check": True, **more})
    return perform(court.store, request, by="ann", now=court.now, order=order)


def status(court) -> str:
    unit = work_units.read_unit(court.layout, "WU-001")
    assert unit is not None
    return str(unit.status)


def found(court) -> str:
    record = unit_checks.read(court.layout, "WU-001")
    return str(record.acceptance.verdict) if record else ""


def test_a_unit_whose_check_failed_is_closed_by_a_person_with_a_reason_alone(court):
    court.do("wu.new", title="Ship it", acceptance=["Users are glad", "file: shipped"])
    task = court.task("a", [], [tool("shell", command="true")], wu_id="WU-001")
    court.start()
    assert court.verdict(task)[0] == "done"
    until(lambda: found(court) == "disproved")
    with pytest.raises(ActionError, match="not accepted"):
        close(court, order=False, reason="I say so")
    with pytest.raises(ActionError, match="--reason"):
        close(court, order=True)
    assert status(court) != "done"
    assert "it was shipped by post" in close(court, order=True, reason="it was shipped by post").summary
    assert status(court) == "done"


def test_a_later_task_that_shows_it_opens_the_way(court):
    court.do("wu.new", title="Ship it", acceptance=["file: shipped"])
    lie = court.task("a", [], [], wu_id="WU-001")
    court.start()
    assert court.verdict(lie)[0] == "done"
    assert found(court) == "disproved"
    mended = court.task(
        "b", ["file: shipped"], [tool("shell", command=f"touch {court.work}/b/shipped")], wu_id="WU-001"
    )
    assert court.verdict(mended) == ("done", "proved")
    assert found(court) == "proved"
    close(court, order=False)
    assert status(court) == "done"


def test_without_checks_nothing_is_run_for_a_unit(court):
    court.do("wu.new", title="Ship it", acceptance=["Users are glad"])
    task = court.task("a", [], [], wu_id="WU-001")
    court.start()
    assert court.verdict(task) == ("done", "")
    assert found(court) == ""
