"""One task from its spec to its exit: the conversation between a provider and the toolbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model.config import Config
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Run, Spec
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import (
    Conversation,
    Job,
    Outcome,
    Provider,
    ProviderError,
    Reply,
    Reserve,
    Said,
    Spent,
    ToolCall,
)
from lumen_tui.providers.choose import choose_provider
from lumen_tui.store import files
from lumen_tui.store.config import load_config
from lumen_tui.store.frontmatter import BadFile
from lumen_tui.store.journal import Journal
from lumen_tui.store.roles import load_role
from lumen_tui.store.store import Store
from lumen_tui.tools.base import Context, ToolResult
from lumen_tui.tools.toolbox import StepLimit, Toolbox
from lumen_tui.worker.asking import Asking
from lumen_tui.worker.briefing import system_prompt
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.world import Tally, World


class BadTask(Exception):
    """The task cannot begin; the text says what a person must mend."""


def read_spec(folder: Path) -> Spec:
    """spec.json; BadTask where it cannot be used."""
    try:
        data = files.read(folder / "spec.json")
        if data is None:
            raise BadTask(f"{folder.name}/spec.json is missing")
        spec = msgspec.json.decode(data, type=Spec)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadTask(f"{folder.name}/spec.json cannot be read: {error}") from error
    if spec.id != folder.name:
        raise BadTask(f"{folder.name}/spec.json is of another task ({one_line(spec.id, 80)})")
    return spec


def read_attempt(folder: Path) -> int:
    """The number in run.json; 1 where there is none."""
    try:
        return msgspec.json.decode(files.read(folder / "run.json") or b"", type=Run).attempt
    except (msgspec.MsgspecError, files.StoreError):
        return 1


def _role(store: Store, name: str) -> Role:
    try:
        return load_role(store.layout, name)
    except FileNotFoundError:
        raise BadTask(f"there is no role {one_line(name, 80)!r}: hire it, or give the task another") from None
    except (BadFile, ValueError) as error:
        raise BadTask(f"role {one_line(name, 80)!r} cannot be used: {error}") from error


class Task:
    """The task at work."""

    def __init__(self, world: World, tally: Tally) -> None:
        self._world, self._tally = world, tally
        self.spec = read_spec(world.folder)
        tally.attempt = read_attempt(world.folder)
        self._role = _role(world.store, self.spec.role)
        self._config, self._problems = _config(world.store)
        self._events = Recorder(
            Journal(world.folder / "events.jsonl"), tally.attempt, world.now, world.redact, world.stopper.guard
        )
        self._spending = Spending(world, tally, self.spec, self._events)
        self._toolbox = Toolbox(self._role, self.spec, self._context())
        self._written = False

    def _context(self) -> Context:
        world = self._world
        return Context(
            role=self._role, spec=self.spec, store=world.store, folder=world.folder, now=world.now,
            monotonic=world.monotonic, stopped=world.stopper.stopped, redact=world.redact, environ=world.environ,
            guard=world.stopper.guard, progress=lambda text: self._events.event("note", text),
            ask=Asking(world, self.spec, self._events).ask,
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        """How long it may take."""
        return self.spec.timeout_seconds or self._role.limits.timeout_seconds

    def run(self) -> Outcome:
        """Work. Raises Stopped; everything else that goes wrong becomes a failed outcome."""
        self._events.event("started", f"role {self._role.name}: {one_line(self.spec.objective, 200)}")
        for problem in self._problems:
            self._events.event("note", f"{problem.where}: {problem.what}")
        for text in self._toolbox.rules.enforced:
            self._events.event("note", f"enforced: {text}")
        try:
            outcome = self._converse()
        except (ProviderError, StepLimit) as error:
            outcome = Outcome(ok=False, reason=str(error))
        return self._settle(outcome)

    def finished(self, status: str, reason: str) -> None:
        """The last event."""
        self._events.event("finished", one_line(reason, 160) or status, ok=status == "done", status=status)

    def _converse(self) -> Outcome:
        provider = choose_provider(self._config.models, self._role, self.spec, self._world.environ)
        self._tally.brain = provider.brain
        conversation = provider.converse(self._job())
        try:
            return self._drive(conversation, provider)
        finally:
            self._tally.brain = provider.brain
            conversation.close()

    def _drive(self, conversation: Conversation, provider: Provider) -> Outcome:
        reply: Reply | None = None
        while True:
            try:
                step = conversation.send(reply)
            except StopIteration as end:
                return _as_outcome(end.value)
            reply = None
            if isinstance(step, ToolCall):
                reply = self._call(step)
            elif isinstance(step, Said):
                self._events.event(step.kind, step.text, **step.data)
            elif isinstance(step, Reserve):
                self._spending.reserve(step.usage, step.model)
            elif isinstance(step, Spent):
                self._spending.spent(step.usage)

    def _call(self, call: ToolCall) -> ToolResult:
        name = one_line(call.name, 60)
        self._events.event("call", self._toolbox.describe(call.name, call.arguments), tool=name)
        result = self._toolbox.call(call.name, call.arguments)
        text = result.summary if result.ok else one_line(result.text, 300)
        cut = {"cut": result.truncated} if result.truncated else {}
        self._events.event("result", text, tool=name, ok=result.ok, **cut)
        self._written = self._written or (call.name == "write_result" and result.ok)
        return result

    def _settle(self, outcome: Outcome) -> Outcome:
        """A good end has a result: the final answer becomes one where none was written."""
        if not outcome.ok:
            self._events.event("error", outcome.reason, ok=False)
            return outcome
        if not self._written and outcome.text.strip():
            files.replace(self._world.folder / "result.md", self._world.redact(outcome.text).encode())
            self._written = True
        if not self._written:
            return Outcome(ok=False, reason="it ended without a result")
        return outcome

    def _job(self) -> Job:
        rules = self._toolbox.rules
        return Job(
            system=system_prompt(self._role, rules), objective=self.spec.objective, context=self.spec.context,
            constraints=self.spec.constraints, advice=rules.advice, tools=tuple(self._toolbox.declarations()),
            now=self._world.now,
        )  # fmt: skip


def _as_outcome(value: Any) -> Outcome:
    return value if isinstance(value, Outcome) else Outcome(ok=False, reason="the provider ended without an answer")


def _config(store: Store) -> tuple[Config, list[Any]]:
    config, problems = load_config(store.layout)
    return config, list(problems)
