"""A state folder below replays/ in which an ordinary engine has ordinary workers do tasks again, and nothing else.

It has the models, limits and sandbox of the real one, and nothing that reaches out or learns: no pages, no servers, no
person. Its workers read nothing of the real state folder, nor of another trial. The ledger is the real one, where
trials have a line of their own; the kill switch is, too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import structs

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.driving import Driver
from lumen_tui.engine.supervisor import workers
from lumen_tui.model import budget
from lumen_tui.model.acceptance import Verdict
from lumen_tui.model.config import NOWHERE, Config
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import TRIALS
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.choose import targets
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks import pauses, task_files
from lumen_tui.store.tasks.task_records import has_worker
from lumen_tui.tools.isolation import pool, shadows
from lumen_tui.worker.trial_account import Payer

LOOK = 0.1  # seconds between two looks at what has ended
EXITING = 5.0  # seconds that a worker may take from its last record to its end
REASON = 200  # characters
_LINE = f"`[budget.roles.{TRIALS}]` in lumen.toml gives trials a line of their own"


class NoAnswer(Exception):
    """No further call gets an answer now: the line of trials is used up, or the server is; the text says which."""


def why_not(layout: Layout, config: Config, role: Role, environ: Mapping[str, str], model: str = "") -> str:
    """Return why no model can be asked for trials of a role, or empty. `model`: what its task names, if it does."""
    try:
        spec = Spec("tsk-trial", "", role=role.name, model=model)
        server = targets(config.models, role, spec, environ)[0].endpoint.name
    except ProviderError as error:
        return one_line(str(error), REASON)
    if server in ("offline", "claude"):
        return f"no server of models is set (the provider is {server})"
    return "" if line_of(layout, config).limit else f"trials have no budget: {_LINE}"


def line_of(layout: Layout, config: Config) -> budget.Cap:
    """Return today's line of trials."""
    book = Ledger(layout).refresh()
    return budget.role_cap(book, config.budget, budget.day_of(time.time(), config.budget.day_starts), TRIALS)


def room_words(layout: Layout, config: Config) -> str:
    """Return how much of today's line of trials is gone, in a sentence."""
    return f"They have a budget of their own: {line_of(layout, config).words} today."


def told_nothing(ended: Exit) -> bool:
    """Return whether the end of a task says nothing of how it is done: it was cut off, or no model answered."""
    verdict = ended.acceptance.verdict if ended.acceptance is not None else None
    if ended.status == "done" or verdict is Verdict.DISPROVED:
        return False
    cut_off = ended.cap == TRIALS or ended.unanswered or ended.status in ("cancelled", "lost")
    return cut_off or not ended.usage.tokens


class TrialFolder:
    """One such state folder. `name` is that of its folder below replays/."""

    def __init__(self, real: Layout, config: Config, name: str, place: str = "") -> None:
        """`place` is where in that folder the state folder itself is, if not at its top."""
        self.real, self._config, self.name = real, config, name
        self.layout = Layout(real.replays / name / place)

    @property
    def root(self) -> Path:
        """The state folder itself."""
        return self.layout.root

    def has(self, task_id: str) -> bool:
        """Return whether it was made to the end, and has this task."""
        return self.layout.payer.exists() and task_files.folder_of(self.layout, task_id) is not None

    def emptied(self) -> Path:
        """Return its folder below replays/, with nothing in it."""
        folder = self.real.replays / self.name
        pool.remove_tree(folder)
        directories.make_folder(folder)
        return folder

    def make(self) -> None:
        """Make it, or bring its settings up to date."""
        directories.make_folder(self.real.replays)
        self.layout.create()
        files.replace(self.layout.config, self._settings())
        payer = Payer(os.path.realpath(self.real.root), TRIALS, self.name)
        files.replace(self.layout.payer, msgspec.json.encode(payer))
        directories.remove(self.layout.pauses)

    def _settings(self) -> bytes:
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
        """Yield what its workers do not read: all of the real state folder, and what other trials do."""
        root, replays = os.path.realpath(self.real.root), os.path.realpath(self.real.replays)
        yield from (os.path.join(root, name) for name in sorted(os.listdir(root)) if name != "replays")
        yield from (os.path.join(replays, name) for name in sorted(os.listdir(replays)) if name != self.name)

    def ended(self, task_id: str) -> Exit | None:
        """Return how a task ended here; None while that is under way."""
        folder = task_files.folder_of(self.layout, task_id)
        return task_files.read_exit(folder) if folder is not None else None

    def take_up(self, task_id: str) -> None:
        """Have a task that ended without telling anything go on; one that was put away begins anew."""
        folder = task_files.folder_of(self.layout, task_id)
        ended = self.ended(task_id)
        if folder is None or ended is None or not told_nothing(ended) or not _is_left(folder):
            return
        if folder != self.layout.task(task_id):
            pool.remove_tree(folder)
            return
        directories.remove(folder / "collected.json")
        if (folder / "run.json").exists():
            workers.keep_attempt(folder, ended.attempt)
        directories.remove(folder / "exit.json")

    def closed(self) -> str:
        """Return why the server of models answers nobody now, or empty."""
        return next((pause.words for pause in pauses.parts(self.layout).providers.values()), "")

    def answer_nobody(self, now: float) -> None:
        """Let whatever a worker asks a person be unanswered at once: nobody is asked in a trial."""
        for request in approvals.undecided(self.layout):
            approvals.expire(self.layout, request, now)


def _is_left(folder: Path) -> bool:
    """Return whether the worker that wrote how its task ended is gone; it has only to exit then, so wait for that."""
    deadline = time.monotonic() + EXITING
    while has_worker(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
    return True


def _without_none(table: dict[str, object]) -> dict[str, object]:
    """Return a table as TOML can hold it."""
    kept = {name: value for name, value in table.items() if value is not None}
    return {name: _without_none(value) if isinstance(value, dict) else value for name, value in kept.items()}


def tidy(layout: Layout, *ours: str) -> None:
    """Remove the folders of other trials, unless a worker is at one still. Call it under the lock of trials."""
    for place in layout.replays.glob(f"{shadows.TRIAL}*"):
        tasks = (*place.glob("tasks/*/spec.json"), *place.glob("*/tasks/*/spec.json"))
        at_work = any(has_worker(task.parent) for task in tasks)
        if place.name not in ours and not at_work:
            pool.remove_tree(place)


def must_drive(*drivers: Driver) -> None:
    """Raise ActionError where an engine of a trial has ended, or another process drives its folder."""
    for driver in drivers:
        if driver.running is None or driver.running.done():
            raise ActionError("the engine of the trial has ended: its engine.log says why; begin the trial again")
