"""A task that is over, taken up again from one of its steps with another role, model or prompt, beside what it did.

Its calls up to there are made again in a worktree of the commit that it began from, its conversation is cut there, and
an ordinary worker goes on. Nothing of the real folders is changed, and what it costs is paid from the line of trials.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.driving import driving
from lumen_tui.engine.evolution.casemaking import surroundings
from lumen_tui.engine.evolution.trialfolder import (
    LOOK,
    NoAnswer,
    TrialFolder,
    must_drive,
    tidy,
    told_nothing,
    why_not,
)
from lumen_tui.model.config import Config
from lumen_tui.model.digests import sha256
from lumen_tui.model.forks import EndOfTask, ForkReport
from lumen_tui.model.replay import ShadowBase
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.text import one_line, safe
from lumen_tui.providers.choose import choose_provider
from lumen_tui.providers.conversation.steps import Answer, CallEnded, GoesOn, Head, Record, Summary
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution.abtests import with_edits
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role, render_role
from lumen_tui.store.tasks import change_records, task_files
from lumen_tui.tools.agent import report
from lumen_tui.tools.isolation import living, shadows
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.worker import steps
from lumen_tui.worker.replay import recorded
from lumen_tui.worker.replay.run import NotReplayable, made_again
from lumen_tui.worker.replay.shadow import PathMap, Shadow
from lumen_tui.worker.task import CannotBegin, read_spec, role_of

_PLACE = "state"  # of the state folder in that of the fork, as a shadow has it
_RESULT = 4_000  # characters
_AGAIN = "the same command goes on from there"


class ForkOrder(Struct, frozen=True):
    """What is asked for. Empty: as the task had it; `text` is added to the end of the role's prompt."""

    task: str
    at: int
    role: str = ""
    model: str = ""
    text: str = ""


class _Original(Struct, frozen=True):
    """What is on record of the task: its folder, what it was, its conversation from the last beginning on."""

    folder: Path
    spec: Spec
    ended: Exit
    records: tuple[Record, ...]
    calls: int
    before: int  # of these in conversations before that one


def fork(store: Store, order: ForkOrder, stopped: Callable[[], bool] = bool) -> ForkReport:
    """Take a task up again and see it to its end. ActionError where that cannot be, or no model answers."""
    layout = store.layout
    config = load_config(layout)[0]
    original = _original(layout, order)
    role = _role_of(layout, order, original.spec)
    spec = structs.replace(original.spec, role=role.name, model=order.model or original.spec.model)
    if reason := why_not(layout, config, role, os.environ, spec.model) or _other_kind(config, role, spec, original):
        raise ActionError(f"it cannot go on: {reason}")
    name = f"{shadows.TRIAL}{sha256(msgspec.json.encode((order, render_role(role))))[:16]}"
    folder = TrialFolder(layout, config, name, _PLACE)
    lock = locks.try_lock(layout.trial_lock)
    if lock is None:
        raise ActionError("a trial asks a model now: wait for its end, or stop it")
    try:
        tidy(layout, name)
        at = _prepare(store, folder, original, order, spec, role)
        if not asyncio.run(_drive(folder, spec.id, stopped)):
            raise ActionError(f"the fork was stopped: {_AGAIN}")
    except (NotReplayable, Unfit, OSError) as error:
        raise ActionError(f"it cannot go on: {error}") from error
    except NoAnswer as error:
        raise ActionError(f"{error}: {_AGAIN}") from error
    finally:
        os.close(lock)
    return _report(folder, original, spec, at)


def _original(layout: Layout, order: ForkOrder) -> _Original:
    """Return what is on record. ActionError where there is too little to go on from."""
    folder = task_files.folder_of(layout, order.task)
    ended = task_files.read_exit(folder) if folder is not None else None
    if folder is None or ended is None:
        raise ActionError(f"{order.task} is not over: a fork is of a task that has ended", missing=folder is None)
    try:
        spec = read_spec(folder)
    except CannotBegin as error:
        raise ActionError(str(error)) from error
    records = steps.recorded(folder)
    calls = sum(len(attempt.calls) for attempt in recorded.read(layout, folder, spec).attempts)
    before = max(0, calls - _calls_of(records))
    if not records or not before <= order.at <= calls:
        first = f"{before} to {calls:,}" if records else "none: there is no record of its conversation"
        raise ActionError(f"--at {order.at}: steps from which {order.task} can go on: {first}")
    return _Original(folder, spec, ended, records, calls, before)


def _calls_of(records: Iterable[Record]) -> int:
    return sum(len(record.turn.calls) for record in records if isinstance(record, Answer))


def _role_of(layout: Layout, order: ForkOrder, spec: Spec) -> Role:
    """Return the role with which it goes on: without what reaches out, and with the text that is added."""
    name = order.role or spec.role
    try:
        role = with_edits(layout, load_role(layout, name), spec.id)
    except (OSError, ValueError) as error:
        raise ActionError(f"role {one_line(name, 80)} cannot be used: {error}") from error
    prompt = "\n\n".join(filter(None, [role.prompt.rstrip(), order.text.strip()]))
    return structs.replace(
        role, prompt=prompt, network=False, command_hosts=(), mcp=(), custom_tools=(), writable=(), source="hired"
    )


