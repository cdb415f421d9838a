"""The recorded state folder with a clock that stands still and workers that are held in the middle of their work.

What the demo opens with is what the pictures show. Nothing in it depends on the day, the machine or who looks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from lumen_clock import HandClock
from lumen_proving import prove

from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.port import RemotePort
from lumen_tui.headless import recording
from lumen_tui.model.approvals import ASK, Approval, call_hash
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.tasks import Run, TaskEvent
from lumen_tui.model.times import HOUR, MINUTE, iso
from lumen_tui.storage import files, locks, process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.tui.app import LumenApp

NOW = 1_795_593_600.0  # 2026-11-25 08:00 UTC
OPERATOR = "ana"
_PREFIX, _NAME = "shop-", "web-shop-2026"  # of the folder, and what is shown instead, as long as its whole name
_OFFLINE = """[sandbox]
tier = "auto"

[models]
provider = "offline"
"""
_SPOILT = """
[workers]
limit = "many"

[budget]
day_usd = 0.50

[heartbeats]
every_minutes = 5
"""
_TORN = b'{"id": "sig-torn", "message": "\xff\xfe half of a li\n'
_SETTINGS = f"""{_OFFLINE}
[commands.branches]
run = "git branch --sort=-committerdate"
help = "The branches, the newest first."

[commands.grep]
run = "grep -rn {{ask:word to look for}} ."
help = "A word in the project."
"""
_STEPS = (
    ("text", "Part 22: /usr/lib. The sizes agree with yesterday's list to the byte. I take the next folder.", ""),
    ("call", "ls -la /usr/share | sort -k6 | tail -12", "shell"),
    ("result", "12 lines", "shell"),
    ("text", "Part 23: /usr/share. Two entries are new since yesterday, both owned by packages; I note them.", ""),
    ("call", "discover uv was installed outside of apt", "discover"),
    ("result", "k2vd", "discover"),
    ("usage", "145,210 tokens, $0.0145 so far", ""),
    ("text", "Part 24: /usr/bin. One link points elsewhere than before. I look whether a package moved it.", ""),
    ("call", "ls -la /usr/bin | head -26", "shell"),
)
_USED = {
    "input_tokens": 141_900, "output_tokens": 3_310, "read_tokens": 96_000, "usd": 0.0145,
    "progress": {"steps": 23, "most_steps": 40, "seconds": 44, "most_seconds": 600, "filled": 21_400,
                 "window": 200_000},
}  # fmt: skip


class Gallery:
    """One unpacked recording. `close` lets its engine and workers go."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now
        self.base = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))
        self.root = self.base / "state"
        self.store = Store(self.root)
        self.layout = Layout(self.root)
        self._held: list[int] = []
        self._fill()
        self._pristine = {path: (path.read_bytes(), _stamp(path)) for path in self._files()}

    def _fill(self) -> None:
        recording.unpack(recording.ARCHIVE, self.base, self.now)
        files.replace(self.layout.config, _SETTINGS.encode())
        prove(self.layout, self.now)
        self._start_engine()
        self._start_workers()

    def close(self) -> None:
        for descriptor in self._held:
            os.close(descriptor)
        shutil.rmtree(self.base)

    def hold(self, path: Path) -> None:
        """Hold the lock of a process, which is what says that it lives."""
        descriptor = locks.try_lock(path)
        assert descriptor is not None
        self._held.append(descriptor)

    def _start_engine(self, ago: float = 60.0, pid: int = 0) -> None:
        """Let an engine hold the folder: this process, or another one. Its last heartbeat is so many seconds old."""
        self.hold(self.layout.engine_lock)
        own = process.identify(pid) if pid else process.myself()
        beat = Heartbeat(
            beat=2187, phase="asleep", at=iso(self.now - ago), pid=own.pid, start_ticks=own.start_ticks,
            boot_id=own.boot_id, next_at=iso(self.now - ago + 252), brain="script", sandbox="bubblewrap",
        )  # fmt: skip
        files.replace(self.layout.heartbeat, msgspec.json.encode(beat))

    def _start_workers(self) -> None:
        self.start("tsk-sc4y000000000", "Look at the tree below /usr and say what changed since yesterday",
                   "researcher", 60.0, _STEPS)  # fmt: skip
        waits = ("call", "tail -n 0 -F log/app.log | grep -m 1 'deployed 2.4'", "shell")
        self.start("tsk-7f3m000000000", "Wait until the deployment of 2.4 shows up in the log", "researcher", 900.0,
                   (waits,), silent=600.0)  # fmt: skip
        command = "git push origin retry-budget --force-with-lease"
        said = "One budget for a task, as asked. I push the branch so that CI runs on it."
        self.start("tsk-g1ge000000000", "Push the branch retry-budget, so that CI runs on it", "builder", 150.0,
                   (("text", said, ""), ("waiting", f"waits for a person: {command}", "shell")))  # fmt: skip
        self.ask("tsk-g1ge000000000", "shell", {"command": command, "cwd": str(self.base / "project")},
                 summary=command, rule=command, risk="It runs a command that may change files.", said=said,
                 why="shell:any asks, in lumen.toml", folder=str(self.base / "project"))  # fmt: skip
        self.start("tsk-88ab000000000", "Choose where sessions live", "planner", 300.0,
                   (("waiting", f"asks the operator: {_QUESTION}", ASK),))  # fmt: skip
        self.ask("tsk-88ab000000000", ASK, {"question": _QUESTION}, role="planner", summary=_QUESTION,
                 question=_QUESTION, default="Postgres",
                 options=("Postgres", "Redis", "Leave them in memory"))  # fmt: skip

    def start(
        self, task_id: str, objective: str, role: str, ago: float, steps: tuple[tuple[str, str, str], ...],
        silent: float = 3.0,
    ) -> None:  # fmt: skip
        """Queue a task and let it look as if a worker had been at it for `ago` seconds, and silent for the last."""
        began = self.now - ago
        request = named("task.new", {"objective": objective, "role": role, "id": task_id})
        perform(self.store, request, by=OPERATOR, now=began)
        folder, own = self.layout.task(task_id), process.myself()
        run = Run(attempt=1, started_at=iso(began), pid=own.pid, start_ticks=own.start_ticks, boot_id=own.boot_id)
        files.replace(folder / "run.json", msgspec.json.encode(run))
        pause = (ago - silent) / max(1, len(steps))
        events = [TaskEvent(at=iso(began), kind="started", text=f"role {role}")]
        events += [
            TaskEvent(
                at=iso(began + pause * place), kind=kind, text=text, tool=tool, data=_USED if kind == "usage" else {}
            )
            for place, (kind, text, tool) in enumerate(steps, start=1)
        ]
        files.replace(folder / "events.jsonl", b"".join(msgspec.json.encode(each) + b"\n" for each in events))
        self.hold(folder / "run.lock")

    def ask(self, task_id: str, tool: str, arguments: dict[str, object], role: str = "builder", **more: Any) -> None:
        """Let the worker of a task wait for a person."""
        call, at = call_hash(tool, {"of": task_id}), self.now - 2 * MINUTE  # the same wherever the folder is
        request = Approval(
            id=approvals.id_for(task_id, call, 0), task_id=task_id, tool=tool, hash=call, asked_at=iso(at),
            expires_at=iso(at + HOUR), arguments=arguments, role=role, **more,
        )  # fmt: skip
        approvals.ask(self.layout, request)

    def room(self, **options: Any) -> LumenApp:
        """Return a room on it, whose clock stands still."""
        self._restore()
        port = RemotePort(self.root, OPERATOR, clock=HandClock(self.now))
        return LumenApp(port, operator=OPERATOR, clock=lambda: self.now, **options)

    def _files(self) -> list[Path]:
        """Return all files but those that are derived or only locked."""
        paths = (path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".lock")
        return [path for path in paths if self.layout.index not in path.parents]

    def _restore(self) -> None:
        """Undo what the room before this one wrote."""
        for path in self._files():
            if path not in self._pristine:
                path.unlink()
        for path, (data, stamp) in self._pristine.items():
            if not path.exists() or (_stamp(path)[0], _stamp(path)[2]) != (stamp[0], stamp[2]):
                path.write_bytes(data)
                os.utime(path, ns=stamp[1:])

    def named(self, text: str) -> str:
        """Return the text with a name for the folder that is always the same, and as long."""
        return text.replace(self.base.name, _NAME)


