"""A task whose worker asks a person: the role that makes it ask, its events, and the question that waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lumen_tui.model.approvals import Approval
from lumen_tui.storage.layout import Layout
from lumen_tui.store.approvals import approvals


def asking_role(*tools: str) -> str:
    """A role with these tools of which each shell command waits for a person's word."""
    return f"""+++
purpose = "p"
shell = "any"
write = true
tools = {json.dumps(tools)}

[[rules]]
kind = "requires_approval"
tool = "shell"
why = "it may do harm"
+++

Work.
"""


def events_of(folder: Path) -> list[dict[str, Any]]:
    """What the worker of a task has told so far."""
    path = folder / "events.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def question_of(layout: Layout, folder: Path, attempt: int = 1) -> Approval | None:
    """The one question of an attempt, once its worker waits for the answer."""
    waits = any(event["kind"] == "waiting" and event.get("attempt", 1) == attempt for event in events_of(folder))
    found = approvals.undecided(layout) if waits else []
    return found[0] if len(found) == 1 else None
