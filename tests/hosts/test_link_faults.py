"""The link between an engine and a host while it is cut, slow or out of order, and while its engine's side is killed.

A task of twelve steps ends once, each of its calls is booked once, and no finished step is made again.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

import lumen_sweeps
import msgspec
import pytest
from lumen_kills import killed_before, state_calls
from lumen_scripted import STEPS
from lumen_until import until

from lumen_tui.hosts.ask_handler import AskHandler
from lumen_tui.hosts.copying import Copier
from lumen_tui.hosts.remote_task import HostFolder
from lumen_tui.hosts.service import Begin, HostCaller, HostService
from lumen_tui.model.frames import Frame
from lumen_tui.model.tasks import Exit
from lumen_tui.model.transcript import session_id
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks.task_records import read_json

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


class LinkCut(Exception):
    """The way to the host broke."""


class BadWay:
    """A way to a host that loses, delays, repeats and reorders what it carries; a seed says when."""

    def __init__(self, service: HostService, fault: str, seed: int) -> None:
        self._service, self._fault = service, fault
        self._chance = random.Random(f"{fault} {seed}")  # noqa: S311 - a sample
        self._late: list[asyncio.Task[bytes]] = []
        self.faults = 0

    async def send(self, name: str, sealed: bytes) -> bytes:
        if self._chance.random() > 0.4:
            return await self._service.answer(sealed)
        self.faults += 1
        if self._fault == "cut before":
            raise LinkCut
        if self._fault == "cut behind":
            await self._service.answer(sealed)
            raise LinkCut
        if self._fault == "twice":
            await self._service.answer(sealed)
        elif self._fault == "slow":
            await asyncio.sleep(self._chance.random() * 0.3)
        else:  # it arrives behind later ones, when nobody waits for it any more
            self._late.append(asyncio.ensure_future(self._arrive_late(sealed)))
            raise LinkCut
        return await self._service.answer(sealed)

    async def _arrive_late(self, sealed: bytes) -> bytes:
        await asyncio.sleep(self._chance.random() * 0.3)
        return await self._service.answer(sealed)

    async def close(self) -> None:
        await asyncio.gather(*self._late, return_exceptions=True)


@pytest.fixture
def service(host: HostFolder, issuer: Any) -> HostService:
    return HostService(
        host,
        issuer.give("attic"),
        SystemClock(),
        slots=4,
        roles=(),
        resources={},
        tier="landlock",
        keys=lambda spec: KEYS,
    )


async def insist(act: Any) -> Any:
    """Do it again for as long as the way breaks, as a proxy does."""
    deadline = time.monotonic() + 90
    while True:
        try:
            return await act()
        except LinkCut:
            assert time.monotonic() < deadline


def called(folder: Path) -> list[str]:
    events = [msgspec.json.decode(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]
    return [event["text"] for event in events if event["kind"] == "call"]


def must_be_done_once(layout: Layout, task_id: str, tokens: int) -> None:
    """Twelve calls of a model, each booked once; eleven steps, each made once; one end."""
    folder = layout.task(task_id)
    record = read_json(folder / "exit.json", Exit)
    assert record is not None and (record.status, record.attempt) == ("done", 1)
    assert len(called(folder)) == len(set(called(folder))) == len(STEPS)
    book = Ledger(layout).refresh()
    assert (book.tasks[task_id].calls, book.tasks[task_id].tokens) == (12, tokens)
    assert not book.open and not book.lost


FAULTS = ("cut before", "cut behind", "twice", "slow", "late")


@pytest.mark.long
@pytest.mark.sweep(most=2)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_bad_link_loses_and_repeats_nothing(home, service, issuer, server, fault):
    for seed in lumen_sweeps.seeds(3):
        server.script = [*STEPS, "The answer."]
        before, task_id = len(server.asked), home.task("anything")
        way = BadWay(service, fault, seed)
        caller = HostCaller(issuer.engine(), SystemClock(), way.send)
        await insist(partial(caller.ask, "attic", Begin(home.order(task_id))))
        await insist(home.link(caller, "attic", task_id).follow)
        await way.close()
        assert way.faults and len(server.asked) - before == 12
        must_be_done_once(home.layout, task_id, 12 * 120)


@pytest.mark.long
async def test_the_engines_side_killed_before_any_of_its_writes_has_all_of_it_once(
    home, host, server, tmp_path, sampled
):
    server.script = [*STEPS, "The answer."]
    task_id = home.task("anything")
    clean = tmp_path / "clean"
    shutil.copytree(home.layout.root, clean)
    task = await host.begin(home.order(task_id))
    task.launch(KEYS)
    until(lambda: not home.tend(task))
    sent = [frame for part in iter_frames(task) for frame in part]

    def take(root: Path) -> None:
        layout, spec = Layout(root), home.spec(task_id)
        copier = Copier(layout.task(task_id), layout.transcript(session_id(spec, 1)), 1, "attic")
        handler = AskHandler(layout, spec, 1, time.time)
        for at in range(0, len(sent), 5):
            copier.take(sent[at : at + 5])
            handler.serve()

    def copy(name: str) -> Path:
        shutil.copytree(clean, tmp_path / name)
        return tmp_path / name

    calls = await asyncio.to_thread(state_calls, copy("whole"), partial(take, tmp_path / "whole"))
    for point in sampled(list(range(len(calls))), 8):
        root = copy(f"at-{point}")
        assert await asyncio.to_thread(killed_before, point, root, partial(take, root))
        take(root)
        must_be_done_once(Layout(root), task_id, 12 * 120)
        for name in ("events.jsonl", "steps.jsonl", "result.md", "exit.json"):
            there = Layout(root).task(task_id) / name
            assert there.read_bytes() == (task.folder / name).read_bytes()


def iter_frames(task: Any) -> list[list[Frame]]:
    """All frames of an attempt, in the batches in which they are sent."""
    batches: list[list[Frame]] = []
    last = 0
    while batch := task.after(last):
        batches.append(batch)
        last = batch[-1].seq
    return batches
