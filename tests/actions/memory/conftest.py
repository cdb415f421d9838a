"""A state folder with a movable clock, the command line in it, and processes that work on it at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder

from lumen_tui.cli.main import main
from lumen_tui.model import fields, times
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.node_index import AgeIndex
from lumen_tui.store.signals import inbox
from lumen_tui.store.signals.retention import read_signal

NOW = 1_800_000_000.0
DAY = 86400.0
HAMMER = Path(__file__).with_name("workers.py")


class MemoryFolder(StateFolder):
    """One state folder. `now` stands still until a test moves it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)

    def add(self, kind: str = "note", *, age: float = 0.0, **more: Any) -> str:
        """A node of that age in days; `more` are fields of the record."""
        record = fields.node(f"a {kind}", by="ana", now=self.now - age * DAY, type=kind)
        record |= more
        self.store.nodes.append(record)
        return str(record["id"])

    def signals(self, count: int, *, age: float = 0.0, **more: Any) -> list[str]:
        made = [{**fields.signal(f"note {n}", by="bo", now=self.now - age * DAY), **more} for n in range(count)]
        self.store.signals.append_all(made)
        return [record["id"] for record in made]

    def read(self, reader: str, signal_id: str, *, upto: bool = True) -> None:
        offset = nodes.find(self.layout.signals, [signal_id])[signal_id][0]
        record = fields.receipt(signal_id, reader=reader, now=self.now, offset=offset, upto=upto)
        self.store.receipts.append(record)

    def unread(self, reader: str) -> list[str]:
        found = inbox.unread(str(self.root / "memory"), reader, 100_000).signals
        return [signal["id"] for _, signal in reversed(found)]

    def ids(self, name: str) -> list[str]:
        path = self.root / "memory" / name
        return [json.loads(line)["id"] for line in path.read_bytes().splitlines()] if path.exists() else []

    def ids_read(self, name: str) -> list[str]:
        """The same of the lines that can be read."""
        lines = (
            (self.root / "memory" / name).read_bytes().splitlines() if (self.root / "memory" / name).exists() else []
        )
        return [signal.id for line in lines if (signal := read_signal(line))]

    def node(self, node_id: str) -> dict[str, Any]:
        return nodes.find(self.layout.memory, [node_id])[node_id][1]

    def meta(self, node_id: str) -> dict[str, Any]:
        return dict(self.node(node_id).get("metadata") or {})

    def status(self, node_id: str) -> str:
        return str(self.meta(node_id).get("status", "open"))

    def index(self) -> AgeIndex:
        return AgeIndex(self.layout).load()

    def files(self) -> dict[str, bytes]:
        """Every file of record, without lock files and derived ones."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".lock")
        kept = [path for path in found if path.parent.name != "index"]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in kept}

    def clock_jump(self, at: float) -> None:
        event = {"seq": 1, "at": times.iso(at), "kind": "clock_jump", "text": "the clock moved by +7200 s"}
        self.store.events.append(event)


@pytest.fixture
def desk(tmp_path: Path) -> MemoryFolder:
    made = MemoryFolder(tmp_path / "state")
    made.layout.create()
    return made


Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(desk: MemoryFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`cli("decay", "--json")` gives exit code, standard output and standard error; the clock is the desk's."""
    monkeypatch.setenv("LUMEN_STATE", str(desk.root))
    monkeypatch.setenv("LUMEN_OPERATOR", "ana")
    monkeypatch.setattr(time, "time", lambda: desk.now)

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(words))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


class Crew:
    """Processes on one state folder, each with a file of what was acknowledged to it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self._folder = root, folder
        self._count = 0
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, verb: str, *words: str) -> subprocess.Popen[bytes]:
        self._count += 1
        site = sysconfig.get_paths()["purelib"]
        with open(self._folder / f"{verb}-{self._count}", "wb") as told:
            process = subprocess.Popen(
                [sys.executable, "-S", "-B", str(HAMMER), verb, str(self.root), *words],
                stdout=told, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"], "HAMMER_SITE": site},
            )  # fmt: skip
        self.running.append(process)
        return process

    def told(self, verb: str) -> list[str]:
        """Everything acknowledged by processes of this verb, whole lines only."""
        found = []
        for path in self._folder.glob(f"{verb}-*"):
            found += path.read_bytes().decode().split("\n")[:-1]
        return found

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.communicate(timeout=30)
        self.running.remove(process)

    def end(self, *, well: bool = True) -> None:
        """Wait for the writers to end by themselves, then end the others."""
        for process in list(self.running):
            errors = process.communicate(timeout=60)[1]
            assert not well or process.returncode == 0, errors.decode()
            self.running.remove(process)


@pytest.fixture
def crew(desk: MemoryFolder, tmp_path: Path) -> Iterator[Crew]:
    folder = tmp_path / "told"
    folder.mkdir()
    made = Crew(desk.root, folder)
    yield made
    for process in list(made.running):
        made.kill(process)
