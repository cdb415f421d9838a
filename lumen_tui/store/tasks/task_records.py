"""The files of one task: read, made safe, turned into what an operator sees, and written by others than its worker.

Its worker notes in begun.json the first call that must not be repeated automatically, right before it: a change, or
what a person allowed once. So a task without that note can be retried whatever its role may do. Where a worker did not
keep such notes it is unknown, and counts as begun.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from lumen_tui.model import ids, times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import Pause
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Exit, Parked, Run, Spec, Status, StopRequest, TaskEvent, TaskView, TaskWait, Usage
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.times import iso
from lumen_tui.storage import backwards, files, locks
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.process import ProcessId

STOP_FILE = "stop.json"
CLAIM_FILE = "claim.json"
PARKED_FILE = "parked.json"
TAIL_EVENTS = 12
_TAIL_BYTES = 8192
_SHOWN_EVENTS = 2000
_SHOWN_BYTES = 1024 * 1024
_MAX_SPEC = 1024 * 1024
_YOUNG = 2.0  # seconds within which two changes may give a folder the same stamp
_ID = lazy_re(ids.NAME).fullmatch
_T = TypeVar("_T")
_BEGUN, _PUT_BACK, _WAIT = "begun.json", "put-back.json", "wait.json"


class DamagedTask(Exception):
    """A task folder has a spec that cannot be used."""


def read_json(path: Path, kind: type[_T]) -> _T | None:
    """Read the record in a JSON file, every text in it made safe; None where it is missing, damaged, or not readable.

    OSError where the system failed: that must not be taken for a missing file.
    """
    try:
        data = files.read(path, _MAX_SPEC)
        return None if data is None else decode_safe(data, kind)
    except (*UNDECODABLE, files.Refused, PermissionError):
        return None


def read_spec(folder: Path) -> Spec:
    """Return the spec of a task folder. DamagedTask says what is wrong with it."""
    data = files.read(folder / "spec.json", _MAX_SPEC)
    if data is None:
        raise DamagedTask("spec.json is missing")
    try:
        spec = decode_safe(data, Spec)
    except UNDECODABLE as error:
        line = data[: _error_position(error)].count(b"\n") + 1
        raise DamagedTask(f"line {line}: {error}") from error
    if spec.id != folder.name:
        raise DamagedTask(f"the spec names task {spec.id!r}, the folder {folder.name!r}")
    return spec


def _error_position(error: Exception) -> int:
    digits = str(error).rpartition("(byte ")[2].rstrip(")")
    return int(digits) if digits.isdigit() else 0


def newest_events(folder: Path) -> tuple[TaskEvent, ...]:
    """Return as many of the last events of a task as are shown of one that is looked at, as `tail_events` does."""
    return tail_events(folder, _SHOWN_EVENTS, _SHOWN_BYTES)


def tail_events(folder: Path, count: int = TAIL_EVENTS, size: int = _TAIL_BYTES) -> tuple[TaskEvent, ...]:
    """Return the last events of a task, made safe; damaged lines are skipped, and unreadable files are empty."""
    try:
        data = backwards.read_tail(folder / "events.jsonl", size)
    except (files.Refused, PermissionError):
        return ()
    events = []
    for _, line in split_lines(data, 0):
        try:
            events.append(decode_safe(line, TaskEvent))
        except UNDECODABLE:
            continue
    return tuple(events[-count:])


class TaskFiles:
    """What is known of one live task, and the evidence it was read from."""

    def __init__(self, folder: Path, spec: Spec) -> None:
        self.folder = folder
        self.spec = spec
        self.stamp: tuple[int, int] = (0, 0)  # of the folder and of spec.json
        self.fresh = True  # whether the stamp is too recent to tell two changes apart
        self.events_size = -1
        self.run: Run | None = None
        self.exit: Exit | None = None
        self.claim: Exit | None = None
        self.hold: Pause | None = None
        self.tail: tuple[TaskEvent, ...] = ()
        self.last_event = 0.0
        self.heard = 0.0  # running time at which its last event was seen
        self.view: TaskView | None = None
        self._created: tuple[str, float] = ("", 0.0)

    @property
    def started(self) -> float:
        """When the present attempt began, in seconds since 1970; 0 where none did."""
        return times.epoch(self.run.started_at) if self.run else 0.0

    @property
    def claimed(self) -> bool:
        """Whether the worker of the present attempt calls it done, and its checks have not been run."""
        return self.claim is not None and self.run is not None and self.claim.attempt == self.run.attempt

    @property
    def created(self) -> float:
        """When the task was made, in seconds since 1970."""
        if self._created[0] != self.spec.created_at:
            self._created = (self.spec.created_at, times.epoch(self.spec.created_at))
        return self._created[1]

    @property
    def leader(self) -> ProcessId:
        """The worker's process as run.json names it; pid 0 where it names none."""
        run = self.run
        return ProcessId(run.pid, run.start_ticks, run.boot_id) if run else ProcessId(0, 0, "")


