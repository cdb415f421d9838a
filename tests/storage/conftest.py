"""Real processes on real files, and one way to look at what they left behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HAMMER = Path(__file__).with_name("hammer.py")


class Crowd:
    """Hammers at work, each with a file of what was acknowledged to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0
        self.running: list[subprocess.Popen[bytes]] = []

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-S", "-B", str(HAMMER), *words]

    def environment(self, **more: str) -> dict[str, str]:
        site = sysconfig.get_paths()["purelib"]
        return {"PATH": os.environ["PATH"], "HAMMER_SITE": site, "PYTHONHASHSEED": "0", **more}

    def start(self, *words: str, before: tuple[str, ...] = (), **env: str) -> subprocess.Popen[bytes]:
        """Start one; its acknowledgements go to a file of its own."""
        self._started += 1
        with open(self._folder / f"acks-{self._started}", "wb") as acks:
            process = subprocess.Popen(
                [*before, *self.command(*words)], stdout=acks, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                env=self.environment(**env),
            )  # fmt: skip
        self.running.append(process)
        return process

    def run(self, *words: str, before: tuple[str, ...] = (), **env: str) -> int:
        """Run one to its end, whichever; returns its exit code (negative: a signal)."""
        process = self.start(*words, before=before, **env)
        self.errors = process.communicate(timeout=60)[1].decode()
        self.running.remove(process)
        return process.returncode

    def wait(self) -> None:
        """All of them end by themselves, and well."""
        for process in self.running:
            errors = process.communicate(timeout=60)[1]
            assert process.returncode == 0, errors.decode()
        self.running.clear()

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        self.running.remove(process)

    def acknowledged(self) -> list[str]:
        """Everything anybody was told, whole lines only."""
        names = []
        for acks in self._folder.glob("acks-*"):
            names += acks.read_bytes().decode().split("\n")[:-1]
        return names

    def forget(self) -> None:
        """Begin a new count of acknowledgements."""
        for acks in self._folder.glob("acks-*"):
            acks.unlink()


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    folder = tmp_path / "acks"
    folder.mkdir()
    crowd = Crowd(folder)
    yield crowd
    for process in crowd.running:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()


class Found:
    """What stands in a journal: ids in order, and the lines that are no records."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        self.ids: list[str] = []
        self.damaged: list[bytes] = []
        *lines, self.tail = data.split(b"\n")
        for line in filter(None, lines):
            try:
                self.ids.append(json.loads(line)["id"])
            except (ValueError, TypeError, KeyError):
                self.damaged.append(line)

    @property
    def twice(self) -> list[str]:
        return [name for name, count in Counter(self.ids).items() if count > 1]


@pytest.fixture
def look() -> Callable[[Path], Found]:
    """What stands in a journal now."""
    return Found
