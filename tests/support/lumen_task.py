"""The folder of one task, and what the worker on it left there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lumen_questions import events_of
from lumen_until import Awaited

from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout


class TaskFolder(Awaited):
    """A task folder that exists from now on."""

    def __init__(self, layout: Layout, task_id: str = "tsk-one") -> None:
        self.layout, self.id = layout, task_id
        self.folder: Path = layout.task(task_id)
        self.folder.mkdir()

    def write(self, name: str, record: object) -> None:
        """Write a record as JSON, such as spec.json."""
        files.replace(self.folder / name, json.dumps(record).encode())

    @property
    def exit(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.folder / "exit.json").read_bytes())
        return record

    @property
    def log(self) -> str:
        return (self.folder / "worker.log").read_text()

    @property
    def events(self) -> list[dict[str, Any]]:
        return events_of(self.folder)

    def kinds(self, *wanted: str) -> list[dict[str, Any]]:
        """Return the events of these kinds."""
        return [event for event in self.events if event["kind"] in wanted]

    def instead(self) -> str:
        return f"log: {self.log} events: {self.events}"
