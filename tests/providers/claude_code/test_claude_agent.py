"""The real Claude Code as main agent and as worker of a real engine, and what kills leave. Skipped without it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_apiserver import held, text, tool
from lumen_program import lumen
from lumen_until import Awaited

from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.tools.sandbox.limits import descendants

OURS = "mcp__lumen__"


class Agent(Awaited):
    """A state folder and its engine as a process of its own."""

    def __init__(self, top: Path, program: str, api) -> None:
        self.layout = Layout(top / "state")
        self.layout.create()
        own = f'claude = {{ program = "{program}" }}'
        self.layout.config.write_text(
            f'[models]\nprovider = "claude"\nroutine = {{ main = "" }}\n{own}\n[heartbeat]\nsettle_seconds = 0.2\n'
        )
        (top / "home").mkdir()
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(top / "home"), **api.anthropic_env}
        self._engines: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "lumen_tui", "--engine-only", "--state", str(self.layout.root)]
        log = (self.layout.root.parent / "engine.out").open("ab")
        engine = subprocess.Popen(
            command, env=self.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        self._engines.append(engine)
        return engine

    def lumen(self, *words: str) -> str:
        ran = lumen([*words, "--state", str(self.layout.root)], env=self.environ, cwd=self.layout.root.parent)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def shown(self, task: str) -> dict:
        found: dict = json.loads(self.lumen("task", "show", task, "--json"))
        return found

    def status(self, task: str) -> str:
        return str(self.shown(task)["status"])

    def owed(self) -> set[str]:
        """The calls that were set aside and of which nobody has said what they cost."""
        lines = [json.loads(line) for line in (self.layout.root / "spend.jsonl").read_bytes().splitlines()]
        return {line["id"] for line in lines} - {line["id"] for line in lines if line["kind"] not in ("hold", "sent")}

    def packets(self) -> list[dict]:
        return [json.loads(line) for line in Store(self.layout.root).packets.lines()]

    def processes(self, engine: subprocess.Popen[bytes]) -> dict[str, list[int]]:
        """The workers and the programs below an engine, with all below them."""
        below = [pid for pid in descendants([engine.pid])[1:] if _words(pid)]
        return {
            "claude": [pid for pid in below if "--permission-prompt-tool" in _words(pid)],
            "worker": [pid for pid in below if (_words(pid) + " ").count("lumen_tui.worker ") == 1],
            "all": below,
        }

    def instead(self) -> object:
        shown = SnapshotReader(self.layout.root).snapshot(0.0)
        return [(view.id, view.status) for view in shown.tasks], (self.layout.root.parent / "engine.out").read_text()

    def end(self) -> None:
        for engine in self._engines:
            below = descendants([engine.pid])[1:] if engine.poll() is None else []
            engine.kill()
            engine.wait()
            for pid in below:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@pytest.fixture
def agent(real: str, api, tmp_path: Path) -> Iterator[Agent]:
    made = Agent(tmp_path, real, api)
    yield made
    made.end()


def is_main(request) -> bool:
    return f"{OURS}deposit" in request.tool_names


def test_a_loop_orders_a_task_and_the_next_one_reads_its_result(agent, api, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.log").write_text("error: port 8443 refused\n")
    path = f"{tmp_path}/data/a.log"
    api.when(
        lambda request: is_main(request) and "Loop 1:" in request.first_text,
        tool(f"{OURS}create_task", objective=f"Which port is refused in {path}?"),
        tool(f"{OURS}deposit", wake_state="One task is out: the port."), text("Good night."),
    )  # fmt: skip
    api.when(
        lambda request: "Which port" in request.first_text and not is_main(request),
        tool("Read", file_path=path), tool(f"{OURS}write_result", text="Port 8443 is refused."), text("Done."),
    )  # fmt: skip
    api.when(is_main, tool(f"{OURS}deposit", wake_state="Port 8443 is refused."), text("Good night."), again=True)
    agent.lumen("signal", "Why does nothing answer?")
    agent.start()
    agent.until(lambda: agent.packets() and list(agent.layout.archive.glob("*/*/tsk-*")), 120)
    agent.lumen("beat")
    agent.until(lambda: len(agent.packets()) >= 2, 120)
    first, second = agent.packets()[:2]
    assert first["brain"].startswith("claude ")
    assert not first.get("failed")
    assert not second.get("failed")
    assert "Port 8443 is refused." in next(r.first_text for r in api.asked if is_main(r) and "Loop 2:" in r.first_text)
    agent.until(lambda: "Port 8443 is refused." in agent.layout.wake_state.read_text())


@pytest.mark.parametrize("victim", ["claude", "worker", "engine"])
def test_whatever_is_killed_nothing_stays_behind_and_it_is_said(agent, api, victim, is_alive):
    api.say(held(text("never")))
    task = agent.lumen("task", "new", "look around")
    engine = agent.start()
    agent.until(lambda: api.asked, 120)
    agent.until(lambda: agent.processes(engine)["claude"], 60)
    found = agent.processes(engine)
    api.say(tool(f"{OURS}write_result", text="# Looked"), text("ok"))
    if victim == "engine":
        engine.kill()
        engine.wait()
        agent.start()
        api.release()
        agent.until(lambda: agent.status(task) == "done", 120)
    else:
        for pid in found[victim]:
            os.kill(pid, signal.SIGKILL)
        agent.until(lambda: agent.status(task) in ("done", "failed"), 120)
    shown = agent.shown(task)
    if victim == "claude":
        assert "Claude Code ended without a result" in json.dumps(shown)
    else:
        assert shown["status"] == "done"
    agent.until(lambda: not any(map(is_alive, found["claude"] + found["worker"])), 60)
    agent.until(lambda: not agent.owed(), 60)
