"""The folder that the questions are about, and the provider without a model with real tools."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lumen_tui.model.roles import ALL_TOOLS, Limits, Role
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import Job, ProviderError, ToolCall
from lumen_tui.providers.offline.provider import OfflineProvider
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import Context
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.toolbox import Toolbox

sys.path.insert(0, str(Path(__file__).parent / "questions"))

Ask = Callable[[str, Path], str | None]


@pytest.fixture
def ask(tmp_path: Path, sandbox: str) -> Ask:
    """Ask an objective from within a folder: the answer, or None where there is none."""
    store = Store(tmp_path / "state")
    store.layout.create()
    (store.layout.tasks / "tsk-a").mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(store.root)}
    role = Role(name="researcher", purpose="p", tools=ALL_TOOLS, shell="read", limits=Limits(max_steps=40))  # noqa: S604 - of a role

    def asked(objective: str, folder: Path) -> str | None:
        spec = Spec(id="tsk-a", objective=objective)
        place = store.layout.task("tsk-a")
        context = Context(
            role=role, spec=spec, store=store, folder=place, now=time.time, monotonic=time.monotonic,
            redact=redactor(environ), environ=environ,
        )  # fmt: skip
        box = Toolbox(role, spec, context)
        conversation = OfflineProvider().converse(
            Job(system="", objective=objective, folder=str(folder), now=time.time)
        )
        reply = None
        try:
            while True:
                step = conversation.send(reply)
                reply = box.call(step.name, step.arguments) if isinstance(step, ToolCall) else None
        except StopIteration as end:
            return end.value.text if end.value.ok else None
        except ProviderError:
            return None

    return asked
