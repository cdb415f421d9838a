"""Hosts that will not do, as processes over TLS: each is refused or closed by name, and one item says so."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lumen_until import until

pytest.importorskip("distributed", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from lumen_tui.store.settings import hosts
from lumen_tui.store.tasks.task_records import has_worker

# name -> what its program does first, and why nothing begins there
LIARS = {
    "older": ("import lumen_tui; lumen_tui.__version__ = '0.1'", "it runs version 0.1, and the engine is"),
    "fast": (
        "from lumen_tui.storage.clock import SystemClock as C; now = C.now; C.now = lambda self: now(self) + 3600",
        "its clock is more than 60 s ahead: set it",
    ),
    "full": (
        "import shutil; usage = shutil.disk_usage; shutil.disk_usage = lambda path: usage(path)._replace(free=9)",
        "its disk is full: less than 256 MiB are free",
    ),
    "bare": (
        "from lumen_tui.tools.sandbox import tiers; tiers.choose = lambda *_: tiers.TierChoice('ask', 'none here')",
        "it has no sandbox that holds: `lumen-tui doctor` there says what is missing",
    ),
    "many": (
        "from lumen_tui.hosts import service as s; facts = s.HostService.facts;"
        "s.HostService.facts = lambda self: __import__('msgspec').structs.replace(facts(self), slots=9999)",
        "it says that it has 9,999 slots, which is not believed",
    ),
}


@pytest.mark.long
def test_each_that_will_not_do_is_closed_by_name_and_is_one_item_however_many_tasks_wait(fleet: Any) -> None:
    for name, (lie, _) in LIARS.items():
        fleet.start(name, 2, lie=lie)
    fleet.drive()
    listed: dict[str, str] = {}

    def all_are_seen() -> bool:
        listed.update({host["name"]: host["reason"] for host in json.loads(fleet.lumen("hosts", "--json").stdout)})
        return all(words in listed[name] for name, (_, words) in LIARS.items())

    until(all_are_seen, lambda: f"{listed}\n{fleet.instead()}")
    tasks = [fleet.order("anything", "--host", name) for name in (*LIARS, "any", "any")]
    for task_id, name in zip(tasks, LIARS, strict=False):
        until(lambda task_id=task_id, name=name: LIARS[name][1] in fleet.why_waits(task_id))
        assert LIARS[name][1] in fleet.lumen("task", "show", task_id).stdout.replace("\n", " ")
    assert all(f"{name}: {words}" in fleet.why_waits(tasks[-1]) for name, (_, words) in LIARS.items())
    problems = hosts.problems(hosts.known_hosts(fleet.layout))
    assert sorted(problem.where for problem in problems) == sorted(f"host {name}" for name in LIARS)
    assert fleet.workers() == [] and not any(has_worker(fleet.layout.task(task_id)) for task_id in tasks)


@pytest.mark.long
def test_a_host_that_says_it_has_more_slots_than_it_takes_is_left_alone_for_a_while(fleet: Any) -> None:
    """The task waits or goes elsewhere; it is done once, and nothing begins twice."""
    lie = (
        "from lumen_tui.hosts import service as s; facts = s.HostService.facts;"
        "s.HostService.facts = lambda self: __import__('msgspec').structs.replace(facts(self), slots=8)"
    )
    fleet.start("liar", 1, lie=lie)
    fleet.start("attic", 1)
    fleet.drive()
    fleet.joined("liar", "attic")
    tasks = [fleet.order("What are the 3 largest files in /etc?", "--host", "any") for _ in range(5)]
    for task_id in tasks:
        until(lambda task_id=task_id: fleet.ended(task_id), fleet.instead, 120)
        ended = fleet.ended(task_id)
        assert (ended.status, ended.attempt) == ("done", 1)


@pytest.mark.long
def test_who_may_not_join_says_why_and_is_seen_by_nobody(fleet: Any, tmp_path: Path, forger: Any) -> None:
    """A second one of a name, a certificate of another authority, and a scheduler that is not ours."""
    fleet.start("attic")
    fleet.drive()
    fleet.joined("attic")
    (fleet.beside / "cellar.pem").write_bytes(forger.give("cellar").path.read_bytes())
    for name, words in (("attic", "did not take attic"), ("cellar", "no scheduler of ours is at tls://127.0.0.1:")):
        log = tmp_path / f"{name}.log"
        command = fleet.command(name, tmp_path / name)
        with open(log, "wb") as out, subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=out) as host:
            until(lambda log=log, words=words: words in log.read_text(), log.read_text)
            host.terminate()
    assert fleet.open_ones() == {"attic"} and fleet.children["attic"].poll() is None