def _other_kind(config: Config, role: Role, spec: Spec, original: _Original) -> str:
    """Return why a conversation of one kind of back end is none for another, or empty."""
    provider = type(choose_provider(config.models, role, spec, os.environ)).__name__
    (head, *_) = original.records
    was = head.provider if isinstance(head, Head) else ""
    return "" if provider == was else "its conversation is that of another kind of back end"


def _prepare(store: Store, folder: TrialFolder, original: _Original, order: ForkOrder, spec: Spec, role: Role) -> int:
    """Make the folder in which it goes on, unless a kill left it; return after which call that is."""
    kept, at = cut(original.records, order.at - original.before)
    if folder.has(spec.id):
        folder.take_up(spec.id)
    if not folder.has(spec.id):
        shadow = made_again(store, spec.id, original.before + at, folder.emptied(), surroundings())
        spec = _placed(store, original, spec, shadow)
        task = folder.layout.task(spec.id)
        directories.remove(task / "spec.json")
        head = Head(spec.id, steps.about(spec), 1, _provider(original))
        records = [head, *(record for record in kept if not isinstance(record, Head | GoesOn))]
        if at:
            files.replace(task / steps.NAME, b"".join(_moved(record, shadow.paths) for record in records))
        files.replace(folder.layout.role(role.name), render_role(role).encode())
        files.replace(task / "spec.json", msgspec.json.encode(_alone(spec)))
    folder.make()
    return original.before + at


def _provider(original: _Original) -> str:
    head = original.records[0]
    return head.provider if isinstance(head, Head) else ""


def _placed(store: Store, original: _Original, spec: Spec, shadow: Shadow) -> Spec:
    """Return the spec as it is in the shadow.

    Raise NotReplayable where the task changed a folder of which nobody knows what it was before.
    """
    if shadow.base is ShadowBase.COMMIT:
        return spec
    role = role_of(store, original.spec, os.environ)
    if spec.folder and role.changes_files:
        why = "it changed a folder of which nobody knows what it was at that step"
        raise NotReplayable(f"{why}; a task with `--isolate worktree` can be forked")
    return structs.replace(spec, folder=shadow.paths.path(spec.folder))


def cut(records: Sequence[Record], calls: int) -> tuple[list[Record], int]:
    """Return a conversation up to the answer behind which so many calls had ended, and how many those are.

    Several calls of one answer belong together: it is cut before them.
    """
    kept: list[Record] = []
    done = 0
    for record in records:
        if isinstance(record, Answer) and (done + len(record.turn.calls) > calls or done == calls):
            break
        kept.append(structs.replace(record, key="", day="") if isinstance(record, Answer | Summary) else record)
        done += isinstance(record, CallEnded)
    return kept, done


def _moved(record: Record, paths: PathMap) -> bytes:
    """Return the line of a record, with the paths as they are in the fork."""
    return msgspec.json.encode(_with_paths(msgspec.to_builtins(record), paths)) + b"\n"


def _with_paths(value: object, paths: PathMap) -> object:
    if isinstance(value, str):
        return paths.there(value)
    if isinstance(value, dict):
        return {_with_paths(name, paths): _with_paths(part, paths) for name, part in value.items()}
    return [_with_paths(part, paths) for part in value] if isinstance(value, list | tuple) else value


def _alone(spec: Spec) -> Spec:
    """Return a spec without what ties it to other tasks, units and hosts."""
    return structs.replace(
        spec, wu_id="", lane="", depends_on=(), host="", retry_of="", parent="", key="", roots=(), kept=()
    )


async def _drive(folder: TrialFolder, task_id: str, stopped: Callable[[], bool]) -> bool:
    """See the task to its end; return whether it came to one. Raise NoAnswer."""
    async with driving(folder.root) as driver:
        while not _is_over(folder, task_id):
            folder.answer_nobody(time.time())
            if closed := folder.closed():
                raise NoAnswer(closed)
            must_drive(driver)
            if stopped():
                return False
            await asyncio.sleep(LOOK)
    ended = folder.ended(task_id)
    if ended is None or told_nothing(ended):
        raise NoAnswer(one_line(ended.reason, 200) if ended is not None else "it did not end")
    return True


def _is_over(folder: TrialFolder, task_id: str) -> bool:
    """Return whether it has ended, and what it changed is on record."""
    place = task_files.folder_of(folder.layout, task_id)
    return folder.ended(task_id) is not None and place is not None and living.is_settled(place)


def _report(folder: TrialFolder, original: _Original, spec: Spec, at: int) -> ForkReport:
    place = task_files.folder_of(folder.layout, spec.id)
    ended = folder.ended(spec.id)
    if place is None or ended is None:
        raise ActionError("what the fork did is gone")
    calls = original.before + _calls_of(steps.recorded(place))
    return ForkReport(
        spec.id,
        at,
        _end(original.folder, original.spec.role, original.ended, original.calls),
        _end(place, spec.role, ended, calls),
        str(place),
    )


def _end(folder: Path, role: str, ended: Exit, calls: int) -> EndOfTask:
    changes = change_records.read_list(folder)
    names = tuple(safe(change.path) for change in changes.files) if changes is not None else ()
    text = (files.read(folder / report.RESULT) or b"").decode(errors="replace")
    return EndOfTask(role, ended, calls, names, safe(text).strip()[:_RESULT])
