"""What an engine opens it closes itself: with the garbage collector off, the open files are the same after each day."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import fail, held, text, tool

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.store import Store

_DAYS = 3


@pytest.fixture
def no_collector() -> Iterator[None]:
    """A growing heap is collected ever more rarely: nothing may hang on it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_files(root: Path) -> Counter[str]:
    """How often each file of the state folder is open in this process; one that was replaced is another file."""
    found = Counter[str]()
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # that of the listing itself
        if path.startswith(str(root)):
            found[path.removeprefix(f"{root}/")] += 1
    return found


def news_from_outside(office: Any, day: int) -> None:
    """What people and programs do beside the engine, some of it refused."""
    office.do("block.append", name="notes", text=f"day {day}")
    office.do("archive.insert", text=f"what was learnt on day {day}")
    office.do("node.create", content=f"a leak under sink {day}", priority="P1", wu_id="WU-1")
    office.do("relay.submit", relay_name="desk", text=f"day {day}", base=day)
    office.do("fact.add", claim=f"day {day} has a file", probes=[f"file {office.layout.config}"])
    with pytest.raises(ActionError):
        office.do("fact.add", claim=f"day {day} has a file")
    with pytest.raises(ActionError):
        office.do("task.cancel", task_id="tsk-none")
    office.do("signal.send", message=f"day {day}", priority="P0")
    office.do("undo")
    office.do("signal.send", message=f"please look, day {day}", priority="P0")
    office.do("decay.apply", force=True)
    office.do("cleanup.nodes", force=True)
    with open(office.layout.memory, "ab") as journal:
        journal.write(b"no record\n")


async def a_day(office: Any, api: Any, day: int) -> None:
    """A loop on a model and one that fails; tasks that end well, badly and by a kill; verbs, probes and learning."""

    def hangs(request: Any) -> bool:
        """Tell the task from a loop whose briefing names it."""
        return f"Hang {day}" in request.first_text and not re.search(r"Loop \d+:", request.first_text)

    api.when(hangs, held(text("never")))
    api.when(lambda r: f"Loop {2 * day + 2}:" in r.first_text, fail(404), fail(404))
    news_from_outside(office, day)
    tasks = [office.do("task.new", objective=f"{what} {day}").target for what in ("Work", "Fail", "Hang")]
    await office.beat()
    await office.loop_over(2 * day + 1)
    await office.until(lambda: any(hangs(request) for request in api.asked))
    os.kill(json.loads((office.folder(tasks[-1]) / "run.json").read_bytes())["pid"], signal.SIGKILL)
    office.do("engine.pause")
    await office.beat()
    office.do("engine.resume")
    await office.until(lambda: all(office.view(task).status.ended for task in tasks))
    await office.beat("asked")
    await office.loop_over(2 * day + 2)
    office.clock.pass_time(3600)
    await office.beat()
    await office.engine.learning.settled()
    await office.until(lambda: not office.engine.freshness.busy and not office.engine.supervisor.index.running())


@pytest.mark.fault("R15", "news to an engine and screens of a room, round after round: memory and descriptors")
async def test_what_was_opened_for_one_use_is_closed_without_the_garbage_collector(office, api, no_collector):
    api.when(lambda r: re.search(r"Loop \d*[13579]:", r.first_text), tool("deposit", wake_state="seen"), again=True)
    api.when(lambda r: "Fail" in r.first_text, fail(404), again=True)
    api.otherwise(tool("write_result", text="done"))
    office.do("block.new", name="notes")
    open_after = []
    for day in range(_DAYS):
        await a_day(office, api, day)
        open_after.append(open_files(office.root))
    assert office.engine.beats >= 3 * _DAYS
    assert open_after == [open_after[0]] * _DAYS
    assert max(open_after[0].values()) <= 6, "one for each of those that follow it"


@pytest.mark.fault("R15", "news to an engine and screens of a room, round after round: memory and descriptors")
def test_a_reader_that_is_closed_holds_no_file_and_its_picture_can_still_be_read(tmp_path, no_collector):
    store = Store(tmp_path)
    store.layout.create()
    for verb, arguments in (("signal.send", {"message": "look"}), ("node.create", {"content": "a leak"})):
        perform(store, named(verb, arguments), by="ann", now=1_790_000_000.0)
    reader = SnapshotReader(tmp_path)
    picture = reader.snapshot(1_790_000_000.0)
    assert len(open_files(tmp_path)) > 2
    reader.close()
    assert open_files(tmp_path) == {"memory/signals.jsonl": 1, "memory/memory.jsonl": 1}, "those of the picture"
    assert picture.signals[0].signal.message == "look" and picture.discoveries[0].node.content == "a leak"
    del picture
    assert not open_files(tmp_path)
