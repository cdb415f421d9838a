"""Cases that a model has to answer: champion and challenger do the same tasks again, as ordinary tasks.

Each version has a state folder of its own (`trialfolder`): so limits, checks, retries and what a kill leaves are those
of any task. A task begins from the commit that it began from then. What was under way when a trial ended goes on with
the next one, and what was paid is never paid twice.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from lumen_tui import __version__
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.driving import driving
from lumen_tui.engine.evolution.trialfolder import LOOK, REASON, NoAnswer, TrialFolder, must_drive, tidy, told_nothing
from lumen_tui.model.acceptance import Verdict
from lumen_tui.model.config import Config
from lumen_tui.model.digests import sha256
from lumen_tui.model.evals import CaseRun, EvalCase
from lumen_tui.model.evolved_edits import EvolvedVersion
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import TRIALS
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import champions
from lumen_tui.store.tasks import task_files
from lumen_tui.tools.isolation import living, pool, shadows
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.worker.replay.run import NotReplayable, isolation_of
from lumen_tui.worker.task import CannotBegin, read_spec

_AHEAD = 2  # tasks that wait in each folder besides those at work


def models_digest(config: Config, role: Role) -> str:
    """Return a hash of what decides besides the edits when a model is asked; budgets, which may grow, are not of it."""
    parts = (config.models, config.sandbox, structs.replace(role, prompt=""), role.prompt, __version__)
    return sha256(msgspec.json.encode(parts, order="deterministic"))[:16]


def outcome_of(ended: Exit) -> tuple[bool | None, str]:
    """Return whether a task was done, as its checks say; None, and why, where that tells nothing of the version.

    Checks that hold after the task changed what they go by show nothing but that.
    """
    accepted = ended.acceptance
    if accepted is not None and accepted.verdict in (Verdict.PROVED, Verdict.DISPROVED):
        gamed = any(result.changed for result in accepted.results)
        return accepted.verdict is Verdict.PROVED and not gamed, "it changed what its checks go by" if gamed else ""
    if told_nothing(ended):
        return None, one_line(ended.reason or ended.status, REASON)
    if ended.status == "done":
        return None, "its checks could not be run"
    return False, ""


class CaseFolder(TrialFolder):
    """The state folder in which one version does its cases."""

    def __init__(self, real: Layout, config: Config, version: EvolvedVersion, rules: str) -> None:
        super().__init__(real, config, f"{shadows.TRIAL}{sha256(f'{version.name} {rules}'.encode())[:16]}")
        self._version, self._rules = version, rules

    def prepare(self) -> None:
        """Make it, or bring it up to date; what an earlier trial left goes on."""
        self.make()
        champions.install(self.layout, self._version)
        for name in list(task_files.all_ids(self.layout)):
            self.take_up(name)

    def add(self, case: EvalCase) -> str:
        """Give it the task of a case; return why that cannot be, or empty. One that it has stays as it is."""
        folder = self.layout.task(case.task)
        if task_files.folder_of(self.layout, case.task) is not None and (folder / "spec.json").exists():
            return ""
        if task_files.folder_of(self.layout, case.task) not in (None, folder):
            return ""
        recorded = task_files.folder_of(self.real, case.task)
        if recorded is None:
            return "its task is gone"
        try:
            return self._add(case, recorded, folder)
        except (CannotBegin, NotReplayable, Unfit, files.StoreError, OSError) as error:
            return one_line(str(error), REASON)

    def _add(self, case: EvalCase, recorded: Path, folder: Path) -> str:
        spec = read_spec(recorded)
        isolation = isolation_of(recorded)
        if not spec.accept:
            return "its task has no checks"
        if spec.folder and (isolation is None or isolation.kind != "worktree"):
            return "its task changed a folder of which nobody knows what it was before"
        pool.remove_tree(folder)
        directories.make_folder(folder)
        if isolation is not None:
            source = os.path.join(isolation.top, isolation.below)
            path = os.environ.get("PATH", os.defpath)
            living.take_again(living.IsolationRequest(self.layout, folder, "worktree", source, (), path), isolation)
        again = Spec(
            spec.id,
            spec.objective,
            spec.role,
            model=spec.model,
            context=spec.context,
            folder=spec.folder if isolation is not None else "",
            constraints=spec.constraints,
            accept=spec.accept,
            isolate="worktree" if isolation is not None else "",
            timeout_seconds=spec.timeout_seconds,
            steps=spec.steps,
            budget=spec.budget,
            created_by=spec.created_by,
            created_at=spec.created_at,
            order=spec.order,
        )
        files.replace(folder / "spec.json", msgspec.json.encode(again))
        return ""

    def run_of(self, case: EvalCase, ended: Exit) -> CaseRun:
        """Return what its version did at a case."""
        passed, reason = outcome_of(ended)
        used = ended.usage
        return CaseRun(
            case.digest, self._version.name, passed, 0, reason, self._rules, tokens=used.weight, usd=used.usd
        )

    def unfit(self, case: EvalCase, reason: str) -> CaseRun:
        """Return that a case cannot be done again, and why."""
        return CaseRun(case.digest, self._version.name, None, 0, reason, self._rules)


Wanted = tuple[EvalCase, int]  # a case, and which version has to do it: 0 the champion, 1 the challenger


class ModelRuns:
    """What is asked of both versions. `note` is called with each run that is new; `stopped` ends it."""

    def __init__(
        self,
        layout: Layout,
        config: Config,
        folders: tuple[CaseFolder, CaseFolder],
        *,
        note: Callable[[EvalCase, CaseRun], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._layout, self._config, self._folders = layout, config, folders
        self._note, self._stopped = note, stopped
        self._waiting: list[Wanted] = []
        self._under_way: list[Wanted] = []

    def do(self, wanted: Sequence[Wanted]) -> None:
        """Have it done. Return early where `stopped` says so: what is under way ends by itself, and counts next time.

        Raise NoAnswer, and ActionError where another trial asks a model, or no engine can drive this one.
        """
        if not wanted:
            return
        lock = locks.try_lock(self._layout.trial_lock)
        if lock is None:
            raise ActionError("another trial asks a model now: wait for its end, or stop it")
        try:
            tidy(self._layout, *(folder.name for folder in self._folders))
            for folder in self._folders:
                folder.prepare()
            self._waiting, self._under_way = list(wanted), []
            asyncio.run(self._drive())
        finally:
            os.close(lock)

    async def _drive(self) -> None:
        first, second = (folder.root for folder in self._folders)
        async with driving(first) as one, driving(second) as two:
            while self._waiting or self._under_way:
                self._collect()
                self._feed()
                must_drive(one, two)
                if self._stopped():
                    return
                await asyncio.sleep(LOOK)

    def _collect(self) -> None:
        """Note what has ended."""
        silent = ""
        for case, side in list(self._under_way):
            folder = self._folders[side]
            ended = folder.ended(case.task)
            if ended is not None:
                self._under_way.remove((case, side))
                self._note(case, folder.run_of(case, ended))
                silent = silent or (ended.reason if ended.cap == TRIALS or ended.unanswered else "")
        for folder in self._folders:
            folder.answer_nobody(time.time())
            silent = silent or folder.closed()
        if silent:
            raise NoAnswer(one_line(silent, REASON))

    def _feed(self) -> None:
        """Give each folder as many tasks as it can soon begin: none of the others takes room yet."""
        most = self._config.workers.limit + _AHEAD
        for case, side in list(self._waiting):
            if sum(of == side for _, of in self._under_way) >= most:
                continue
            self._waiting.remove((case, side))
            if reason := self._folders[side].add(case):
                self._note(case, self._folders[side].unfit(case, reason))
            else:
                self._under_way.append((case, side))
