"""Cases that a model has to answer: champion and challenger do the same tasks again, as ordinary tasks.

Each version has a state folder of its own below replays/, driven by an ordinary engine: so limits, checks, retries and
what a kill leaves are those of any task. Only the ledger is the real one, where trials have a line of their own. A task
begins from the commit that it began from then; what reaches out (pages, servers, a person) is not there. What was
under way when a trial ended goes on with the next one, and what was paid is never paid twice.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from lumen_tui import __version__
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.driving import Driver, driving
from lumen_tui.engine.supervisor import workers
from lumen_tui.model import budget
from lumen_tui.model.acceptance import Verdict
from lumen_tui.model.config import NOWHERE, Config
from lumen_tui.model.digests import sha256
from lumen_tui.model.evals import CaseRun, EvalCase
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import TRIALS, EvolvedVersion
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.choose import targets
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.evolution import champions
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks import pauses, task_files
from lumen_tui.store.tasks.task_records import has_worker
from lumen_tui.tools.isolation import living, pool, shadows
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.worker.replay.run import NotReplayable, isolation_of
from lumen_tui.worker.task import CannotBegin, read_spec
from lumen_tui.worker.trial_account import Payer

_LOOK = 0.1  # seconds between two looks at what has ended
_AHEAD = 2  # tasks that wait in each folder besides those at work
_REASON = 200  # characters
_LINE = f"`[budget.roles.{TRIALS}]` in lumen.toml gives trials a line of their own"


class NoAnswer(Exception):
    """No further call gets an answer now: the line of trials is used up, or the server is; the text says which."""


def why_not(layout: Layout, config: Config, role: Role, environ: Mapping[str, str]) -> str:
    """Return why no model can be asked for trials of a role, or empty."""
    try:
        server = targets(config.models, role, Spec("tsk-trial", "", role=role.name), environ)[0].endpoint.name
    except ProviderError as error:
        return one_line(str(error), _REASON)
    if server in ("offline", "claude"):
        return f"no server of models is set (the provider is {server})"
    return "" if _line(layout, config).limit else f"trials have no budget: {_LINE}"


def _line(layout: Layout, config: Config) -> budget.Cap:
    book = Ledger(layout).refresh()
    return budget.role_cap(book, config.budget, budget.day_of(time.time(), config.budget.day_starts), TRIALS)


def room_words(layout: Layout, config: Config) -> str:
    """Return how much of today's line of trials is gone, in a sentence."""
    return f"They have a budget of their own: {_line(layout, config).words} today."


def models_digest(config: Config, role: Role) -> str:
    """Return a hash of what decides besides the edits when a model is asked; budgets, which may grow, are not of it."""
    parts = (config.models, config.sandbox, structs.replace(role, prompt=""), role.prompt, __version__)
    return sha256(msgspec.json.encode(parts, order="deterministic"))[:16]


def _without_none(table: dict[str, object]) -> dict[str, object]:
    """Return a table as TOML can hold it."""
    kept = {name: value for name, value in table.items() if value is not None}
    return {name: _without_none(value) if isinstance(value, dict) else value for name, value in kept.items()}


def outcome_of(ended: Exit) -> tuple[bool | None, str]:
    """Return whether a task was done, as its checks say; None, and why, where that tells nothing of the version."""
    verdict = ended.acceptance.verdict if ended.acceptance is not None else None
    if verdict in (Verdict.PROVED, Verdict.DISPROVED):
        return verdict is Verdict.PROVED, ""
    if ended.cap == TRIALS or ended.unanswered or ended.status in ("cancelled", "lost") or not ended.usage.tokens:
        return None, one_line(ended.reason or ended.status, _REASON)
    if ended.status == "done":
        return None, "its checks could not be run"
    return False, ""


