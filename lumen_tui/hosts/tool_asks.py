"""Calls of a worker on a host that work on the state of the agent: made here, by the same tools, roles and rules.

The worker has judged the call. It is judged here once more, by the role and the task as they are here: what a host
says of its own rights does not count.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Set

import msgspec

from lumen_tui.hosts.person_asks import PersonAsks
from lumen_tui.model.asks import MOST_BYTES, AskRefused, ToolAsk, ToolDone, ToolWaits
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.agent.tools import AT_ENGINE, tools_of
from lumen_tui.tools.base import BadRules, Context, Effect, TaskMemo, ToolError, ToolResult
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.policy.rules import check, derive
from lumen_tui.tools.policy.verdict import CallHistory, RequestedCall, judge, understand
from lumen_tui.tools.toolbox import TOOLS
from lumen_tui.worker.acting import performer
from lumen_tui.worker.record import calls_made
from lumen_tui.worker.stopping import Stopper
from lumen_tui.worker.task import CannotBegin, role_of
from lumen_tui.worker.world import World

CUT_OFF = (
    "The engine's side of this call ended before the end of the call was known. It may have happened, wholly, in part "
    "or not at all, and was not made again. Look at what is there before you decide whether to make it once more."
)
_MOST_TEXT = MOST_BYTES // 8  # characters of a result: each takes six bytes at most where it is escaped


class _MustWait(Exception):
    """A call waits for tasks first."""

    def __init__(self, tasks: tuple[str, ...], seconds: float) -> None:
        super().__init__()
        self.waits = ToolWaits(tasks, seconds)


class ToolAsks:
    """The calls of one attempt at a task on a host."""

    def __init__(self, store: Store, spec: Spec, attempt: int, now: Callable[[], float], persons: PersonAsks) -> None:
        self._store, self._spec, self._attempt, self._now = store, spec, attempt, now
        self._persons = persons
        self._folder = store.layout.task(spec.id)

    def must_not_repeat(self, name: str) -> bool:
        """Return whether a call of this tool is not made again where it was cut off."""
        tool = TOOLS.get(name)
        return tool is None or tool.effect is not Effect.NONE

    def run(self, what: ToolAsk, used: Set[str]) -> ToolDone | ToolWaits | AskRefused:
        """Make a call and return what came of it. `used` are the approvals that others of its calls used up."""
        try:
            requested, context, approval = self._admit(what, used)
            result = requested.tool.run(context, requested.arguments)
        except _MustWait as wait:
            return wait.waits
        except (CannotBegin, BadRules) as error:
            return AskRefused(one_line(str(error), 300))
        except (ToolError, files.StoreError, OSError) as error:
            return ToolDone(str(error), ok=False)
        return _as_reply(result, approval)

    def _admit(self, what: ToolAsk, used: Set[str]) -> tuple[RequestedCall, Context, str]:
        """Return the call as it is made here, and the approval that allows it where it needs one. ToolError."""
        role = role_of(self._store, self._spec, os.environ)
        tool = tools_of(role.name, TOOLS).get(what.name)
        if tool is None or what.name not in AT_ENGINE:
            raise ToolError(f"{one_line(what.name, 60)!r} is no tool that works on the state of the agent")
        rules = check(derive(role, self._spec, load_config(self._store.layout)[0]))
        world = self._world()
        context = Context(
            role=role,
            spec=self._spec,
            store=self._store,
            folder=self._folder,
            now=self._now,
            monotonic=time.monotonic,
            redact=world.redact,
            environ=os.environ,
            perform=performer(world),
            wait=_nothing if what.waited else _must_wait,
            rules=rules,
            memo=TaskMemo(web=set(what.web)),
        )
        requested = understand(context, tool, _arguments(what.arguments))
        judged = judge(rules, requested.call, self._past(what.name))
        if judged.decision == "deny":
            raise ToolError(judged.reason)
        if judged.decision == "allow":
            return requested, context, ""
        if approval := self._persons.allowed_by(requested.call.hash, used):
            return requested, context, approval
        raise ToolError(f"nobody has allowed this call, and it needs that: {judged.reason}")

    def _world(self) -> World:
        stopper = Stopper(self._folder, time.monotonic, self._now)
        return World(self._folder, self._now, time.monotonic, os.environ, stopper, redactor(os.environ))

    def _past(self, name: str) -> CallHistory:
        """Return what the task has called as far as that came home, without the call that is made now."""
        called = calls_made(self._folder, self._attempt + 1)
        before = called[:-1] if called[-1:] == (name,) else called
        return CallHistory(before, before, steps=len(before))


def _must_wait(tasks: tuple[str, ...], seconds: float) -> None:
    raise _MustWait(tasks, seconds)


def _nothing(tasks: tuple[str, ...], seconds: float) -> None:
    """Wait for nothing: the worker has."""


def _arguments(text: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except UNDECODABLE as error:
        raise ToolError(f"the arguments are no JSON object: {one_line(str(error), 100)}") from error


def _as_reply(result: ToolResult, approval: str) -> ToolDone:
    """Return a result as it is sent, cut where no line takes it."""
    text = result.text[:_MOST_TEXT]
    if rest := len(result.text) - len(text):
        text += f"\n[{rest:,} characters more are not sent to another host]"
    data = msgspec.json.encode(result.data).decode()
    return ToolDone(text, result.ok, data if len(data) < _MOST_TEXT else "{}", result.summary, approval)
