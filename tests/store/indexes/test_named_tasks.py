"""A task is looked at for a while after an action named it: it is on record before it is carried out."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder

from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files

NOW = 1_800_000_000.0  # later than the times of files: none of them counts as just written


def test_a_look_between_an_action_and_its_change_is_not_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StateFolder(tmp_path / "state", NOW)
    folder.layout.create()
    task = folder.do("task.new", objective="ship it", role="builder").target
    replace = files.replace
    with closing(SnapshotReader(folder.root)) as reader:
        reader.refresh(NOW)
        reader.refresh(NOW)
        looks = []

        def replace_late(path: Any, data: bytes, **options: Any) -> None:
            if Path(path).name == "spec.json":
                reader.refresh(NOW)
                looks.append(reader.tasks.find(task))
            replace(path, data, **options)

        monkeypatch.setattr(files, "replace", replace_late)
        folder.do("task.limit", task_id=task, steps=80)
        assert [look.spec.steps for look in looks if look] == [0], "on record, and not carried out yet"
        reader.refresh(NOW)
        shown = reader.tasks.find(task)
        assert shown is not None and shown.spec.steps == 80
