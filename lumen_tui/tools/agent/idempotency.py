"""Idempotency of a main agent's acts: another attempt at the same loop does none of them twice.

The id of an act derives from the loop and the call. The act is carried out first and recorded then; after a kill
between the two, the next attempt gets the same id and finds the record that already has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lumen_tui.model.agent import ACTS_FILE, Act
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.ids import short_hash
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import Context, ToolResult


def acts_so_far(context: Context) -> list[Act]:
    """Return all acts of this loop so far, in any attempt."""
    acts = []
    for line in (files.read(context.folder / ACTS_FILE) or b"").splitlines():
        try:
            acts.append(msgspec.json.decode(line, type=Act))
        except UNDECODABLE:
            continue  # torn by a kill: its id is found again
    return acts


def agent_name(context: Context) -> str:
    """Return the name with which the main agent signs."""
    return load_config(context.store.layout)[0].agent.name


def call_key(context: Context, kind: str, arguments: Any) -> str:
    """Return the key of a call: the same for the same call in the same loop, in any attempt."""
    return f"{context.spec.id}:{short_hash(kind + msgspec.json.encode(arguments).decode())}"


def once(
    context: Context, kind: str, arguments: Any, summary: str, perform: Callable[[str, list[Act]], str]
) -> ToolResult:
    """Carry out `act(key, acts so far)`, which returns the id of what it made, unless this loop has done so before."""
    key = call_key(context, kind, arguments)
    acts = acts_so_far(context)
    if earlier_act := next((earlier for earlier in acts if earlier.key == key), None):
        return ToolResult(
            f"done before in this loop: {earlier_act.kind} {earlier_act.id}",
            data={"id": earlier_act.id},
            summary="before",
        )
    with context.guard():
        made_id = perform(key, acts)
        Journal(context.folder / ACTS_FILE).append(Act(key=key, kind=kind, id=made_id, text=summary[:200]))
    return ToolResult(f"{kind} {made_id} recorded", data={"id": made_id}, summary=made_id)
