"""Blocks are read and written here. Every write holds one lock and leaves one step in the history.

A write first keeps its text, then says in blocks/pending.json what it is about to do, then does it. The next writer
finishes what a kill cut off; without that note a half-made step of an agent would look like an edit by a person.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from lumen_tui.model import times
from lumen_tui.model.blocks import (
    MOST_BLOCKS,
    STANDARD,
    BadEdit,
    Block,
    Fields,
    Step,
    as_block,
    check_fields,
    check_text,
    shown_difference,
)
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import block_files
from lumen_tui.store.memory.block_files import Damaged, OnDisk

LOCK = "blocks"
HAND = "a person"  # who edited a file by hand
History = dict[str, list[Step]]


class Stale(BadEdit):
    """Somebody else wrote since the text was read; the message says who, when, and what."""


class Write(msgspec.Struct, frozen=True):
    """What is written: the new text and fields, and who did it how. None leaves the block without a file."""

    text: str | None
    fields: Fields
    by: str
    how: str
    trust: str = "person"
    source: str = ""
    note: str = ""
    key: str = ""  # of the call: one that was made before is not made again
    person: bool = True  # who writes it, whoever's word it is


Decide = Callable[[Block], Write]


def read_all(layout: Layout) -> list[Block]:
    """Every block there is, as its file says it. Nothing is written: an edit by hand is only marked as such."""
    found = block_files.history(layout)
    all_seen = [_seen(layout, name, found.get(name, [])) for name in block_files.names(layout, found)]
    return [one for one in all_seen if one.at or one.by_hand or one.problem or one.name in STANDARD]


def read(layout: Layout, name: str) -> Block:
    """One block, in the same way."""
    return _seen(layout, name, block_files.history(layout).get(name, []))


def steps(layout: Layout, name: str) -> list[Step]:
    """What became of a block, oldest first."""
    return block_files.history(layout).get(name, [])


def _seen(layout: Layout, name: str, known: list[Step]) -> Block:
    last = known[-1] if known else None
    try:
        there = block_files.read_file(layout, name, last)
    except (BadFile, files.StoreError, OSError) as error:
        return msgspec.structs.replace(_recorded(layout, name, last), problem=_why(name, error))
    block = as_block(last, name, there.text if there else "")
    if there is None:
        return msgspec.structs.replace(as_block(None, name), step=block.step, by_hand=_is_live(last))
    if _same(there, last):
        return block
    return msgspec.structs.replace(
        block, text=there.text, fields=there.fields, by=HAND, how="hand", at=times.iso(there.changed), by_hand=True,
        trust="person", note="", source="",
    )  # fmt: skip


def _why(name: str, error: Exception) -> str:
    line = getattr(error, "line", 0)
    place = f"blocks/{name}.md{f', line {line}' if line else ''}"
    return f"{place}: {error}" if isinstance(error, BadFile) else str(error)


def _recorded(layout: Layout, name: str, last: Step | None) -> Block:
    """The block of the last step; without a text where even that is gone."""
    try:
        return as_block(last, name, block_files.kept_text(layout, last) if last else "")
    except Damaged:
        return as_block(last, name)


def _is_live(step: Step | None) -> bool:
    return step is not None and step.how != "removed"


def _same(there: OnDisk, last: Step | None) -> bool:
    return last is not None and _is_live(last) and (there.digest, there.fields) == (last.text, last.fields)


@contextmanager
def locked(layout: Layout, now: float) -> Iterator[History]:
    """The history, with everything in it that was cut off or edited by hand, while nobody else writes."""
    directories.make_folder(layout.blocks)
    with locks.waiting_lock(layout.lock(LOCK)):
        found = block_files.history(layout)
        _finish(layout, found)
        for name in block_files.names(layout, found):
            _take_in(layout, name, found, now)
        yield found


def take_in(layout: Layout, now: float) -> None:
    """Record what was edited by hand. Quick, and writes nothing, where nothing was."""
    if any(block.by_hand for block in read_all(layout)):
        with locked(layout, now):
            pass


def pending(layout: Layout) -> Step | None:
    """The step that a writer announced and is at, or was killed in."""
    data = files.read(layout.block_pending)
    try:
        return None if data is None else msgspec.json.decode(data, type=Step)
    except UNDECODABLE:
        return None


def _finish(layout: Layout, found: History) -> None:
    """Carry out the step that a writer announced and was killed in."""
    if not layout.block_pending.exists():
        return
    with contextlib.suppress(Damaged):  # else it was never begun: its text is kept before, and the note written whole
        if (step := pending(layout)) is not None:
            _carry_out(layout, step, block_files.kept_text(layout, step), found)
    directories.remove(layout.block_pending)


def _carry_out(layout: Layout, step: Step, text: str, found: History) -> None:
    known = found.setdefault(step.name, [])
    if not any(one.step == step.step for one in known):
        block_files.append_step(layout, step)
        known.append(step)
    if known[-1] == step:
        block_files.write_file(layout, step, text, lambda: _is_untouched(layout, step, known))


def _is_untouched(layout: Layout, step: Step, known: list[Step]) -> bool:
    """Whether the file is still that of the step before. What a person saved this moment stays, and is taken in."""
    last = known[-2] if len(known) > 1 else None
    try:
        there = block_files.read_file(layout, step.name, last)
    except BadFile:
        return False
    return step.how == "hand" or (not _is_live(last) if there is None else _same(there, last))


def _take_in(layout: Layout, name: str, found: History, now: float) -> None:
    """Make a step of what stands in a file and is not the last step. A file that cannot be read is left alone."""
    known = found.get(name, [])
    last = known[-1] if known else None
    try:
        there = block_files.read_file(layout, name, last)
    except (BadFile, files.StoreError, OSError):
        return
    if there is None and _is_live(last):
        gone = Write(None, last.fields if last else Fields(), HAND, "removed", note="the file was taken away")
        _write(layout, name, gone, found, now)
    elif there is not None and not _same(there, last):
        at = max(times.epoch(last.at) if last else 0.0, min(there.changed, now))
        _write(layout, name, Write(there.text, there.fields, HAND, "hand", note=_note(there, last)), found, at)


def _note(there: OnDisk, last: Step | None) -> str:
    """What a reader should know about an edit by hand."""
    notes = []
    if last is not None and last.how != "removed" and 0 < there.step < last.step:
        notes.append(f"written over step {last.step} by {last.by}, which its writer had not seen: compare the two")
    if last is not None and last.fields.locked:
        notes.append(f"the block was locked by {last.fields.locked}")
    if len(there.text) > there.fields.limit:
        notes.append(f"{len(there.text) - there.fields.limit:,} characters over its limit")
    return "; ".join(notes)


def write(
    layout: Layout, name: str, decide: Decide, *, now: float, base: int | None = None,
    begin: Callable[[Block, Step], None] = lambda _, __: None,
) -> tuple[Block, Step]:  # fmt: skip
    """Write one block; returns it as it was before, and the step. `begin` is told of both before anything is written.

    `decide` sees the block as it stands, under the lock, and may raise BadEdit. `base` is the step that the writer
    read: Stale where there is a newer one. Limits are checked here, for all who write.
    """
    with locked(layout, now) as found:
        before = _current(layout, name, found)
        _check_base(layout, before, base, found)
        wanted = decide(before)
        if wanted.key and (done := [one for one in found.get(name, []) if one.key == wanted.key]):
            return before, done[-1]
        _check(before, wanted, found)
        return before, _write(layout, name, wanted, found, now, lambda step: begin(before, step))


def _current(layout: Layout, name: str, found: History) -> Block:
    block_files.path_of(layout, name)
    known = found.get(name, [])
    block = _seen(layout, name, known)
    if block.problem:
        raise BadEdit(f"{block.problem}: mend the file, or take it away to go on from the last step")
    return block


def _check(before: Block, wanted: Write, found: History) -> None:
    _check_right(before, wanted)
    if wanted.text is None or wanted.how == "undo":
        return
    check_fields(before.name, "", wanted.fields)
    check_text(before.name, wanted.text, wanted.fields)
    live = sum(_is_live(known[-1]) for known in found.values())
    if before.name not in found and live >= MOST_BLOCKS:
        raise BadEdit(f"there are {live} blocks, the most there may be: use one of them")


def _check_right(before: Block, wanted: Write) -> None:
    if before.fields.locked and wanted.how not in ("unlock", "undo"):
        raise BadEdit(f"{before.name} is locked by {before.fields.locked}: a person must unlock it first")
    if before.fields.read_only and not wanted.person:
        raise BadEdit(f"{before.name} is read-only for agents: propose the change, or tell a person")


def _check_base(layout: Layout, now: Block, base: int | None, found: History) -> None:
    if base is None or base == now.step:
        return
    read_at = next((one for one in found.get(now.name, []) if one.step == base), None)
    if read_at is None:
        raise Stale(f"{now.name} has no step {base}, it is at step {now.step}: read it again")
    since = [one for one in found[now.name] if one.step > base]
    said = "; ".join(f"step {one.step} by {one.by} ({one.how}, {one.at[:16]})" for one in since[-3:])
    diff = shown_difference(_text_of(layout, read_at), now.text, f"step {base}", f"step {now.step}")
    new = f"What is new:\n{diff}" if diff.strip() else f"Its text is the same again: write on step {now.step}."
    raise Stale(f"{now.name} was written since you read step {base}: {said}. Nothing was changed. {new}")


def _text_of(layout: Layout, step: Step) -> str:
    try:
        return block_files.kept_text(layout, step)
    except Damaged:
        return ""


def _write(
    layout: Layout, name: str, wanted: Write, found: History, now: float, begin: Callable[[Step], None] = lambda _: None
) -> Step:
    known = found.get(name, [])
    text = wanted.text if wanted.text is not None else ""
    step = Step(
        name=name, step=known[-1].step + 1 if known else 1, at=times.iso(now), by=wanted.by, how=wanted.how,
        text=block_files.keep_text(layout, text), chars=len(text), trust=wanted.trust, fields=wanted.fields,
        source=wanted.source, note=wanted.note, key=wanted.key,
    )  # fmt: skip
    if wanted.text is None:
        step = msgspec.structs.replace(step, how="removed", note=wanted.note or wanted.how)
    begin(step)
    files.replace(layout.block_pending, msgspec.json.encode(step))
    _carry_out(layout, step, text, found)
    directories.remove(layout.block_pending)
    return step


def at_time(known: list[Step], moment: float) -> Step | None:
    """The step that held at a moment; None before the first."""
    return next((one for one in reversed(known) if times.epoch(one.at) <= moment), None)
