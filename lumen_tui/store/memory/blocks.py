"""Reading and writing memory blocks. Every write holds one lock and leaves one step in the history.

A write first stores its text, then announces the step in blocks/pending.json, then carries it out. The next writer
finishes what a kill cut off; without that note an agent's half-made step would look like an edit by a person.
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
from lumen_tui.store.memory.block_files import DamagedText, OnDisk

LOCK = "blocks"
HAND = "a person"  # who edited a file by hand
History = dict[str, list[Step]]


class Stale(BadEdit):
    """Somebody else has written since the text was read; the message says who, when and what."""


class Write(msgspec.Struct, frozen=True):
    """One write: the new text and fields, and who made it and how. The text None removes the block's file."""

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
    """Return every block as its file has it. Nothing is written: an edit by hand is only marked as such."""
    history = block_files.history(layout)
    all_seen = [_seen(layout, name, history.get(name, [])) for name in block_files.names(layout, history)]
    return [block for block in all_seen if block.at or block.by_hand or block.problem or block.name in STANDARD]


def read(layout: Layout, name: str) -> Block:
    """Return one block, in the same way as `read_all`."""
    return _seen(layout, name, block_files.history(layout).get(name, []))


def steps(layout: Layout, name: str) -> list[Step]:
    """Return the history of a block, oldest step first."""
    return block_files.history(layout).get(name, [])


def _seen(layout: Layout, name: str, history: list[Step]) -> Block:
    last = history[-1] if history else None
    try:
        on_disk = block_files.read_file(layout, name, last)
    except (BadFile, files.StoreError, OSError) as error:
        return msgspec.structs.replace(_recorded(layout, name, last), problem=_why(name, error))
    block = as_block(last, name, on_disk.text if on_disk else "")
    if on_disk is None:
        return msgspec.structs.replace(as_block(None, name), step=block.step, by_hand=_is_live(last))
    if _same(on_disk, last):
        return block
    return msgspec.structs.replace(
        block,
        text=on_disk.text,
        fields=on_disk.fields,
        by=HAND,
        how="hand",
        at=times.iso(on_disk.changed),
        by_hand=True,
        trust="person",
        note="",
        source="",
    )


def _why(name: str, error: Exception) -> str:
    line = getattr(error, "line", 0)
    place = f"blocks/{name}.md{f', line {line}' if line else ''}"
    return f"{place}: {error}" if isinstance(error, BadFile) else str(error)


def _recorded(layout: Layout, name: str, last: Step | None) -> Block:
    """Return the block of the last step; without a text where even that is gone."""
    try:
        return as_block(last, name, block_files.stored_text(layout, last) if last else "")
    except DamagedText:
        return as_block(last, name)


def _is_live(step: Step | None) -> bool:
    return step is not None and step.how != "removed"


def _same(on_disk: OnDisk, last: Step | None) -> bool:
    return last is not None and _is_live(last) and (on_disk.digest, on_disk.fields) == (last.text, last.fields)


@contextmanager
def locked(layout: Layout, now: float) -> Iterator[History]:
    """Hold the lock and yield the history, with interrupted steps and edits by hand taken in first."""
    directories.make_folder(layout.blocks)
    with locks.waiting_lock(layout.lock(LOCK)):
        history = block_files.history(layout)
        _finish(layout, history)
        for name in block_files.names(layout, history):
            _take_in(layout, name, history, now)
        yield history


def take_in(layout: Layout, now: float) -> None:
    """Record edits by hand. Quick, and writes nothing, where there are none."""
    if any(block.by_hand for block in read_all(layout)):
        with locked(layout, now):
            pass


def pending(layout: Layout) -> Step | None:
    """Return the step that a writer has announced and not finished; None where there is none."""
    data = files.read(layout.block_pending)
    try:
        return None if data is None else msgspec.json.decode(data, type=Step)
    except UNDECODABLE:
        return None


def _finish(layout: Layout, history: History) -> None:
    """Carry out a step whose writer was killed after announcing it."""
    if not layout.block_pending.exists():
        return
    with contextlib.suppress(DamagedText):  # else it never began: its text is stored first, and the note written whole
        if (step := pending(layout)) is not None:
            _carry_out(layout, step, block_files.stored_text(layout, step), history)
    directories.remove(layout.block_pending)


def _carry_out(layout: Layout, step: Step, text: str, history: History) -> None:
    steps_of_block = history.setdefault(step.name, [])
    if not any(earlier.step == step.step for earlier in steps_of_block):
        block_files.append_step(layout, step)
        steps_of_block.append(step)
    if steps_of_block[-1] == step:
        block_files.write_file(layout, step, text, lambda: _is_untouched(layout, step, steps_of_block))


def _is_untouched(layout: Layout, step: Step, history: list[Step]) -> bool:
    """Return whether the file is still that of the previous step. What a person saves meanwhile is kept."""
    last = history[-2] if len(history) > 1 else None
    try:
        on_disk = block_files.read_file(layout, step.name, last)
    except BadFile:
        return False
    return step.how == "hand" or (not _is_live(last) if on_disk is None else _same(on_disk, last))


