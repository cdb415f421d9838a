"""A real state folder and a way to act in it as different operators at different times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lumen_folder import StateFolder

from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes

if TYPE_CHECKING:
    from tests.actions.random_acts import Stage

NOW = 1_800_000_000.0


class ActionsFolder(StateFolder):
    """One state folder; `do` performs a verb as `ana`, and time goes on by a second with each."""

    STEP = 1.0

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)

    def restart(self) -> None:
        """What a new process has: only the files."""
        self.store = Store(self.root)

    def discovery(self, content: str = "Race in the session manager", **arguments: Any) -> str:
        return self.do("node.create", content=content, **arguments).target

    def node(self, node_id: str) -> dict[str, Any]:
        return nodes.find(self.store.layout.memory, [node_id])[node_id][1]

    def files(self) -> dict[str, bytes]:
        """Every file below the state folder, without the empty lock files."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".lock")
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}


@pytest.fixture
def desk(tmp_path: Path) -> ActionsFolder:
    made = ActionsFolder(tmp_path / "state")
    made.store.layout.create()
    return made


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A state folder with something for every verb; each test acts on copies of it."""
    from tests.actions.random_acts import Stage

    folder = tmp_path_factory.mktemp("furnished")
    made = ActionsFolder(folder / "state")
    made.store.layout.create()
    return Stage(made, folder, seed=1)
