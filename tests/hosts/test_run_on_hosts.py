"""Tasks on hosts as an operator sends them there: by the commands, with the link, the proxy and a host as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lumen_until import until

pytest.importorskip("distributed", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from lumen_hosts import free_port
from lumen_scripted import STEPS

from lumen_tui.model.tasks import Run
from lumen_tui.storage import process
from lumen_tui.store.tasks.task_records import has_worker, read_json

REPO = Path(__file__).resolve().parents[2]
README_TASK = "What are the 3 largest files in /etc?"


@pytest.mark.long
def test_the_first_task_of_the_readme_runs_on_a_host(fleet):
    fleet.start("attic", 2, "--port", str(port := free_port()))
    ran = fleet.lumen("run", README_TASK, "--host", "attic")
    assert f":{port:04X} " in Path("/proc/net/tcp").read_text()
    assert ran.returncode == 0, ran.stderr + fleet.instead()
    assert "The 3 largest files in /etc" in ran.stdout
    (folder,) = (fleet.folder("attic") / "tasks").iterdir()
    record = read_json(fleet.task(folder.name) / "run.json", Run)
    assert record is not None and record.host == "attic"
    there = fleet.remote("attic", folder.name)
    for name in ("result.md", "exit.json", "events.jsonl"):
        assert (fleet.task(folder.name) / name).read_bytes() == (there / name).read_bytes()


@pytest.mark.long
def test_a_task_for_a_host_that_is_not_there_waits_says_why_and_begins_once_it_has_joined(fleet):
    fleet.register("attic")
    fleet.drive()
    task_id = fleet.lumen("task", "new", README_TASK, "--host", "attic").stdout.strip()
    until(lambda: "host attic: it is not connected" in fleet.why_waits(task_id), lambda: fleet.why_waits(task_id))
    assert not (fleet.layout.task(task_id) / "run.json").exists()
    assert "host attic: it is not connected" in fleet.lumen("task", "show", task_id).stdout
    fleet.start("attic")
    until(lambda: fleet.ended(task_id), fleet.instead)
    assert fleet.ended(task_id).status == "done"


def test_a_task_for_a_host_that_nobody_registered_is_refused(fleet):
    ran = fleet.lumen("task", "new", README_TASK, "--host", "loft")
    assert ran.returncode != 0 and "there is no host 'loft'" in ran.stderr


@pytest.mark.long
def test_what_a_worker_on_a_host_claims_is_checked_there(fleet):
    fleet.start("attic")
    fleet.drive()
    check = f"command: test -e {fleet.folder('attic') / 'host.lock'}"
    task_id = fleet.lumen("task", "new", README_TASK, "--host", "attic", "--accept", check).stdout.strip()
    until(lambda: fleet.ended(task_id), fleet.instead)
    ended = fleet.ended(task_id)
    assert ended.status == "done" and ended.acceptance is not None
    assert (fleet.remote("attic", task_id) / "exit.json").read_bytes() == (
        fleet.task(task_id) / "exit.json"
    ).read_bytes()


@pytest.mark.long
def test_a_task_that_is_cancelled_ends_on_its_host(fleet, server):
    fleet.start("attic")
    fleet.drive()
    server.script = [*STEPS[:2], 120.0]
    task_id = fleet.lumen("task", "new", "anything", "--host", "attic").stdout.strip()
    until(lambda: len(server.asked) == 3, fleet.instead)
    fleet.lumen("task", "cancel", task_id)
    until(lambda: fleet.ended(task_id), fleet.instead)
    assert fleet.ended(task_id).status == "cancelled"
    until(lambda: not has_worker(fleet.remote("attic", task_id)), fleet.instead)


@pytest.mark.long
def test_a_task_that_is_cancelled_while_its_host_is_away_ends_there_once_it_is_back(fleet, server):
    fleet.start("attic")
    fleet.drive()
    server.script = [*STEPS[:2], 120.0]
    task_id = fleet.lumen("task", "new", "anything", "--host", "attic").stdout.strip()
    until(lambda: len(server.asked) == 3, fleet.instead)
    fleet.kill("attic")
    fleet.lumen("task", "cancel", task_id)
    until(lambda: fleet.ended(task_id), fleet.instead)
    assert has_worker(fleet.remote("attic", task_id))
    fleet.start("attic")
    until(lambda: not has_worker(fleet.remote("attic", task_id)), fleet.instead)


@pytest.mark.long
def test_a_worker_that_is_killed_on_its_host_is_lost_and_goes_on_as_the_next_attempt(fleet, server):
    fleet.start("attic")
    fleet.drive()
    server.script = [*STEPS[:5], 60.0]
    task_id = fleet.lumen("task", "new", "anything", "--host", "attic").stdout.strip()
    until(lambda: len(server.asked) == 6, fleet.instead)
    server.script = [*STEPS[5:], "The answer."]
    process.kill_lock_holders(str(fleet.remote("attic", task_id) / "run.lock"))
    until(lambda: fleet.ended(task_id), fleet.instead)
    assert (fleet.ended(task_id).status, fleet.ended(task_id).attempt) == ("done", 2)
    assert "its worker on attic crashed" in (fleet.layout.events).read_text()
    events = (fleet.task(task_id) / "events.jsonl").read_text()
    assert events.count('"kind":"call"') == len(STEPS)


@pytest.mark.long
def test_a_host_that_is_asked_to_end_leaves_and_the_next_one_finds_its_worker(fleet, server):
    fleet.start("attic")
    fleet.drive()
    server.script = [*STEPS[:3], 3.0]
    task_id = fleet.order("anything", "--host", "attic")
    until(lambda: len(server.asked) == 4, fleet.instead)
    child = fleet.children.pop("attic")
    child.terminate()
    assert child.wait(30) == 0 and has_worker(fleet.remote("attic", task_id))
    fleet.start("attic")
    until(lambda: fleet.ended(task_id), fleet.instead)
    assert (fleet.ended(task_id).status, fleet.ended(task_id).attempt, len(server.asked)) == ("done", 1, 4)


def test_a_second_program_on_the_folder_of_a_host_does_not_start(fleet):
    fleet.start("attic")
    until(lambda: (fleet.folder("attic") / "host.lock").exists() and fleet.log("attic"))
    command = fleet.command("attic", fleet.folder("attic"))
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 2
    assert "is the folder of a host that runs already: give this one its own" in second.stderr


def test_without_the_extra_a_host_says_how_to_install_it(tmp_path):
    code = "import sys; sys.modules['cryptography'] = None; from lumen_tui.__main__ import main; sys.exit(main())"
    words = ["host", "--cert", "x.pem", "--scheduler", "tls://127.0.0.1:1"]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=REPO, check=False)
    assert ran.returncode == 2 and 'pip install ".[hosts]"' in ran.stderr
