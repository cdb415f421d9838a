"""What a host is given of a task: its folder as it stands here, its role, the operator's prompts, its work unit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.hosts import tree_packing
from lumen_tui.hosts.tree_changes import TreeReturn
from lumen_tui.hosts.tree_packing import TreeTooLarge
from lumen_tui.model import frames
from lumen_tui.model.frames import HostOrder
from lumen_tui.model.tasks import Spec
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.isolation import living
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.tools.outputs import OUTPUTS

_MOST_BYTES = 64 * 1024 * 1024


class TooLarge(Exception):
    """A task has more in its folder than an order carries, or a folder that cannot go out; the text says what."""


def pack(layout: Layout, spec: Spec, attempt: int) -> HostOrder:
    """Return the order for an attempt. TooLarge, StoreError, OSError."""
    given: dict[str, bytes] = {}
    total = 0
    for path, name in _sources(layout, spec):
        if (data := files.read(path, _MOST_BYTES + 1)) is None:
            continue
        total += len(data)
        if total > _MOST_BYTES:
            raise TooLarge(f"the folder of {spec.id} holds more than {_MOST_BYTES // 1024**2} MiB: it runs here only")
        given[name] = data
    if tree := _tree(layout, spec, attempt, _MOST_BYTES - total):
        given[f"tasks/{spec.id}/{frames.TREE}"] = tree
    return HostOrder(spec.id, attempt, spec.role, given, load_config(layout)[0].approvals.ask, spec.resources)


def _tree(layout: Layout, spec: Spec, attempt: int, most: int) -> bytes:
    """Return the folder in which the task works, as the attempt before left it; empty where there is none."""
    folder = layout.task(spec.id)
    try:
        TreeReturn(folder, attempt - 1, "").take()
        isolation = tree_packing.take(layout, spec, os.environ)
        if isolation is None and not (folder / living.TREE).is_dir():
            return b""
        return tree_packing.packed(folder, isolation, most)
    except (Unfit, TreeTooLarge, BadFile, FileNotFoundError, ValueError) as error:
        raise TooLarge(f"{spec.id} cannot go to a host: {error}") from error


def _sources(layout: Layout, spec: Spec) -> Iterator[tuple[Path, str]]:
    """Yield each file that goes out, with its path below a state folder."""
    folder = layout.task(spec.id)
    names = [*_names(folder), *(f"{OUTPUTS}/{name}" for name in _names(folder / OUTPUTS))]
    for name in names:
        if frames.may_be_given(path := f"tasks/{spec.id}/{name}", spec.id):
            yield folder / name, path
    yield layout.role(spec.role), f"roles/{spec.role}.md"
    for name in _names(layout.prompts):
        if frames.may_be_given(path := f"prompts/{name}", spec.id):
            yield layout.prompts / name, path
    if spec.wu_id:
        yield layout.work_unit(spec.wu_id), f"work/{spec.wu_id}.md"


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
