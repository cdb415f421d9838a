"""A state folder with tasks that ended, live and archived."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_folder import StateFolder

from lumen_tui.model import times
from lumen_tui.model.tasks import Exit, Spec, Usage
from lumen_tui.queries.snapshot_reader import SnapshotReader

NOW = 1_800_000_000.0


class House(StateFolder):
    """Tasks are written as the worker and the engine leave them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)
        self.layout.create()

    def ended(
        self, name: str, role: str = "builder", status: str = "done", *, live: bool = False, **fields: Any
    ) -> Path:
        folder = self.layout.tasks / name if live else self.layout.archive / "2027" / "01" / name
        folder.mkdir(parents=True)
        spec = Spec(id=name, objective=name, role=role, created_by=fields.pop("made_by", "ana"),
                    retry_of=fields.pop("retry_of", ""))  # fmt: skip
        usage = Usage(1000, 100, fields.pop("usd", 0.01))
        ended = Exit(
            name, status, times.iso(self.now - 60), usage=usage, seconds=9.0, brain="anthropic: small", **fields
        )
        (folder / "spec.json").write_bytes(msgspec.json.encode(spec))
        (folder / "exit.json").write_bytes(msgspec.json.encode(ended))
        return folder

    def archive(self, name: str) -> None:
        shutil.move(self.layout.tasks / name, self.layout.archive / "2027" / "01" / name)

    def bad_builder(self, live: bool = False) -> None:
        """A builder that fails most of the time beside a researcher that does not."""
        for number in range(30):
            self.ended(f"b-{number}", status="done" if number < 5 else "failed", live=live)
            self.ended(f"r-{number}", role="researcher", live=live)

    def needs(self) -> list[str]:
        picture = SnapshotReader(self.root).snapshot(self.now)
        return [one.target for one in picture.attention if one.need == "retirement"]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "state")
