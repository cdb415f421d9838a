"""The engine as the process that operators run: started, killed, started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lumen_program import lumen
from lumen_tree import endless, shorten
from lumen_until import until

from lumen_tui.engine.events import recent_events
from lumen_tui.model.loop import Heartbeat
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_records import read_json


def command(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "lumen_tui", *words, "--state", str(root)]


def run(root: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return lumen([*words, "--state", str(root)], env={**os.environ, **environ}, cwd=root.parent)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    Layout(state).create()
    (state / "lumen.toml").write_text("[heartbeat]\nsettle_seconds = 0.2\n")
    return state


@pytest.fixture
def engine(root: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        child = subprocess.Popen(
            command(root, "--engine-only", "--log-format", "jsonl"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        started.append(child)
        until(lambda: asleep(root, child.pid))
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def asleep(root: Path, pid: int) -> bool:
    beat = read_json(Layout(root).heartbeat, Heartbeat)
    return beat is not None and beat.pid == pid and beat.phase == "asleep"


def new_task(root: Path, objective: str, *words: str) -> str:
    found = run(root, "task", "new", objective, *words)
    assert found.returncode == 0, found.stderr
    return found.stdout.split()[0]


def ended(root: Path, task_id: str) -> list[str]:
    events = recent_events(Store(root), 1000)
    return [event.data["status"] for event in events if event.kind == "task_ended" and event.task_id == task_id]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_engine_cleanly(root, engine, number, code):
    child = engine()
    child.send_signal(number)
    assert child.wait(10) == code
    beat = read_json(Layout(root).heartbeat, Heartbeat)
    assert beat is not None and beat.phase == "stopped"
    assert not locks.is_locked(Layout(root).engine_lock)


def test_the_engine_runs_a_task_that_comes_while_it_sleeps(root, engine):
    engine()
    task_id = new_task(root, "What are the 3 largest files in /etc?")
    until(lambda: ended(root, task_id) == ["done"])
    until(lambda: Layout(root).loop_state.exists())


@pytest.mark.fault("R10", "an engine killed while workers run; numbers of processes used again")
def test_kill_9_while_a_worker_runs_adopts_it_and_collects_its_result_once(root, engine, tmp_path):
    first = engine()
    many = endless(tmp_path / "many")
    task_id = new_task(root, f"Count the lines in {many}")
    folder = Layout(root).task(task_id)
    until(lambda: locks.is_locked(folder / "run.lock"))
    first.kill()
    first.wait()
    engine()
    shorten(many)
    until(lambda: ended(root, task_id) == ["done"], seconds=60)
    until(lambda: any(Layout(root).archive.glob(f"*/*/{task_id}/result.md")))
    archived = next(Layout(root).archive.glob(f"*/*/{task_id}"))
    assert "in 300 text files" in (archived / "result.md").read_text()
    lines = (archived / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines].count("started") == 1


@pytest.mark.fault("R9", "a second engine on one folder, a killed one, a frozen one")
def test_a_second_engine_ends_at_once_and_says_who_drives(root, engine):
    child = engine()
    second = run(root, "--engine-only")
    assert second.returncode == 1
    assert str(child.pid) in second.stderr


def test_run_uses_the_engine_that_is_there_and_prints_the_answer(root, engine):
    engine()
    found = run(root, "run", "What are the 2 largest files in /etc?")
    assert found.returncode == 0
    assert "The 2 largest files in /etc" in found.stdout
    assert "disk_usage /etc" in found.stderr


def test_run_without_an_engine_is_one_of_its_own(root):
    found = run(root, "run", "What are the 2 largest files in /etc?")
    assert (found.returncode, "| 2 |" in found.stdout) == (0, True)
    assert not locks.is_locked(Layout(root).engine_lock)


def test_run_of_something_that_nobody_can_do_fails_and_names_what_would_help(root):
    found = run(root, "run", "Compose a symphony")
    assert found.returncode == 1
    assert "ANTHROPIC_API_KEY" in found.stderr
    assert found.stdout == ""


def test_once_beats_once_and_tells_it_as_json_lines(root):
    found = run(root, "--engine-only", "--once", "--log-format", "jsonl")
    assert found.returncode == 0
    records = [json.loads(line) for line in found.stdout.splitlines()]
    assert [record["beat"] for record in records if record["type"] == "beat"] == [1]
    assert records[0]["kind"] == "engine_started"


def test_without_a_terminal_the_room_says_what_to_use_instead(root):
    found = run(root)
    assert found.returncode == 2
    assert "--engine-only" in found.stderr and "run" in found.stderr


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
def test_a_folder_that_others_may_write_is_refused(root):
    root.chmod(0o777)
    found = run(root, "--engine-only", "--once")
    assert found.returncode == 1
    assert "chmod" in found.stderr
    root.chmod(0o700)


@pytest.mark.fault("R11", "the state folder removed, replaced or read-only under way")
def test_a_removed_state_folder_ends_the_engine_and_is_not_made_again(root, engine, tmp_path):
    child = engine()
    root.rename(tmp_path / "moved")
    assert child.wait(15) == 1
    assert not root.exists()


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
def test_no_key_reaches_a_worker_of_the_offline_provider(root):
    secret = "sk-ant-" + "a" * 40
    found = run(root, "run", "Disk usage of /etc", OPENAI_API_KEY=secret)
    assert found.returncode == 0, found.stderr
    for path in root.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes()


def _listening(pid: int) -> list[str]:
    """The sockets on which a process or its zygote listens: TCP and UDP of both kinds, and UNIX ones with a name."""
    processes = [pid, *(int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    nodes = {
        os.readlink(link) for each in processes for link in Path(f"/proc/{each}/fd").iterdir() if link.is_symlink()
    }
    found = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in nodes:
                found.append(f"{table} {fields[1]}")
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if f"socket:[{fields[6]}]" in nodes and len(fields) > 7:
            found.append(f"unix {fields[7]}")
    return found


@pytest.mark.threat("S9", "an engine and its zygote listen on no port and no named socket")
def test_an_engine_listens_nowhere(root, engine):
    child = engine()
    task_id = new_task(root, "What are the 3 largest files in /etc?")
    until(lambda: ended(root, task_id) == ["done"])
    assert _listening(child.pid) == []
