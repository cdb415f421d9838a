"""Gives a task that works apart its own worktree or copy, before its first step."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lumen_tui.model.config import Config
from lumen_tui.model.isolation import Isolation, mode_of
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.tools.base import Stopped
from lumen_tui.tools.isolation import living, records
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.tools.sandbox import secrets
from lumen_tui.worker.world import World


def begin(world: World, spec: Spec, role: Role, config: Config) -> tuple[Spec, Isolation | None]:
    """Return the spec as the task has it there, and where it works; the spec itself where it works in place.

    Raise Unfit, or OSError where there is no room.
    """
    if world.link is not None:  # its engine has chosen, and made the folder
        given = records.read_isolation(world.folder)
        return (placed(spec, given, world.folder), given) if given else (spec, None)
    mode = mode_of(spec, role, config.workers.isolate)
    if not mode:
        return spec, None
    hidden = secrets.existing(world.environ.get("HOME", ""), config.sandbox.hidden)
    path = world.environ.get("PATH", os.defpath)
    order = living.IsolationRequest(world.store.layout, world.folder, mode, spec.folder, tuple(hidden), path)

    def check() -> None:
        if world.stopper.stopped():
            raise Stopped

    try:
        isolation = living.take(order, check)
    except OSError as error:
        raise Unfit(f"no folder of its own could be made for it: {error.strerror or error}") from error
    return placed(spec, isolation, world.folder), isolation


def placed(spec: Spec, isolation: Isolation, folder: Path) -> Spec:
    """Return the spec as the task in `folder` has it in a folder of its own."""
    tree = os.path.realpath(folder / living.TREE)
    return msgspec.structs.replace(spec, isolate=isolation.kind, folder=os.path.join(tree, isolation.below))