class CaseFolder:
    """The state folder in which one version does its cases."""

    def __init__(self, real: Layout, config: Config, version: EvolvedVersion, rules: str) -> None:
        self._real, self._config, self._version, self._rules = real, config, version, rules
        self.name = f"{shadows.TRIAL}{sha256(f'{version.name} {rules}'.encode())[:16]}"
        self.layout = Layout(real.replays / self.name)

    def prepare(self) -> None:
        """Make it, or bring it up to date; what an earlier trial left goes on."""
        directories.make_folder(self._real.replays)
        self.layout.create()
        files.replace(self.layout.config, self._settings())
        payer = Payer(os.path.realpath(self._real.root), TRIALS, self.name)
        files.replace(self.layout.payer, msgspec.json.encode(payer))
        champions.install(self.layout, self._version)
        directories.remove(self.layout.pauses)
        for name in list(task_files.all_ids(self.layout)):
            self._take_up(name)

    def _settings(self) -> bytes:
        """Return its lumen.toml: the models and limits of the real one, and nothing that reaches out or learns."""
        import tomli_w

        config = self._config
        sandbox = structs.replace(config.sandbox, writable=(), hidden=(*config.sandbox.hidden, *self._hidden()))
        sections = {
            "models": config.models,
            "sandbox": sandbox,
            "workers": structs.replace(config.workers, isolate="", deaths=0),
            "approvals": config.approvals,
            "web": {"hosts": [NOWHERE]},
            "evolution": {"enabled": False},
            "budget": {"day_tokens": 0, "day_usd": 0.0},
        }
        return tomli_w.dumps(_without_none(msgspec.to_builtins(sections))).encode()

    def _hidden(self) -> Iterator[str]:
        """Yield what its workers do not read: all of the real state folder, and what the other version does."""
        root, replays = os.path.realpath(self._real.root), os.path.realpath(self._real.replays)
        yield from (os.path.join(root, name) for name in sorted(os.listdir(root)) if name != "replays")
        yield from (os.path.join(replays, name) for name in sorted(os.listdir(replays)) if name != self.name)

    def _take_up(self, name: str) -> None:
        """Have a task that ended without telling anything go on; one that was put away begins anew."""
        folder = task_files.folder_of(self.layout, name)
        ended = task_files.read_exit(folder) if folder is not None else None
        if folder is None or ended is None or outcome_of(ended)[0] is not None or has_worker(folder):
            return
        if folder != self.layout.task(name):
            pool.remove_tree(folder)
            return
        directories.remove(folder / "collected.json")
        if (folder / "run.json").exists():
            workers.keep_attempt(folder, ended.attempt)
        directories.remove(folder / "exit.json")

    def add(self, case: EvalCase) -> str:
        """Give it the task of a case; return why that cannot be, or empty. One that it has stays as it is."""
        folder = self.layout.task(case.task)
        if task_files.folder_of(self.layout, case.task) is not None and (folder / "spec.json").exists():
            return ""
        if task_files.folder_of(self.layout, case.task) not in (None, folder):
            return ""
        recorded = task_files.folder_of(self._real, case.task)
        if recorded is None:
            return "its task is gone"
        try:
            return self._add(case, recorded, folder)
        except (CannotBegin, NotReplayable, Unfit, files.StoreError, OSError) as error:
            return one_line(str(error), _REASON)

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

    def ended(self, case: EvalCase) -> Exit | None:
        """Return how its version's task of a case ended; None while that is under way."""
        folder = task_files.folder_of(self.layout, case.task)
        return task_files.read_exit(folder) if folder is not None else None

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

    def closed(self) -> str:
        """Return why the server of models answers nobody now, or empty."""
        return next((pause.words for pause in pauses.parts(self.layout).providers.values()), "")

    def answer_nobody(self, now: float) -> None:
        """Let whatever a worker asks a person be unanswered at once: nobody is asked in a trial."""
        for request in approvals.undecided(self.layout):
            approvals.expire(self.layout, request, now)


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
            self._tidy()
            for folder in self._folders:
                folder.prepare()
            self._waiting, self._under_way = list(wanted), []
            asyncio.run(self._drive())
        finally:
            os.close(lock)

    def _tidy(self) -> None:
        """Remove what trials of other versions left, unless a worker is at it still."""
        ours = [folder.name for folder in self._folders]
        for place in self._layout.replays.glob(f"{shadows.TRIAL}*"):
            at_work = any(has_worker(task) for task in Layout(place).tasks.glob("*/"))
            if place.name not in ours and not at_work:
                pool.remove_tree(place)

    async def _drive(self) -> None:
        first, second = (folder.layout.root for folder in self._folders)
        async with driving(first) as one, driving(second) as two:
            while self._waiting or self._under_way:
                self._collect()
                self._feed()
                _must_drive(one, two)
                if self._stopped():
                    return
                await asyncio.sleep(_LOOK)

    def _collect(self) -> None:
        """Note what has ended."""
        silent = ""
        for case, side in list(self._under_way):
            folder = self._folders[side]
            ended = folder.ended(case)
            if ended is not None:
                self._under_way.remove((case, side))
                self._note(case, folder.run_of(case, ended))
                silent = silent or (ended.reason if ended.cap == TRIALS or ended.unanswered else "")
        for folder in self._folders:
            folder.answer_nobody(time.time())
            silent = silent or folder.closed()
        if silent:
            raise NoAnswer(one_line(silent, _REASON))

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


def _must_drive(*drivers: Driver) -> None:
    """Raise ActionError where an engine of a trial has ended, or another process drives its folder."""
    for driver in drivers:
        if driver.running is None or driver.running.done():
            raise ActionError("the engine of the trial has ended: its engine.log says why; begin the trial again")
