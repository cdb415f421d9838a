"""A task whose worker needs an approval: the role that makes it ask, its events, and the open request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, call_hash
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals


def asking_role(*tools: str) -> str:
    """Return the file of a role with these tools whose shell commands need an approval."""
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
    """Return the events of a task's worker so far."""
    path = folder / "events.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def question_of(layout: Layout, folder: Path, attempt: int = 1) -> Approval | None:
    """Return the only open request of an attempt, once its worker waits for the answer."""
    waits = any(event["kind"] == "waiting" and event.get("attempt", 1) == attempt for event in events_of(folder))
    undecided = approvals.undecided(layout) if waits else []
    return undecided[0] if len(undecided) == 1 else None


def put_call(layout: Layout, task_id: str, now: float, command: str = "make deploy", **more: Any) -> Approval:
    """Put a call of a task on file, as its worker does, asked at `now` and open for an hour."""
    given: dict[str, Any] = {"tool": "shell", "arguments": {"command": command}, **more}
    digest = call_hash(given["tool"], {"command": command})
    request = Approval(
        id=approvals.id_for(task_id, digest, 0),
        task_id=task_id,
        hash=digest,
        asked_at=times.iso(now),
        expires_at=times.iso(now + 3600),
        role="builder",
        summary=command,
        **given,
    )
    return approvals.ask(layout, request)
