"""What a worker is told of how its work is checked, and of what failed the time before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lumen_tui.model import ids
from lumen_tui.model.acceptance import MOST, among, report
from lumen_tui.model.fences import escaped, fence
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import claims
from lumen_tui.store.work.work_units import read_unit

_HOW = "These are checked when you have ended, in {}; the task is done only if all of them hold:"
_ENDS = {"command": "ends with exit code 0", "file": "is there", "fact": "holds"}


def accepted_when(folder: Path, spec: Spec) -> str:
    """Return how the task in `folder` is checked; after a failure with the evidence, as data. Empty without checks."""
    return "\n".join(_lines(folder, spec)) if spec.accept else ""


def _lines(folder: Path, spec: Spec) -> Iterator[str]:
    yield _HOW.format(one_line(escaped(spec.folder), 300) or "your own files")
    for text in spec.accept:
        yield f"- {one_line(escaped(text), 1000)} {_ENDS.get(text.partition(':')[0], '')}".rstrip()
    for claim in claims.refuted(folder)[-1:]:
        if claim.acceptance is not None:
            yield f"\nAttempt {claim.attempt} said that it was done, and it was not. Look at what is there, finish it:"
            yield fence(report(claim.acceptance), f"the checks after attempt {claim.attempt}")


def unit_checks(layout: Layout, spec: Spec, role: Role) -> tuple[str, ...]:
    """Return the checks in the acceptance of a task's work unit, where the task may change what they are about."""
    if not spec.wu_id or not role.changes_files:
        return ()
    try:
        unit = read_unit(layout, spec.wu_id)
    except (ids.BadId, BadFile, StoreError):
        return ()
    return tuple(dict.fromkeys(among(unit.acceptance if unit else ())))[:MOST]
