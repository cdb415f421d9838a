"""A scheduler on a real state folder with a clock that only the test moves, and that can be killed at any write."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from lumen_folder import StateFolder

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.schedules.scheduler import Scheduler
from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.schedule_runs import RunState, ScheduledRun
from lumen_tui.model.schedules import Schedule
from lumen_tui.model.tasks import Exit
from lumen_tui.storage import files
from lumen_tui.store.schedules import schedules

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: str = "Europe/Berlin") -> float:
    """Seconds since 1970 of a local time, such as `2026-10-25 09:00`."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


class Killed(BaseException):
    """What SIGKILL is to the code that it hits: nothing after it is carried out."""


class Deadly:
    """Lets a number of writes through, tears the next one, and refuses all that follow until the reboot."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1  # writes until the kill; negative: none comes
        self.chance = random.Random(0)  # noqa: S311 - a sample
        self._all, self._place = files.write_all, files.take_place
        monkeypatch.setattr(files, "_write_whole", self._write_whole)
        monkeypatch.setattr(files, "write_all", self._write_all)
        monkeypatch.setattr(files, "take_place", self._take_place)

    def _dies(self) -> bool:
        if self.left < 0:
            return False
        self.left -= self.left > 0
        return self.left == 0

    def _torn(self, data: bytes) -> bytes:
        return data[: self.chance.randrange(len(data))]

    def _write_whole(self, fd: int, data: bytes, size: int) -> None:
        if self._dies():
            self._all(fd, self._torn(data))
            raise Killed
        self._all(fd, data)

    def _write_all(self, fd: int, data: bytes) -> None:
        if self._dies():
            self._all(fd, self._torn(data))
            raise Killed
        self._all(fd, data)

    def _take_place(self, temporary: str, path: files.StrPath, *, durable: bool = True) -> None:
        if self._dies():
            raise Killed
        self._place(temporary, path, durable=durable)


class Ground(StateFolder):
    """A state folder, and the schedulers that come and go on it."""

    BY = "ana"

    def __init__(self, root: Path, start: float) -> None:
        super().__init__(root, start)
        self.layout.create()
        self.config = Config()
        self._scheduler: Scheduler | None = None

    def add(self, name: str, when: str, **more: Any) -> None:
        given = {"text": f"do {name}", "zone": "Europe/Berlin", "makes": "wake"} | more
        self.do("schedule.add", name=name, when=when, **given)

    def poll(self, seconds: float = 0.0, *, may_start: bool = True) -> None:
        """Let time go by, then look."""
        self.now += seconds
        if self._scheduler is None:
            self._scheduler = Scheduler(self.store, EventLog(self.store))
        self._scheduler.poll(self.config, self.now, may_start=may_start)

    def run_for(self, seconds: float, step: float = 60.0) -> None:
        """Look again and again, as an engine does."""
        end = self.now + seconds
        while self.now < end:
            self.poll(min(step, end - self.now))

    def crash(self) -> None:
        """What SIGKILL leaves: the files."""
        if self._scheduler is not None:
            self._scheduler.close()
        self._scheduler = None

    @property
    def scheduler(self) -> Scheduler:
        assert self._scheduler is not None
        return self._scheduler

    def runs(self, name: str = "") -> list[ScheduledRun]:
        return [run for run in schedules.valid_runs(self.layout).values() if name in ("", run.name)]

    def states(self, name: str = "") -> list[str]:
        return [str(run.state) for run in self.runs(name)]

    def ran(self, name: str) -> list[str]:
        """The local times (Berlin) at which runs were due that took place."""
        due = [datetime.fromtimestamp(run.due_at, BERLIN) for run in self.runs(name) if run.state is RunState.DONE]
        return [f"{moment:%m-%d %H:%M}" for moment in due]

    def known(self, name: str) -> Schedule:
        return next(one for one in schedules.read(self.layout).values() if one.name == name)

    def tasks(self) -> list[str]:
        return [path.name for path in self.layout.tasks.iterdir() if path.name.startswith("tsk-")]

    def end_task(self, task_id: str) -> None:
        end = Exit(task_id, "done", times.iso(self.now))
        files.replace(self.layout.task(task_id) / "exit.json", msgspec.json.encode(end))


def local_days(hour: int, minute: int, zone: ZoneInfo, after: float, until: float) -> list[float]:
    """When a daily job of that local time is due: once a day, and where the clock leaps over it, right then."""
    found = []
    day = datetime.fromtimestamp(after, zone).date() - timedelta(days=1)
    while day <= datetime.fromtimestamp(until, zone).date() + timedelta(days=1):
        moment = _moment(day, hour, minute, zone)
        if after < moment <= until:
            found.append(moment)
        day += timedelta(days=1)
    return found


def _moment(day: date, hour: int, minute: int, zone: ZoneInfo) -> float:
    wanted = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
    seconds = int(wanted.timestamp())
    if datetime.fromtimestamp(seconds, zone).replace(tzinfo=None) == wanted.replace(tzinfo=None):
        return float(seconds)
    before = int(datetime(day.year, day.month, day.day, 0, tzinfo=zone).timestamp())
    offset = datetime.fromtimestamp(before, zone).utcoffset()
    while datetime.fromtimestamp(before, zone).utcoffset() == offset:  # the minute at which the clock leaps
        before += 60
    return float(before)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    made = Ground(tmp_path / "state", datetime(2026, 10, 24, 6, 0, tzinfo=UTC).timestamp())
    yield made
    made.crash()


@pytest.fixture
def deadly(monkeypatch: pytest.MonkeyPatch) -> Deadly:
    return Deadly(monkeypatch)