class FirstDay(Gallery):
    """A state folder in which an engine has just begun and nothing has happened yet."""

    def _fill(self) -> None:
        self.layout.create()
        files.replace(self.layout.config, _OFFLINE.encode())
        self._start_engine()


class Trouble(Gallery):
    """The recording with an engine that is late, a day's budget that is gone, and files that somebody damaged."""

    def _fill(self) -> None:
        self._asleep = subprocess.Popen(["sleep", "600"])  # what runs now would be called busy
        recording.unpack(recording.ARCHIVE, self.base, self.now)
        files.replace(self.layout.config, f"{_OFFLINE}{_SPOILT}".encode())
        self._start_engine(HOUR, self._asleep.pid)
        self._start_workers()
        for path in (self.layout.signals, self.layout.memory, self.layout.actions):
            with path.open("ab") as journal:
                journal.write(_TORN)
        (self.layout.roles / "analyst.md").write_bytes(b"---\nname: analyst\ntier: enormous\n---\n\xff\xfe")
        (self.layout.work / "WU-100.md").write_bytes(b"---\nid: WU-100\nstatus: [\n---\n")

    def close(self) -> None:
        self._asleep.kill()
        self._asleep.wait()
        super().close()


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return (status.st_size, status.st_atime_ns, status.st_mtime_ns)


_QUESTION = "Where do sessions live after the move? Postgres keeps them over a restart; Redis costs nothing."


@contextmanager
def gallery(kind: type[Gallery] = Gallery) -> Iterator[Gallery]:
    """A gallery until the end of the block."""
    opened = kind()
    try:
        yield opened
    finally:
        opened.close()
