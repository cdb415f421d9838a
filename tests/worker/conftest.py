"""Real worker processes on temporary state folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.store import files
from lumen_tui.store.layout import Layout

ROOT = Path(__file__).resolve().parents[2]


class WorkerTask:
    """One task folder and the processes that were started on it."""

    def __init__(self, layout: Layout, task_id: str) -> None:
        self.layout = layout
        self.folder = layout.task(task_id)
        self.folder.mkdir()
        self.children: list[subprocess.Popen[bytes]] = []

    def start(self, lock: bool = True, **environ: str) -> subprocess.Popen[bytes]:
        """Start a worker as the engine does."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.layout.root), "PYTHONPATH": str(ROOT), **environ}
        fds: tuple[int, ...] = ()
        if lock and (fd := files.try_lock(self.folder / "run.lock")) is not None:
            env["LUMEN_LOCK_FD"] = str(fd)
            fds = (fd,)
        with open(self.folder / "worker.log", "ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "lumen_tui.worker", str(self.folder)], cwd=self.folder, env=env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=fds, start_new_session=True,
            )  # fmt: skip
        for fd in fds:
            os.close(fd)
        self.children.append(child)
        return child

    def run(self, seconds: float = 30, **environ: str) -> dict[str, Any]:
        """Start, wait for the end, and return exit.json."""
        self.start(**environ).wait(seconds)
        return self.exit

    @property
    def exit(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "exit.json").read_bytes())
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        path = self.folder / "events.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    @property
    def result(self) -> str:
        return (self.folder / "result.md").read_text()

    @property
    def log(self) -> str:
        return (self.folder / "worker.log").read_text()

    def until(self, true: Callable[[], bool], seconds: float = 10) -> None:
        """Poll a real process's effect."""
        ends = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < ends, f"it did not happen; log: {self.log} events: {self.events}"
            time.sleep(0.02)

    def until_called(self) -> None:
        self.until(lambda: any(event["kind"] == "call" for event in self.events))


MakeTask = Callable[..., WorkerTask]


@pytest.fixture
def make_task(tmp_path: Path) -> Iterator[MakeTask]:
    layout = Layout(tmp_path / "state")
    layout.create()
    made: list[WorkerTask] = []

    def make(objective: str, role: str = "researcher", task_id: str = "tsk-one", **spec: Any) -> WorkerTask:
        task = WorkerTask(layout, task_id)
        record = {"id": task_id, "objective": objective, "role": role, **spec}
        files.replace(task.folder / "spec.json", json.dumps(record).encode())
        files.replace(task.folder / "run.json", b'{"attempt": 2, "started_at": "2026-01-01T00:00:00Z"}')
        made.append(task)
        return task

    yield make
    for task in made:
        for child in task.children:
            child.kill()
            child.wait()


class Scripted(ThreadingHTTPServer):
    """A server that speaks the Messages API from a script: (tool, arguments), a text, or seconds to wait."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[object] = []
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.closing = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: Scripted

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append(self.path)
        step = self.server.script.pop(0) if self.server.script else "done"
        if isinstance(step, float):
            self.server.closing.wait(step)
            return
        content, stop = {"type": "text", "text": step}, "end_turn"
        if isinstance(step, tuple):
            content, stop = {"type": "tool_use", "id": "t", "name": step[0], "input": step[1]}, "tool_use"
        usage = {"input_tokens": 100, "output_tokens": 20}
        body = json.dumps({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [content],
                           "stop_reason": stop, "stop_sequence": None, "usage": usage}).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Scripted]:
    found = Scripted()
    threading.Thread(target=found.serve_forever, args=(0.02,), daemon=True).start()
    yield found
    found.closing.set()
    found.shutdown()
    found.server_close()
