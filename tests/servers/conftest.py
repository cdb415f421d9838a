"""A state folder with programs connected to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lumen_apiserver import ApiServer
from lumen_editor import Office
from lumen_folder import StateFolder
from lumen_questions import put_call

from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.approvals import Approval
from lumen_tui.queries.documents import Document
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.desk import Desk

NOW = 1_800_000_000.0


class Connected:
    """A state folder, a counter over it, and calls by programs of any scopes. `ana` is the operator."""

    def __init__(self, folder: StateFolder) -> None:
        self.folder = folder
        self.layout = folder.layout
        self.counter = Counter(Desk(folder.root, clock=folder.clock))

    def call(
        self, operation: str, *scopes: Scope, name: str = "zed", kind: str = "mcp", **arguments: object
    ) -> Document:
        who = Principal(name, kind, frozenset(scopes or (Scope.READ, Scope.ACT)))
        return self.counter.invoke(who, operation, arguments)

    def ask(self, task_id: str, command: str = "make deploy", **more: object) -> Approval:
        """Put a call of a task on file, as a worker does."""
        return put_call(self.layout, task_id, NOW, command, **more)


@pytest.fixture
def connected(tmp_path: Path) -> Connected:
    folder = StateFolder(tmp_path / "state", NOW + 60)
    folder.layout.create()
    return Connected(folder)


@pytest.fixture
def asked(connected: Connected) -> Callable[..., Approval]:
    """Put a call on file whose task is queued, so that it waits for an answer."""

    def put(command: str = "make deploy", **more: object) -> Approval:
        task = connected.folder.do("task.new", objective="Deploy it").target
        return connected.ask(task, command, **more)

    return put


@pytest.fixture
def office(tmp_path: Path, api: ApiServer) -> Iterator[Office]:
    made = Office(tmp_path, api.openai_env)
    yield made
    made.clean()


@pytest.fixture
def running(office: Office) -> Office:
    office.start_engine()
    return office
