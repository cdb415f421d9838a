"""Tasks that a task orders: how deep, by whom, within whose limits, and that they end with it.

A sub-task is held to what holds its parent: its constraints, the folders it may change, and its budget, which all of
them spend together (`worker/spending.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import agent, ids
from lumen_tui.model.budget import dollars
from lumen_tui.model.roles import MEMORY_TOOLS, READ_TOOLS, REPORT_TOOLS, Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.toolservers import parts_of
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.roles import load_role
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.family import ancestors, descendants

_SHELLS = ("none", "read", "any")
_ANYBODY = frozenset((*READ_TOOLS, *MEMORY_TOOLS, *REPORT_TOOLS))  # tools that give a role no power over anything


def ordered(store: Store, spec: Spec) -> Spec:
    """Return the spec as a sub-task, where a task that is no session of the main agent asks for it.

    ActionError where it may not be ordered: too deep, by a role that may not, or the same task over again.
    """
    task_id = acting.caller().task
    above = list(ancestors(store.layout, task_id)) if task_id else []
    if not above or above[0].role == agent.ROLE:
        return spec
    parent = above[0]
    role = _role(store.layout, parent.role)
    _must_not_be_too_deep(above, role)
    _must_be_another(above, spec)
    if spec.role != parent.role and spec.role not in role.orders:
        _must_do_no_more(role, _role(store.layout, spec.role))
    _must_fit(parent, spec)
    return msgspec.structs.replace(
        spec,
        parent=task_id,
        constraints=tuple(dict.fromkeys((*parent.constraints, *spec.constraints))),
        roots=parent.roots,
        folder=spec.folder or parent.folder,
        isolate=spec.isolate or parent.isolate,
        host=spec.host or parent.host,
        wu_id=spec.wu_id or parent.wu_id,
        lane=spec.lane or parent.lane,
    )


def _role(layout: Layout, name: str) -> Role:
    try:
        return load_role(layout, name)
    except (FileNotFoundError, BadFile, ValueError, files.StoreError) as error:
        raise ActionError(f"role {name!r} cannot be used: {error}") from error


def _chain(above: list[Spec]) -> str:
    return " -> ".join(f"{ids.short(spec.id)} ({spec.role})" for spec in reversed(above))


def _must_not_be_too_deep(above: list[Spec], role: Role) -> None:
    most = role.limits.subtask_depth
    if len(above) > most:
        raise ActionError(
            f"{_chain(above)}: a task may be {most} below the first one at most, by role {role.name} "
            "([limits] subtask_depth): do it yourself, or say in the result what is left"
        )


def _must_be_another(above: list[Spec], spec: Spec) -> None:
    """Refuse a task that orders itself, directly or through others."""
    for known in above:
        if (known.role, known.objective.strip()) == (spec.role, spec.objective.strip()):
            raise ActionError(f"{_chain(above)}: that is {known.id} over again; order a part of it, or do it yourself")


def _must_do_no_more(parent: Role, child: Role) -> None:
    """Refuse a role with powers that the one that orders it lacks, unless its `orders` name it."""
    more = [name for name in ("write", "network") if getattr(child, name) and not getattr(parent, name)]
    more += ["write"] if child.changes_files and parent.own_files_only else []
    more += ["shell"] if _SHELLS.index(child.shell) > _SHELLS.index(parent.shell) else []
    listed = ("writable", "hosts", "command_hosts")
    more += [f"{name} {sorted(extra)[0]}" for name in listed if (extra := _beyond(parent, child, name))]
    more += sorted(_beyond(parent, child, "tools") - _ANYBODY) + sorted(_beyond(parent, child, "custom_tools"))
    more += sorted(entry for entry in child.mcp if not {entry, parts_of(entry)[0]} & set(parent.mcp))
    if more:
        named = ", ".join(list(dict.fromkeys(more))[:4])
        raise ActionError(
            f"role {child.name} may do more than role {parent.name} ({named}): "
            f'a person lets it order that with orders = ["{child.name}"] in roles/{parent.name}.md'
        )


def _beyond(parent: Role, child: Role, name: str) -> set[str]:
    return set(getattr(child, name)) - set(getattr(parent, name))


def _must_fit(parent: Spec, spec: Spec) -> None:
    own, asked = parent.budget, spec.budget
    if (own.usd and asked.usd > own.usd) or (own.tokens and asked.tokens > own.tokens):
        most = dollars(own.usd) if own.usd and asked.usd > own.usd else f"{own.tokens:,} tokens"
        raise ActionError(f"its cost comes out of the {most} that {parent.id} may spend in all: ask for less")


def to_cancel(layout: Layout, task_id: str) -> Iterator[str]:
    """Yield the sub-tasks of a task, and theirs, that are not over."""
    for name in descendants(layout, task_id):
        folder = task_files.folder_of(layout, name)
        if folder is not None and not task_files.status_of(folder).ended:
            yield name
