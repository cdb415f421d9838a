"""Work units: backlog items with acceptance, one Markdown file each."""

from __future__ import annotations

from msgspec import Struct


class WorkUnit(Struct, frozen=True, omit_defaults=True):
    """work/WU-NNN.md: TOML front matter between `+++` lines, then the description."""

    id: str
    title: str
    lane: str = ""
    type: str = "task"  # task | bug | idea | question | dependency | feature
    priority: str = "P2"
    status: str = "ready"
    acceptance: tuple[str, ...] = ()
    discovered_in: str = ""  # the work unit on which what it is about was noticed
    discovery: str = ""  # the node it was promoted from
    created_at: str = ""
    created_by: str = ""
    body: str = ""
    key: str = ""  # idempotency key of the creator
    schema: int = 1
