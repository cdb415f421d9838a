"""A task of twelve steps on one of three hosts: all that takes part is killed, the link cut, slow, out of order.

After each it has ended once, each of its calls is booked once, and no finished step was made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_apiserver import ApiServer
from lumen_until import until

pytest.importorskip("distributed", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from lumen_fleet import Fleet, WiredFleet
from lumen_scripted import STEPS, answer_steps
from lumen_wire import CUT, Fault, can_wire

from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.settings.config import change_operator

HOSTS = ("attic", "cellar", "loft")
PATIENCE = 180.0  # seconds for one task, whatever becomes of it


class Trial:
    """One fleet, and the tasks that it did."""

    def __init__(self, fleet: Fleet, api: ApiServer) -> None:
        self.fleet, self._api = fleet, api
        self._count = 0

    def task(self, act: Callable[[str, str], None], frame: int) -> str:
        """Do one task on the next host, with what `act` does to it and its host once so many frames are here."""
        host = HOSTS[self._count % len(HOSTS)]
        self._count += 1
        task_id = self.fleet.order(f"Look around, number {self._count}", "--host", host)
        until(lambda: self.fleet.frames(task_id) >= frame or self.fleet.ended(task_id), self.fleet.instead, PATIENCE)
        act(task_id, host)
        until(lambda: self.fleet.ended(task_id), self.fleet.instead, PATIENCE)
        return task_id

    def clean(self) -> int:
        """Do a task to which nothing happens; return the number of its last frame."""
        task_id = self.task(lambda *_: None, 10_000)
        self.must_be_done_once(task_id)
        return self.fleet.frames(task_id)

    def must_be_done_once(self, task_id: str, attempts: tuple[int, ...] = (1,)) -> None:
        """Twelve calls of the model, each booked once; eleven steps, each finished once; one end."""
        ended, folder = self.fleet.ended(task_id), self.fleet.task(task_id)
        assert ended is not None and ended.status == "done" and ended.attempt in attempts, ended
        assert (folder / "result.md").read_text() == "The answer."
        unknown = ended.attempt - 1  # what a worker that was killed had begun
        called = [event for event in records(folder / "events.jsonl") if event["kind"] == "call"]
        assert len(STEPS) <= len(called) <= len(STEPS) + unknown
        assert sorted(finished(folder)) == sorted(arguments["path"] for _, arguments in STEPS)
        asked = sum(f"number {self._count}\n" in request.first_text for request in self._api.asked)
        assert len(STEPS) + 1 <= asked <= len(STEPS) + 1 + unknown
        book = Ledger(self.fleet.layout).refresh()
        assert asked <= book.tasks[task_id].calls <= asked + unknown, (asked, book.tasks[task_id])
        given_up = [hold for hold in book.lost.values() if hold.task == task_id]  # counts in full: nobody knows
        assert not book.open and len(given_up) <= unknown


def finished(folder: Path) -> list[str]:
    """Return the path of each step that was finished."""
    steps = records(folder / "steps.jsonl")
    calls = [call for step in steps if step["type"] == "answer" for call in step["turn"]["calls"]]
    paths = {call["id"]: call["arguments"]["path"] for call in calls}
    return [paths[step["result"]["call_id"]] for step in steps if step["type"] == "ended"]


def records(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def trial(home: Any, tmp_path: Path, sandbox: None, server: Any, api: ApiServer) -> Iterator[Trial]:
    """Three hosts in network namespaces of their own where that can be, else processes of this machine."""
    answer_steps(api)
    limits = ("workers.deaths", "budget.day_tokens", "budget.day_usd")
    change_operator(home.layout, dict.fromkeys(limits, 0))  # hundreds of tasks, and workers that die
    fleet = WiredFleet(home.layout, tmp_path / "hosts", HOSTS) if can_wire() else Fleet(home.layout, tmp_path / "hosts")
    try:
        if isinstance(fleet, WiredFleet):
            fleet.offer(api)
        for name in HOSTS:
            fleet.start(name)
        fleet.lumen("pause", "loop")
        fleet.drive()
        fleet.joined(*HOSTS)
        yield Trial(fleet, api)
    finally:
        fleet.close()


@pytest.fixture
def wired(trial: Trial) -> WiredFleet:
    """The machines of a trial, between which there is a wire."""
    if not isinstance(trial.fleet, WiredFleet):
        pytest.skip("network namespaces and the wire between them take root and /dev/net/tun")
    return trial.fleet


VICTIMS = [
    pytest.param(
        "engine",
        id="engine",
        marks=pytest.mark.fault("R10", "three hosts: engine killed at each frame of a task of twelve steps"),
    ),
    pytest.param(
        "proxy",
        id="proxy",
        marks=pytest.mark.fault("R10", "three hosts: proxy killed at each frame of a task of twelve steps"),
    ),
    pytest.param(
        "scheduler",
        id="scheduler",
        marks=pytest.mark.fault("R10", "three hosts: scheduler killed at each frame of a task of twelve steps"),
    ),
    pytest.param(
        "Dask worker",
        id="Dask worker",
        marks=pytest.mark.fault("R10", "three hosts: Dask worker killed at each frame of a task of twelve steps"),
    ),
    pytest.param(
        "remote worker",
        id="remote worker",
        marks=pytest.mark.fault("R10", "three hosts: remote worker killed at each frame of a task of twelve steps"),
    ),
    pytest.param(
        "engine, proxy, scheduler and Dask worker",
        id="engine, proxy, scheduler and Dask worker",
        marks=pytest.mark.fault(
            "R10",
            "three hosts: engine, proxy, scheduler and Dask worker killed at each frame of a task of twelve steps",
        ),
    ),
]


@pytest.mark.long
@pytest.mark.sweep(most=2)
@pytest.mark.parametrize("victims", VICTIMS)
def test_whatever_is_killed_at_any_frame_the_task_is_done_once(trial, victims, sampled):
    for frame in sampled(list(range(1, trial.clean() + 1)), 2):
        task_id = trial.task(partial(trial.fleet.kill_these, victims), frame)
        trial.must_be_done_once(task_id, (1, 2) if victims == "remote worker" else (1,))


LINKS = [
    pytest.param(
        Fault(delay=0.15, jitter=0.1),
        id="slow",
        marks=pytest.mark.fault("R10", "three hosts: a link that is slow: 150 to 250 ms each way"),
    ),
    pytest.param(
        Fault(delay=0.001, jitter=0.03, twice=0.05),
        id="out of order",
        marks=pytest.mark.fault(
            "R10", "three hosts: a link that is out of order: one packet of two overtakes, some come twice"
        ),
    ),
    pytest.param(
        Fault(lost=0.05),
        id="lossy",
        marks=pytest.mark.fault("R10", "three hosts: a link that is lossy: one packet of twenty is lost"),
    ),
]


@pytest.mark.long
@pytest.mark.sweep(most=1)
@pytest.mark.parametrize("how", LINKS)
def test_over_a_bad_link_the_task_is_done_once(trial, wired, how, sampled):
    for _ in sampled(list(range(20)), 2):
        with wired.wire.suffering(wired.addresses["engine"], how):
            trial.must_be_done_once(trial.task(lambda *_: None, 0))
    carried = wired.wire.carried
    assert how.delay > 0.1 or carried.lost or carried.overtaken > 100, carried


CUTS = [
    pytest.param(
        1.0,
        id="cut for a second at each frame",
        marks=pytest.mark.fault("R10", "three hosts: a link that is cut for a second at each frame"),
    ),
    pytest.param(
        25.0,
        id="cut for 25 s, until connections break",
        marks=pytest.mark.fault("R10", "three hosts: a link that is cut for 25 s, until connections break"),
    ),
]


@pytest.mark.long
@pytest.mark.sweep(most=1)
@pytest.mark.parametrize("seconds", CUTS)
def test_over_a_link_that_is_cut_at_any_frame_the_task_is_done_once(trial, wired, seconds, sampled):
    def cut(_: str, host: str) -> None:
        with wired.wire.suffering(wired.addresses[host], CUT):
            time.sleep(seconds)

    every = 1 if seconds < 2 else 10
    for frame in sampled(list(range(1, trial.clean() + 1, every)), 2):
        trial.must_be_done_once(trial.task(cut, frame))