def _take_in(layout: Layout, name: str, history: History, now: float) -> None:
    """Record an edit by hand as a step. A file that cannot be read is left alone."""
    steps_of_block = history.get(name, [])
    last = steps_of_block[-1] if steps_of_block else None
    try:
        on_disk = block_files.read_file(layout, name, last)
    except (BadFile, files.StoreError, OSError):
        return
    if on_disk is None and _is_live(last):
        removal = Write(None, last.fields if last else Fields(), HAND, "removed", note="the file was taken away")
        _write(layout, name, removal, history, now)
    elif on_disk is not None and not _same(on_disk, last):
        at = max(times.epoch(last.at) if last else 0.0, min(on_disk.changed, now))
        _write(layout, name, Write(on_disk.text, on_disk.fields, HAND, "hand", note=_note(on_disk, last)), history, at)


def _note(on_disk: OnDisk, last: Step | None) -> str:
    """Return what a reader should know about an edit by hand."""
    notes = []
    if last is not None and last.how != "removed" and 0 < on_disk.step < last.step:
        notes.append(f"written over step {last.step} by {last.by}, which its writer had not seen: compare the two")
    if last is not None and last.fields.locked:
        notes.append(f"the block was locked by {last.fields.locked}")
    if len(on_disk.text) > on_disk.fields.limit:
        notes.append(f"{len(on_disk.text) - on_disk.fields.limit:,} characters over its limit")
    return "; ".join(notes)


def write(
    layout: Layout,
    name: str,
    decide: Decide,
    *,
    now: float,
    base: int | None = None,
    begin: Callable[[Block, Step], None] = lambda _, __: None,
) -> tuple[Block, Step]:
    """Write one block; return it as it was before, and the step. `begin` gets both before anything is written.

    `decide` sees the current block, under the lock, and may raise BadEdit. `base` is the step that the writer read:
    Stale where there is a newer one. Limits are checked here, for all who write.
    """
    with locked(layout, now) as history:
        before = _current(layout, name, history)
        _check_base(layout, before, base, history)
        change = decide(before)
        if change.key and (repeats := [earlier for earlier in history.get(name, []) if earlier.key == change.key]):
            return before, repeats[-1]
        _check(before, change, history)
        return before, _write(layout, name, change, history, now, lambda step: begin(before, step))


def _current(layout: Layout, name: str, history: History) -> Block:
    block_files.path_of(layout, name)
    steps_of_block = history.get(name, [])
    block = _seen(layout, name, steps_of_block)
    if block.problem:
        raise BadEdit(f"{block.problem}: fix the file, or remove it to continue from the last step")
    return block


def _check(before: Block, change: Write, history: History) -> None:
    _check_right(before, change)
    if change.text is None or change.how == "undo":
        return
    check_fields(before.name, "", change.fields)
    check_text(before.name, change.text, change.fields)
    live = sum(_is_live(steps_of_block[-1]) for steps_of_block in history.values())
    if before.name not in history and live >= MOST_BLOCKS:
        raise BadEdit(f"there are {live} blocks, the most there may be: use one of them")


def _check_right(before: Block, change: Write) -> None:
    if before.fields.locked and change.how not in ("unlock", "undo"):
        raise BadEdit(f"{before.name} is locked by {before.fields.locked}: a person must unlock it first")
    if before.fields.read_only and not change.person:
        raise BadEdit(f"{before.name} is read-only for agents: propose the change, or tell a person")


def _check_base(layout: Layout, now: Block, base: int | None, history: History) -> None:
    if base is None or base == now.step:
        return
    base_step = next((step for step in history.get(now.name, []) if step.step == base), None)
    if base_step is None:
        raise Stale(f"{now.name} has no step {base}, it is at step {now.step}: read it again")
    newer = [step for step in history[now.name] if step.step > base]
    writers = "; ".join(f"step {step.step} by {step.by} ({step.how}, {step.at[:16]})" for step in newer[-3:])
    diff = shown_difference(_text_of(layout, base_step), now.text, f"step {base}", f"step {now.step}")
    news = f"What is new:\n{diff}" if diff.strip() else f"Its text is the same again: write on step {now.step}."
    raise Stale(f"{now.name} was written since you read step {base}: {writers}. Nothing was changed. {news}")


def _text_of(layout: Layout, step: Step) -> str:
    try:
        return block_files.stored_text(layout, step)
    except DamagedText:
        return ""


def _write(
    layout: Layout,
    name: str,
    change: Write,
    history: History,
    now: float,
    begin: Callable[[Step], None] = lambda _: None,
) -> Step:
    steps_of_block = history.get(name, [])
    text = change.text if change.text is not None else ""
    step = Step(
        name=name,
        step=steps_of_block[-1].step + 1 if steps_of_block else 1,
        at=times.iso(now),
        by=change.by,
        how=change.how,
        text=block_files.keep_text(layout, text),
        chars=len(text),
        trust=change.trust,
        fields=change.fields,
        source=change.source,
        note=change.note,
        key=change.key,
    )
    if change.text is None:
        step = msgspec.structs.replace(step, how="removed", note=change.note or change.how)
    begin(step)
    files.replace(layout.block_pending, msgspec.json.encode(step))
    _carry_out(layout, step, text, history)
    directories.remove(layout.block_pending)
    return step


def at_time(history: list[Step], moment: float) -> Step | None:
    """Return the step in force at a moment; None before the first."""
    return next((step for step in reversed(history) if times.epoch(step.at) <= moment), None)