def make_view(task: TaskFiles, status: Status, *, archived: bool = False, reason: str = "") -> TaskView:
    """Return the task as the operator sees it; `reason` explains the status of one that has not ended."""
    ended = task.exit
    run = task.run
    return TaskView(
        spec=task.spec,
        status=status,
        attempt=run.attempt if run else 0,
        started=task.started,
        finished=times.epoch(ended.finished_at) if ended else 0.0,
        last_event=task.last_event,
        pid=run.pid if run and status.alive else 0,
        reason=safe(ended.reason) if ended else reason,
        usage=ended.usage if ended else Usage(),
        brain=safe(ended.brain) if ended else "",
        tail=task.tail,
        archived=archived,
        claimed=task.claimed and ended is None,
        acceptance=ended.acceptance if ended else None,
        cap=ended.cap if ended else "",
        host=one_line(run.host, 64) if run else "",
    )


def task_names(folder: Path) -> set[str]:
    """Return the task ids among the folders in `folder`; links are not followed. May raise PermissionError."""
    try:
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if _ID(entry.name) and entry.name != "archive"]
            return {entry.name for entry in named if entry.is_dir(follow_symlinks=False)}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def archive_months(archive: Path) -> list[tuple[str, Path, int]]:
    """Return (YYYY/MM, its folder, its stamp) of each month, oldest first; links and files are not followed."""
    months = []
    for year, _ in _numbered(str(archive), 4):
        for month, stamp in _numbered(year, 2):
            months.append((month[len(year) - 4 :], Path(month), stamp))
    return sorted(months)


