"""Toolboxes with small MCP servers, whose tools were accepted."""

from __future__ import annotations

import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from lumen_tui.model.roles import Limits, Role, ToolRule
from lumen_tui.model.tasks import Spec
from lumen_tui.model.toolservers import PinDecision, ServerTools, definition
from lumen_tui.storage.store import Store
from lumen_tui.store.settings import toolservers as records
from lumen_tui.tools.base import ApprovalReply, ApprovalRequest, Context
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.toolbox import Toolbox

SERVER = Path(__file__).parent / "server.py"
MakeServed = Callable[..., "Served"]


class Served:
    """A toolbox with its task's folder, and what was reported and begun meanwhile."""

    def __init__(self, state: Store, role: Role, spec: Spec, **more: Any) -> None:
        self.state = state
        self.notes: list[str] = []
        self.begun: list[str] = []
        environ = {"PATH": os.environ["PATH"], "HOME": str(state.root), **more.pop("environ", {})}
        self.context = Context(
            role=role, spec=spec, store=state, folder=state.layout.task(spec.id), now=lambda: 1_700_000_000.0,
            monotonic=time.monotonic, redact=redactor(environ), environ=environ,
            progress=self.notes.append, begins=self.begun.append, **more,
        )  # fmt: skip
        self.box = Toolbox(role, spec, self.context)

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool of the server `small`, as a model does."""
        return self.box.call("call_tool", {"name": f"small__{tool}", "arguments": arguments})


def configure(state: Store, name: str = "small", *ways: str, **settings: Any) -> None:
    """Write a server into lumen.toml."""
    table = {"command": [sys.executable, "-c", SERVER.read_text(), *ways], "risk": "low", **settings}
    if "url" in settings:
        del table["command"]
    whole = tomllib.loads(state.layout.config.read_text()) if state.layout.config.exists() else {}
    whole.setdefault("mcp", {}).setdefault("servers", {})[name] = table
    state.layout.config.write_text(tomli_w.dumps(whole))


def accept(state: Store, tools: ServerTools) -> None:
    records.keep_accepted(state.layout, tools)
    records.set_acceptance(state.layout, "servers", tools.server, PinDecision(tools.hash, by="ann"))


def declared(*ways: str) -> ServerTools:
    """What the small server declares."""
    import runpy

    before, sys.argv = sys.argv, [str(SERVER), *ways]
    stdin, sys.stdin = sys.stdin, open(os.devnull)  # noqa: SIM115
    try:
        listed = runpy.run_path(str(SERVER))["tools"]()
    finally:
        sys.argv = before
        sys.stdin.close()
        sys.stdin = stdin
    return ServerTools("small", tools=tuple(sorted(map(definition, listed), key=lambda tool: tool.name)))


@pytest.fixture
def serve(state: Store) -> Iterator[MakeServed]:
    """Make a toolbox whose role has the server `small`; it is closed at the end."""
    made: list[Served] = []

    def make(
        *ways: str, settings: dict[str, Any] | None = None, accepted: ServerTools | None = None, write: bool = False,
        mcp: tuple[str, ...] = ("small",), rules: tuple[ToolRule, ...] = (), constraints: tuple[str, ...] = (),
        network: bool = False, ask: Callable[[ApprovalRequest], ApprovalReply] | None = None, **more: Any,
    ) -> Served:  # fmt: skip
        configure(state, "small", *ways, **{"writes": False, **(settings or {})})
        accept(state, accepted or declared())
        role = Role(
            name="researcher", purpose="p", mcp=mcp, rules=rules, write=write, network=network,
            limits=Limits(max_steps=100),
        )  # fmt: skip
        given = {"ask": ask} if ask else {}
        made.append(Served(state, role, Spec(id="tsk-a", objective="o", constraints=constraints), **given, **more))
        return made[-1]

    yield make
    for one in made:
        one.box.close()
