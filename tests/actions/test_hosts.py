"""Hosts that a person cordons, drains, takes back and removes; each can be undone."""

from __future__ import annotations

import msgspec
import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.hosting import HostEntry
from lumen_tui.model.tasks import Run
from lumen_tui.storage import files, locks
from lumen_tui.store.settings import hosts
from lumen_tui.store.tasks import task_files


@pytest.fixture
def attic(desk):
    hosts.change(desk.layout, "attic", lambda _: HostEntry("attic", "2026-01-01T00:00:00Z", "ann"))
    return lambda: next((entry for entry in hosts.entries(desk.layout) if entry.name == "attic"), None)


def test_a_cordon_names_who_and_why_and_is_lifted(desk, attic):
    desk.do("host.cordon", name="attic", reason="new disk")
    assert attic().cordon.endswith(": new disk") and not attic().leaves
    desk.do("host.uncordon", name="attic")
    assert attic().cordon == ""
    with pytest.raises(ActionError, match="host attic is not cordoned"):
        desk.do("host.uncordon", name="attic")


def test_a_drain_lets_it_leave_and_a_person_can_take_that_back(desk, attic):
    desk.do("host.drain", name="attic")
    assert attic().leaves and "drained by" in attic().cordon
    desk.do("undo")
    assert attic() == HostEntry("attic", "2026-01-01T00:00:00Z", "ann")


def test_one_that_is_removed_comes_back_by_undo(desk, attic):
    before = attic()
    desk.do("host.remove", name="attic")
    assert attic() is None
    desk.do("undo")
    assert attic() == before


def test_one_with_a_task_is_not_removed(desk, attic):
    task_id = desk.do("task.new", objective="x", host="attic").target
    folder = desk.layout.task(task_id)
    files.replace(folder / "run.json", msgspec.json.encode(Run(1, "2026-01-01T00:00:00Z", host="attic")))
    with locks.waiting_lock(folder / "run.lock"), pytest.raises(ActionError, match="hosts drain attic"):
        desk.do("host.remove", name="attic")
    assert attic() is not None


@pytest.mark.parametrize("verb", ["host.cordon", "host.uncordon", "host.drain", "host.remove"])
def test_one_that_is_not_there_is_refused(desk, verb):
    with pytest.raises(ActionError, match="there is no host 'loft'"):
        desk.do(verb, name="loft")


@pytest.mark.parametrize("name", ["loft", "../attic", "attic\x1b[31m", "a" * 500])
def test_a_task_for_a_host_that_is_not_registered_is_refused(desk, attic, name):
    with pytest.raises(ActionError) as refused:
        desk.do("task.new", objective="x", host=name)
    assert "\x1b" not in str(refused.value) and len(str(refused.value)) < 200


def test_a_task_may_name_a_host_or_any_and_be_sent_elsewhere_while_it_waits(desk, attic):
    task_id = desk.do("task.new", objective="x", host="any").target
    desk.do("task.edit", task_id=task_id, changes={"host": "attic"})
    with pytest.raises(ActionError, match="there is no host"):
        desk.do("task.edit", task_id=task_id, changes={"host": "loft"})


def test_a_task_may_ask_for_resources_of_its_host(desk, attic):
    task_id = desk.do("task.new", objective="x", host="any", resources=["gpu", "tape=2"]).target
    spec = task_files.read_spec(desk.layout, task_id)
    assert spec is not None and spec.resources == ("gpu=1", "tape=2")
    desk.do("task.edit", task_id=task_id, changes={"resources": ["gpu=2"]})
    with pytest.raises(ActionError, match="'GPU' is no resource"):
        desk.do("task.new", objective="x", host="any", resources=["GPU"])
    with pytest.raises(ActionError, match="resources are those of a host"):
        desk.do("task.new", objective="x", resources=["gpu"])


@pytest.mark.parametrize("rubbish", [b"", b"\xff", b"{}", b'[{"name": 3}]', b"[" * 20_000])
def test_a_registry_that_cannot_be_read_is_no_host(desk, attic, rubbish):
    desk.layout.host_registry.write_bytes(rubbish)
    desk.layout.host_sightings.write_bytes(rubbish)
    assert hosts.entries(desk.layout) == [] and hosts.known_hosts(desk.layout) == []
