"""Tasks on hosts as an operator sends them there: by the commands, with the link, the proxy and a host as processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_program import lumen, start_lumen
from lumen_until import until

pytest.importorskip("distributed", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from lumen_hosts import Hosts

from lumen_tui.model.queueing import why
from lumen_tui.model.tasks import Exit, Run
from lumen_tui.queries.queue_conditions import read_queue_conditions
from lumen_tui.storage import locks, process
from lumen_tui.store.tasks.task_index import TaskIndex
from lumen_tui.store.tasks.task_records import archived_folder, has_worker, read_json

REPO = Path(__file__).resolve().parents[2]
README_TASK = "What are the 3 largest files in /etc?"
FOLDERS = ("/", "/bin", "/dev", "/etc", "/home", "/lib", "/opt", "/sbin", "/tmp", "/usr", "/var")
STEPS = [("list_dir", {"path": path}) for path in FOLDERS]


class Fleet(Hosts):
    """Hosts beside a state folder, the engine on it, and an operator's commands."""

    def __init__(self, home: Any, beside: Path) -> None:
        super().__init__(home.layout, beside)
        self.home = home
        self.environ = {**os.environ, "LUMEN_STATE": str(home.root), "LUMEN_OPERATOR": "ann", "PYTHONPATH": str(REPO)}
        self.engine: Any = None

    def lumen(self, *words: str, timeout: float = 120) -> Any:
        return lumen([*words], env=self.environ, cwd=self.beside, timeout=timeout)

    def drive(self) -> None:
        """Start an engine; it is there when this returns."""
        self.engine = start_lumen(["--engine-only"], env=self.environ, cwd=self.beside)
        until(lambda: locks.is_locked(self.layout.engine_lock))

    def kill_engine(self) -> None:
        self.engine.kill()
        until(lambda: not locks.is_locked(self.layout.engine_lock))

    def close(self) -> None:
        if self.engine is not None:
            self.engine.kill()
        super().close()

    def task(self, task_id: str) -> Path:
        """The folder of a task, archived or not."""
        folder = self.layout.task(task_id)
        return folder if folder.exists() else archived_folder(self.layout.archive, task_id) or folder

    def ended(self, task_id: str) -> Exit | None:
        return read_json(self.task(task_id) / "exit.json", Exit)

    def why_waits(self, task_id: str) -> str:
        index = TaskIndex(self.layout)
        index.refresh(self.home.now, {})
        view = index.find(task_id)
        assert view is not None
        return why(view, read_queue_conditions(self.layout, index.live(), self.home.now))

    def remote(self, host: str, task_id: str, attempt: int = 1) -> Path:
        return self.folder(host) / "tasks" / task_id / str(attempt) / "state" / "tasks" / task_id

    def instead(self) -> str:
        logs = [*self.beside.glob("*.log"), self.layout.link_log, *self.layout.tasks.glob("*/proxy.log")]
        return "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in logs if path.exists())


@pytest.fixture
def fleet(home: Any, tmp_path: Path, sandbox: None) -> Iterator[Fleet]:
    beside = tmp_path / "hosts"
    beside.mkdir()
    made = Fleet(home, beside)
    yield made
    made.close()


@pytest.mark.long
def test_the_first_task_of_the_readme_runs_on_a_host(fleet):
    fleet.start("attic")
    ran = fleet.lumen("run", README_TASK, "--host", "attic")
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


VICTIMS = ("engine", "link", "proxy", "host", "link and host", "engine and proxy", "everything but the worker")


@pytest.mark.long
def test_whatever_is_killed_the_attempt_is_found_again_and_no_step_is_made_twice(fleet, server, sampled):
    fleet.start("attic")
    fleet.drive()
    fleet.joined("attic")
    for victims in sampled(VICTIMS, 2):
        server.script = [*STEPS, 4.0]
        before = len(server.asked)
        task_id = fleet.lumen("task", "new", "anything", "--host", "any").stdout.strip()
        until(lambda before=before: len(server.asked) >= before + 6, fleet.instead)
        kill(fleet, victims, task_id)
        until(lambda task_id=task_id: fleet.ended(task_id), fleet.instead)
        assert (fleet.ended(task_id).status, fleet.ended(task_id).attempt) == ("done", 1), victims
        assert len(server.asked) - before == 12, victims


def kill(fleet: Fleet, victims: str, task_id: str) -> None:
    """Kill these at once, and start again what nobody else does."""
    whole = victims.startswith("everything")
    if "engine" in victims or whole:
        fleet.kill_engine()
    if "link" in victims or whole:
        process.kill_lock_holders(str(fleet.layout.link_lock))
    if "proxy" in victims or whole:
        process.kill_lock_holders(str(fleet.layout.task(task_id) / "run.lock"))
    if "host" in victims or whole:
        fleet.kill("attic")
        fleet.start("attic")
    if not locks.is_locked(fleet.layout.engine_lock):
        fleet.drive()


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
    assert "its worker on attic ended without a word" in (fleet.layout.events).read_text()
    events = (fleet.task(task_id) / "events.jsonl").read_text()
    assert events.count('"kind":"call"') == len(STEPS)


def test_without_the_extra_a_host_says_how_to_install_it(tmp_path):
    import subprocess

    code = "import sys; sys.modules['cryptography'] = None; from lumen_tui.__main__ import main; sys.exit(main())"
    words = ["host", "--cert", "x.pem", "--scheduler", "tls://127.0.0.1:1"]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=REPO, check=False)
    assert ran.returncode == 2 and 'pip install "lumen-tui[hosts]"' in ran.stderr
