"""A task folder in a temporary state, and toolboxes for roles of any kind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lumen_tui.model.roles import ALL_TOOLS, REQUEST_HOST, Limits, Role, ToolRule
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import ApprovalReply, ApprovalRequest, Context
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.toolbox import Toolbox

WITHOUT_HOSTS = tuple(tool for tool in ALL_TOOLS if tool != REQUEST_HOST)  # it gives commands a proxy
MakeBox = Callable[..., Toolbox]


@pytest.fixture
def state(tmp_path: Path) -> Store:
    store = Store(tmp_path / "state")
    store.layout.create()
    (store.layout.tasks / "tsk-a").mkdir()
    return store


@pytest.fixture
def make_box(state: Store) -> MakeBox:
    def make(
        shell: str = "read", write: bool = False, network: bool = False, tools: tuple[str, ...] = WITHOUT_HOSTS,
        constraints: tuple[str, ...] = (), stopped: Callable[[], bool] = bool,
        monotonic: Callable[[], float] = time.monotonic, progress: Callable[[str], None] = str,
        limits: Limits | None = None, rules: tuple[ToolRule, ...] = (), hosts: tuple[str, ...] = (),
        custom_tools: tuple[str, ...] = (), ask: Callable[[ApprovalRequest], ApprovalReply] | None = None,
        environ: Mapping[str, str] | None = None, **spec: Any,
    ) -> Toolbox:  # fmt: skip
        role = Role(
            name="researcher", purpose="p", tools=tools, shell=shell, write=write, network=network,
            limits=limits or Limits(), rules=rules, hosts=hosts, custom_tools=custom_tools,
        )  # fmt: skip
        task = Spec(id="tsk-a", objective="o", constraints=constraints, **spec)
        env = {"PATH": os.environ["PATH"], "HOME": str(state.root), **(environ or {})}
        context = Context(
            role=role, spec=task, store=state, folder=state.layout.task("tsk-a"), now=lambda: 1_700_000_000.0,
            monotonic=monotonic, progress=progress, stopped=stopped, redact=redactor(env), environ=env,
        )  # fmt: skip
        return Toolbox(role, task, msgspec.structs.replace(context, ask=ask) if ask else context)

    return make


@pytest.fixture
def yes() -> Callable[[ApprovalRequest], ApprovalReply]:
    """Lets every command run that asks, as all do where no sandbox holds: for tests that are not about a sandbox."""
    return lambda request: ApprovalReply(allowed=True, by="ann")


@pytest.fixture
def granted(tmp_path: Path, state: Store) -> Path:
    """A folder that workers may change."""
    folder = tmp_path / "granted"
    folder.mkdir()
    state.layout.config.write_text(f'[sandbox]\nwritable = ["{folder}"]\n')
    return folder
