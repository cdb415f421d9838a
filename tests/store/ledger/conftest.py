"""State folders with a ledger, and real processes that race for it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from lumen_folder import StateFolder

from lumen_tui.model.spendbook import HOLD, LedgerEntry
from lumen_tui.model.tasks import Run, Spec
from lumen_tui.model.times import iso
from lumen_tui.storage import files, process
from lumen_tui.store.ledger.ledger import Ledger

RACER = Path(__file__).with_name("racer.py")
NOW = 1_790_000_000.0  # 2026-09-21 in the afternoon, UTC
DAY = "2026-09-21"

STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


def hold(call: str, tokens: int = 100, **more: object) -> LedgerEntry:
    """A hold of this very process, which is alive."""
    me = process.myself()
    known = {
        "at": iso(NOW), "day": DAY, "task": "tsk-a", "role": "researcher", "model": "m", "usd": tokens / 1e6,
        "pid": me.pid, "start_ticks": me.start_ticks, "boot_id": me.boot_id,
    }  # fmt: skip
    return LedgerEntry(**{"id": call, "kind": HOLD, "tokens": tokens, **known, **more})  # type: ignore[arg-type]


class Purse(StateFolder):
    """One state folder and the processes that spend in it."""

    BY = "ann"

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)
        self.layout.create()
        self.children: list[subprocess.Popen[str]] = []

    def settings(self, text: str) -> None:
        (self.root / "lumen.toml").write_text(text)

    def task(self, name: str, **more: object) -> Path:
        folder = self.layout.tasks / name
        folder.mkdir(mode=0o700, exist_ok=True)
        spec = Spec(id=name, objective="x", created_at=iso(NOW), **more)  # type: ignore[arg-type]
        (folder / "spec.json").write_bytes(msgspec.json.encode(spec))
        return folder

    def race(
        self, name: str, seed: int, calls: int, role: str = "researcher", page: int = 0
    ) -> subprocess.Popen[str]:  # fmt: skip
        """A worker that makes calls, each of at most 400 tokens. `page`: the bytes after which a page is turned."""
        self.task(name, role=role)
        more = [str(page)] if page else []
        return self._child([str(RACER), str(self.root), name, str(seed), str(calls), role, *more])

    def stubborn(self, name: str) -> subprocess.Popen[str]:
        """A worker that is alive by its lock and does not heed TERM."""
        folder = self.task(name)
        fd = os.open(folder / "run.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        child = self._child(["-c", STUBBORN], pass_fds=(fd,), start_new_session=True)
        os.close(fd)
        me = process.identify(child.pid)
        run = Run(attempt=1, started_at=iso(time.time()), pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)
        files.replace(folder / "run.json", msgspec.json.encode(run))
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        return child

    def _child(self, words: list[str], **more: object) -> subprocess.Popen[str]:
        child = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, **more)  # type: ignore[call-overload]
        self.children.append(child)
        return child  # type: ignore[no-any-return]

    def engine(self) -> subprocess.Popen[str]:
        return self._child(["-m", "lumen_tui", "--engine-only", "--log-format", "jsonl", "--state", str(self.root)])

    @property
    def ledger(self) -> Ledger:
        """A reader that begins anew."""
        found = Ledger(self.layout)
        found.refresh()
        return found

    def events(self, kind: str) -> list[str]:
        """The texts of the engine's events of a kind."""
        lines = (self.layout.events.read_bytes() if self.layout.events.exists() else b"").splitlines()
        found = [msgspec.json.decode(line) for line in lines]
        return [event["text"] for event in found if event["kind"] == kind]


@pytest.fixture
def purse(tmp_path: Path) -> Iterator[Purse]:
    made = Purse(tmp_path / "state")
    yield made
    for child in made.children:
        if child.poll() is None:
            child.send_signal(signal.SIGCONT)
            child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()


@pytest.fixture
def a_hold() -> Callable[..., LedgerEntry]:
    return hold


@pytest.fixture
def now() -> float:
    return NOW


@pytest.fixture
def day() -> str:
    return DAY
