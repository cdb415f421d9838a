"""What single screens show, read at once or again at each change: blocks, evolution, facts, relays. Texts are safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.approvals import Decision
from lumen_tui.model.blocks import Block, Step, shown_difference
from lumen_tui.model.constitution import ConstitutionState, difference
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.evolution import (
    TARGETS,
    Observation,
    ObservationStatus,
    Rejection,
    Version,
)
from lumen_tui.model.freshness import FactState
from lumen_tui.model.relay import Box
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.evolution import evolved
from lumen_tui.store.evolution.constitution import read_constitution
from lumen_tui.store.evolution.versions import DamagedVersion, contents, listed, on_disk
from lumen_tui.store.memory import block_files, blocks
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.memory.relays import RelayIndex

_MOST = 2000  # observations that are shown, and rejections
_ORDER = [
    ObservationStatus.PROPOSED,
    ObservationStatus.ACCEPTED,
    ObservationStatus.SUPERSEDED,
    ObservationStatus.WITHDRAWN,
    ObservationStatus.REJECTED,
]


class BlocksPage(msgspec.Struct, frozen=True):
    """What is shown of them."""

    blocks: tuple[Block, ...] = ()
    steps: dict[str, tuple[Step, ...]] = {}  # of each block, oldest first


def read_blocks_page(layout: Layout, now: float, *, write: bool) -> BlocksPage:
    """Read all blocks; where it may `write`, edits by hand are recorded first."""
    if write:
        try:
            blocks.take_in(layout, now)
        except files.StoreError:
            pass  # a full disk: what is in the files is shown all the same, as changed by hand
    histories = block_files.history(layout)
    return BlocksPage(tuple(blocks.read_all(layout)), {name: tuple(steps) for name, steps in histories.items()})


def text_after(layout: Layout, step: Step) -> str:
    """Return a block's whole text as a step left it. DamagedText, a StoreError, where it is not kept any more."""
    return block_files.stored_text(layout, step)


def step_diff(layout: Layout, steps: tuple[Step, ...], number: int) -> str:
    """Return what one step changed; a sentence where a text is damaged or nothing changed."""
    index = next((n for n, step in enumerate(steps) if step.step == number), -1)
    if index < 0:
        return ""
    before = steps[index - 1] if index else None
    try:
        old = block_files.stored_text(layout, before) if before else ""
        new = block_files.stored_text(layout, steps[index])
    except block_files.DamagedText as error:
        return f"! {error}"
    return shown_difference(old, new, f"step {before.step if before else 0}", f"step {number}")


class EvolutionPage(Struct, frozen=True):
    """Observations that wait first, then those in force; the newest first in each."""

    observations: tuple[Observation, ...] = ()
    versions: tuple[Version, ...] = ()  # newest first
    constitution: ConstitutionState = ConstitutionState("", "")
    rejected_count: int = 0
    rejections: tuple[Rejection, ...] = ()  # newest first


def read_evolution_page(layout: Layout) -> EvolutionPage:
    """Read the page as it is now."""
    newest = reversed(evolved.observations(layout).values())
    observations = sorted(newest, key=lambda item: _ORDER.index(item.status))[:_MOST]
    shown_versions = [
        Version(
            item.version, safe(item.at), one_line(item.by, 40), one_line(item.why, 200), item.digest, {}, item.metrics
        )
        for item in reversed(listed(layout))
    ]
    constitution = read_constitution(layout)
    shown = ConstitutionState(
        safe(constitution.text),
        safe(constitution.approved),
        safe(constitution.why),
        safe(constitution.by),
        constitution.at,
    )
    rejections = evolved.rejections(layout)
    newest_rejections = tuple(safe_record(item) for item in rejections[: -_MOST - 1 : -1])
    return EvolutionPage(
        tuple(safe_record(item) for item in observations),
        tuple(shown_versions),
        shown,
        len(rejections),
        newest_rejections,
    )


def diff_between(layout: Layout, old: int, new: int | None = None) -> str:
    """Return a unified diff of all files; without a second version, against the current files.

    LookupError with the number of a missing version; StoreError where a version is damaged.
    """
    before = _texts(layout, old)
    after = _texts(layout, new)
    name = "now" if new is None else f"version {new}"
    parts = [
        difference(_text(before, target), _text(after, target), f"{target} (version {old})", f"{target} ({name})")
        for target in TARGETS
    ]
    return safe("\n".join(part for part in parts if part))


def _texts(layout: Layout, number: int | None) -> dict[str, bytes]:
    if number is None:
        return on_disk(layout)
    if number == 0:
        return {}
    version = next((entry for entry in listed(layout) if entry.version == number), None)
    if version is None:
        raise LookupError(number)
    try:
        return contents(layout, version)
    except DamagedVersion as error:
        raise files.StoreError(str(error)) from error


def _text(texts: dict[str, bytes], target: str) -> str:
    return texts.get(target, b"").decode("utf-8", "replace")


def fact_reader(layout: Layout) -> Callable[[], Sequence[FactState]]:
    """Return a function that reads all facts; the second time only what is new. Not for two threads at once."""
    index = FactIndex(layout)

    def read() -> Sequence[FactState]:
        index.refresh()
        return index.states()

    return read


def relay_reader(layout: Layout) -> Callable[[], Sequence[Box]]:
    """Return a function that reads all relays; the second time only what is new. Not for two threads at once."""
    index = RelayIndex(layout)

    def read() -> Sequence[Box]:
        index.refresh()
        return index.boxes

    return read


def decision(layout: Layout, approval_id: str) -> Decision | None:
    """Return the answer to a request, open or done; one that cannot be read is a refusal."""
    return approvals.decision(layout, approval_id)


_REF = "ref: refs/heads/"
_HEAD_BYTES = 300


def git_branch(folder: str) -> str:
    """Return `main, differs from origin/main`; empty where a folder is no checkout.

    Only files are read: git itself would run what a worker may have written into the checkout's configuration.
    """
    git = Path(folder).expanduser() / ".git"
    try:
        head = (files.read(git / "HEAD", _HEAD_BYTES) or b"").decode(errors="replace").strip()
        if not head.startswith(_REF):
            return f"at {one_line(head, 8)}" if head else ""
        name = head.removeprefix(_REF)
        if ".." in name or name.startswith("/"):
            return ""
        own, remote = (files.read(git / "refs" / place / name, _HEAD_BYTES) for place in ("heads", "remotes/origin"))
    except (files.StoreError, OSError, ValueError):
        return ""
    standing = "" if not own or not remote else ", as origin has it" if own == remote else ", differs from origin"
    return f"{one_line(name, 60)}{standing}"