def _numbered(parent: str, digits: int) -> list[tuple[str, int]]:
    """Return the folders in `parent` whose names are numbers of so many digits, with their stamps."""
    try:
        with os.scandir(parent) as entries:
            named = [entry for entry in entries if len(entry.name) == digits and entry.name.isdigit()]
            return [(entry.path, entry.stat().st_mtime_ns) for entry in named if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def archived_folder(archive: Path, task_id: str) -> Path | None:
    """Return the folder of an archived task; None where it is not archived.

    Looked up by name in each month, as pathlib caches every pattern, and so each id in it.
    """
    paths = (month / task_id for _, month, _ in reversed(archive_months(archive)))
    return next((path for path in paths if os.path.isdir(path)), None)


def settled(stamp: int, now: float) -> int:
    """Return the stamp of a folder; 0 where it is so recent that another change may have the same."""
    return 0 if 0 <= now - stamp / 1e9 < _YOUNG else stamp


def exit_stamp(folder: Path) -> int:
    """Return a stamp that changes when a task ends; 0 while it has not."""
    try:
        return os.stat(folder / "exit.json").st_mtime_ns
    except OSError:
        return 0


def has_worker(folder: Path) -> bool:
    """Return whether a worker is at the task: it holds the lock for as long as it lives."""
    return locks.is_locked(folder / "run.lock")


class FirstUnrepeatableCall(Struct, frozen=True):
    """tasks/<id>/begun.json: the first call that must not be repeated."""

    at: str
    attempt: int
    tool: str


def note_unrepeatable_call(folder: Path, attempt: int, tool: str, now: float) -> None:
    """Note that such a call begins now. StoreError where that cannot be written: make no call then."""
    if not has_unrepeatable_call(folder):
        files.replace(folder / _BEGUN, msgspec.json.encode(FirstUnrepeatableCall(iso(now), attempt, tool)))


def has_unrepeatable_call(folder: Path) -> bool:
    """Return whether any attempt noted such a call."""
    return os.path.lexists(folder / _BEGUN)


def nothing_begun(folder: Path, attempt: int) -> bool:
    """Return whether no attempt up to this one began such a call."""
    if has_unrepeatable_call(folder):
        return False
    runs = (read_run(folder, number) for number in range(1, attempt + 1))
    return all(run is not None and run.notes_begun for run in runs)


def repeatable(role: Role, folder: Path, attempt: int) -> bool:
    """Return whether a task may run twice: its role changes nothing, or it has changed nothing yet."""
    if not role.write and role.shell != "any":
        return not has_unrepeatable_call(folder)  # a command that ran without a sandbox may have changed something
    return nothing_begun(folder, attempt)


class _PutBack(Struct, frozen=True):
    """tasks/<id>/put-back.json: the worker of this attempt ended, and the task goes back to the queue."""

    attempt: int
    reason: str = ""


def put_back(folder: Path, attempt: int, reason: str) -> None:
    """Have the task go back to the queue, once its worker has ended: its model could not be asked."""
    files.replace(folder / _PUT_BACK, msgspec.json.encode(_PutBack(attempt, reason)))


def why_put_back(folder: Path, attempt: int) -> str | None:
    """Return why the worker of an attempt gave the task back to the queue; None where it did not."""
    record = read_json(folder / _PUT_BACK, _PutBack)
    return record.reason if record is not None and record.attempt == attempt else None


def read_run(folder: Path, attempt: int) -> Run | None:
    """Return the record of an attempt: the present one's, or that of an earlier one."""
    present = read_json(folder / "run.json", Run)
    if present is not None and present.attempt == attempt:
        return present
    return read_json(folder / f"run.{attempt}.json", Run)


def identity(run: Run) -> ProcessId:
    """Return the process that a run names."""
    return ProcessId(pid=run.pid, start_ticks=run.start_ticks, boot_id=run.boot_id)


def write_exit(folder: Path, task_id: str, status: str, reason: str, *, attempt: int, now: float) -> None:
    """Write the exit of a task that has no worker to do it; what its worker claimed before stays in it."""
    claim = read_json(folder / CLAIM_FILE, Exit) or Exit(task_id=task_id, status=status, finished_at="")
    record = msgspec.structs.replace(
        claim, task_id=task_id, status=status, reason=reason, attempt=attempt, finished_at=iso(now)
    )
    files.replace(folder / "exit.json", msgspec.json.encode(record))


def read_parked(folder: Path, attempt: int = 0) -> Parked | None:
    """Return where the worker of a task has parked it; with `attempt` only if it was that one."""
    parked = read_json(folder / PARKED_FILE, Parked)
    return parked if parked is not None and attempt in (0, parked.attempt) else None


def read_wait(folder: Path, wait_id: str) -> TaskWait | None:
    """Return the wait of that id for tasks that this one ordered; None where it waits for something else."""
    wait = read_json(folder / _WAIT, TaskWait)
    return wait if wait is not None and wait.id == wait_id else None


def write_wait(folder: Path, wait: TaskWait) -> None:
    """Record for which tasks a task waits, before it is parked."""
    files.replace(folder / _WAIT, msgspec.json.encode(wait))


def parked_status(folder: Path, attempt: int) -> Status | None:
    """Return as what a task counts whose worker of that attempt has parked it; None where it has not."""
    parked = read_parked(folder, attempt)
    if parked is None:
        return None
    return Status.ASKING if read_wait(folder, parked.question) is None else Status.AWAITING


def ask_to_stop(folder: Path, request: StopRequest) -> None:
    """Ask the worker of a task to end."""
    files.replace(folder / STOP_FILE, msgspec.json.encode(request))


def read_stop(folder: Path) -> StopRequest | None:
    """Return what the worker of a task was asked; None if it was not, or the record cannot be read."""
    return read_json(folder / STOP_FILE, StopRequest)
