"""Task folders as operators change them: created whole or not at all, read, edited while they wait."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.tasks import Exit, Run, Spec, Status, derive_status
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import config_errors
from lumen_tui.store.tasks.task_records import CLAIM_FILE, archived_folder, has_worker, parked_status, read_json


class Taken(Exception):
    """There is a task under this id already."""


class NotQueued(Exception):
    """The task has begun or ended."""


def id_for_key(key: str) -> str:
    """Return the task id for a creator's idempotency key: the same key gives the same task."""
    return f"tsk-{ids.short_hash(key)}"


def folder_of(layout: Layout, task_id: str) -> Path | None:
    """Return the folder of a task, live or archived; None where there is none."""
    live = layout.task(task_id)
    if live.is_dir():
        return live
    return archived_folder(layout.archive, task_id)


def all_ids(layout: Layout) -> Iterator[str]:
    """Yield the ids of all tasks, the live ones first."""
    for path in [*layout.tasks.glob("*"), *layout.archive.glob("*/*/*")]:
        if path.name[0] != "." and path != layout.archive and path.is_dir():
            yield path.name


def add(layout: Layout, spec: Spec) -> Spec:
    """Create tasks/<id>/spec.json: the folder appears with the spec in it, durably, or not at all.

    Taken where the id is in use, by an archived task too.
    """
    target = layout.task(spec.id)
    must_be_free(layout, spec.id)
    temporary = layout.tasks / f".{spec.id}.{os.urandom(6).hex()}.tmp"
    directories.make_folder(temporary)
    try:
        files.replace(temporary / "spec.json", _render(spec))
        directories.move(temporary, target)
    except files.NotWritten as error:
        _discard(temporary)
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise Taken(spec.id) from error
        raise
    return spec


def must_be_free(layout: Layout, task_id: str) -> None:
    """Raise Taken where the id is in use, by an archived task too."""
    if folder_of(layout, task_id):
        raise Taken(task_id)


def _render(spec: Spec) -> bytes:
    return msgspec.json.format(msgspec.json.encode(spec), indent=2) + b"\n"


def _discard(temporary: Path) -> None:
    for remove, path in ((os.unlink, temporary / "spec.json"), (os.rmdir, temporary)):
        try:
            remove(path)
        except OSError:
            pass  # the next start sweeps it


def read_spec(layout: Layout, task_id: str) -> Spec | None:
    """Return the spec of a live or archived task; None where there is no such task. BadFile where it is broken."""
    folder = folder_of(layout, task_id)
    data = files.read(folder / "spec.json") if folder else None
    return None if data is None else parse_spec(data)


def parse_spec(data: bytes) -> Spec:
    """Return a spec from its JSON; BadFile says what is wrong."""
    try:
        return msgspec.json.decode(data, type=Spec)
    except msgspec.ValidationError as error:
        raise BadFile(f"the spec cannot be read: {config_errors.in_words(error, Spec)}", 1) from error
    except UNDECODABLE as error:
        raise BadFile(f"the spec cannot be read: {error}", 1) from error


def parse_spec_fields(data: bytes) -> dict[str, object]:
    """Return the fields of a hand-written spec; BadFile where it is not one JSON object."""
    try:
        fields = msgspec.json.decode(data)
    except UNDECODABLE as error:
        raise BadFile(f"the spec is not JSON: {error}", 1) from error
    if not isinstance(fields, dict):
        raise BadFile("the spec must be one JSON object", 1)
    return fields


def read_exit(folder: Path) -> Exit | None:
    """Return how the task in `folder` ended; None where it has not, or where that cannot be read."""
    return read_json(folder / "exit.json", Exit)


def status_of(folder: Path) -> Status:
    """Return the status by the evidence in the folder; silence is not considered."""
    held = has_worker(folder)
    ended, run = read_exit(folder), read_json(folder / "run.json", Run)
    claim = read_json(folder / CLAIM_FILE, Exit)
    return derive_status(
        exit_status=ended.status if ended else "",
        ran=(folder / "run.json").exists(),
        lock_held=held,
        claimed=claim is not None and run is not None and claim.attempt == run.attempt,
        parked=parked_status(folder, run.attempt) if run is not None else None,
    )


def _withdrawn(layout: Layout, task_id: str) -> Path:
    return layout.tasks / ".withdrawn" / ids.check_name(task_id, "task id")


def withdraw(layout: Layout, task_id: str) -> bool:
    """Withdraw a task that still waits from every list; return whether it did. Its folder is kept.

    The worker's own lock is held meanwhile, so that no worker starts.
    """
    folder = layout.task(ids.check_name(task_id, "task id"))
    lock = locks.try_lock(folder / "run.lock") if folder.is_dir() else None
    if lock is None:
        return False
    try:
        if (folder / "run.json").exists() or (folder / "exit.json").exists():
            return False
        directories.make_folder(layout.tasks / ".withdrawn")
        directories.move(folder, _withdrawn(layout, task_id))
    finally:
        os.close(lock)
    return True


def bring_back(layout: Layout, task_id: str) -> bool:
    """Restore a withdrawn task; return False where there is none."""
    folder = _withdrawn(layout, task_id)
    if not folder.is_dir():
        return False
    directories.move(folder, layout.task(task_id))
    return True


def unarchive(layout: Layout, target: str) -> None:
    """Move a failed or lost task, archived because somebody had dealt with it, back to the live ones, if it is there.

    `target` may name anything that needs a person.
    """
    if not target.startswith("tsk-"):
        return
    folder = folder_of(layout, ids.check_name(target, "task id"))
    live = layout.task(target)
    if folder is None or folder == live or status_of(folder) not in (Status.FAILED, Status.LOST):
        return
    try:
        directories.move(folder, live)
    except files.StoreError:
        if not live.is_dir():  # else another was quicker
            raise


def edit_begun(layout: Layout, spec: Spec, before: Spec) -> None:
    """Replace the spec `before` by `spec` of a task that has begun and not ended. NotQueued where it ended or changed.

    Its worker reads the limits in it before each request.
    """
    folder = layout.task(ids.check_name(spec.id, "task id"))
    with locks.waiting_lock(layout.lock("limits")):
        if (folder / "exit.json").exists() or read_spec(layout, spec.id) != before:
            raise NotQueued(spec.id)
        files.replace(folder / "spec.json", _render(spec))


def edit_queued(layout: Layout, spec: Spec, before: Spec) -> None:
    """Replace the spec `before` by `spec` while the task still waits. NotQueued where it began or changed meanwhile.

    The worker's own lock is held meanwhile, so that no worker starts on half a change.
    """
    folder = layout.task(ids.check_name(spec.id, "task id"))
    lock = locks.try_lock(folder / "run.lock")
    if lock is None:
        raise NotQueued(spec.id)
    try:
        begun = (folder / "run.json").exists() or (folder / "exit.json").exists()
        if begun or read_spec(layout, spec.id) != before:
            raise NotQueued(spec.id)
        files.replace(folder / "spec.json", _render(spec))
    finally:
        os.close(lock)
