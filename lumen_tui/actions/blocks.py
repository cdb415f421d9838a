"""Verbs on memory blocks. Each is one step in the block's history and one action that can be undone."""

from __future__ import annotations

import msgspec

from lumen_tui.actions import edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.blocks import (
    STANDARD,
    BadEdit,
    Block,
    Fields,
    Step,
    appended,
    check_fields,
    replaced,
    weaker,
    with_fields,
)
from lumen_tui.model.records import Change
from lumen_tui.model.requests.blocks import (
    AdjustBlock,
    AppendToBlock,
    LockBlock,
    NewBlock,
    PatchBlock,
    ReplaceInBlock,
    RestoreBlock,
    RethinkBlock,
    UnlockBlock,
)
from lumen_tui.storage import files
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import block_files, blocks
from lumen_tui.store.memory.blocks import Decide, Write
from lumen_tui.tools.files import patching

KIND = "block"


def new(store: Store, request: NewBlock, *, by: str, now: float) -> Done:
    """Write the first step under the lock of the block, with the trust of its author."""

    def decide(before: Block) -> Write:
        if before.at:
            raise ActionError(f"there is a block {request.name} already: append, replace, patch or rethink it")
        fields = with_fields(
            before.fields,
            description=request.description or None,
            limit=request.limit or None,
            read_only=request.read_only or None,
        )
        return Write(
            request.text,
            check_fields(request.name, request.text, fields),
            by,
            "new",
            _author_trust(request.agent),
            person=not request.agent,
        )

    return _write(store, request.name, decide, verb="block.new", summary=f"block {request.name} made", by=by, now=now)


def append(store: Store, request: AppendToBlock, *, by: str, now: float) -> Done:
    """Write a step from the text as it is under the lock of the block."""

    def decide(before: Block) -> Write:
        return _partial_write(before, appended(before.text, request.text), "append", by, request.agent)

    return _write(
        store, request.name, decide, verb="block.append", summary=f"appended to {request.name}", by=by, now=now
    )


def replace(store: Store, request: ReplaceInBlock, *, by: str, now: float) -> Done:
    """Write a step; the text to replace is looked for under the lock of the block."""

    def decide(before: Block) -> Write:
        return _partial_write(
            before, replaced(request.name, before.text, request.old, request.new), "replace", by, request.agent
        )

    return _write(
        store, request.name, decide, verb="block.replace", summary=f"replaced a text in {request.name}", by=by, now=now
    )


def patch(store: Store, request: PatchBlock, *, by: str, now: float) -> Done:
    """Write a step; the hunks are fitted to the text as it is under the lock of the block."""

    def decide(before: Block) -> Write:
        return _partial_write(before, patched(request.name, before.text, request.diff), "patch", by, request.agent)

    return _write(store, request.name, decide, verb="block.patch", summary=f"patched {request.name}", by=by, now=now)


def patched(name: str, text: str, diff: str) -> str:
    """Return the text after a diff; file names in it do not matter, as long as it is about one file."""
    headed = diff if diff.startswith("--- ") or "\n--- " in diff[:2000] else f"--- {name}\n+++ {name}\n{diff}"
    try:
        patches = patching.parse("\n".join(_with_uniform_header(headed.replace("\r\n", "\n").split("\n"), name)))
        if len(patches) != 1:
            raise BadEdit(f"the patch is about {len(patches)} files, a block is one")
        return _applied(patches[0], text)
    except patching.BadPatch as error:
        raise BadEdit(f"{error}; nothing was changed") from error


def _applied(patch: patching.FilePatch, text: str) -> str:
    """Apply a patch; one that says nothing of a missing last newline fits a text without one."""
    try:
        return patching.apply(patch, text)
    except patching.BadPatch:
        if text.endswith("\n") or not text:
            raise
        return patching.apply(patch, text + "\n").removesuffix("\n")


def _with_uniform_header(lines: list[str], name: str) -> list[str]:
    """Rewrite the first file header to name this block, whatever the two sides were called."""
    at = next((n for n, line in enumerate(lines[:-1]) if line.startswith("--- ") and lines[n + 1][:4] == "+++ "), None)
    if at is not None:
        lines[at : at + 2] = [f"--- {name}", f"+++ {name}"]
    return lines


def rethink(store: Store, request: RethinkBlock, *, by: str, now: float) -> Done:
    """Write a step under the lock of the block, where the newest one is compared with `base`."""

    def decide(before: Block) -> Write:
        if request.text == before.text and before.at:
            raise ActionError(f"{request.name} says exactly that already", missing=True)
        trust = weaker(before.trust, "agent") if request.agent and before.text.strip() else _author_trust(request.agent)
        return Write(request.text, before.fields, by, "rethink", trust, person=not request.agent)

    return _write(
        store,
        request.name,
        decide,
        verb="block.rethink",
        summary=f"{request.name} rewritten",
        by=by,
        now=now,
        base=request.base,
    )


def adjust(store: Store, request: AdjustBlock, *, by: str, now: float) -> Done:
    """Write a step with the same text and other fields, which must leave room for it."""

    def decide(before: Block) -> Write:
        _must_exist(before)
        fields = with_fields(
            before.fields, limit=request.limit, description=request.description, read_only=request.read_only
        )
        if fields == before.fields:
            raise ActionError(f"{request.name} is like that already", missing=True)
        return _with_fields_only(before, check_fields(request.name, before.text, fields), "set", by)

    return _write(store, request.name, decide, verb="block.adjust", summary=f"{request.name} adjusted", by=by, now=now)


def lock(store: Store, request: LockBlock, *, by: str, now: float) -> Done:
    """Write a step with the same text, locked in the name of `by`."""

    def decide(before: Block) -> Write:
        _must_exist(before)
        return _with_fields_only(before, with_fields(before.fields, locked=by), "lock", by)

    return _write(store, request.name, decide, verb="block.lock", summary=f"{request.name} locked", by=by, now=now)


def unlock(store: Store, request: UnlockBlock, *, by: str, now: float) -> Done:
    """Write a step with the same text and nobody who locked it."""

    def decide(before: Block) -> Write:
        if not before.fields.locked:
            raise ActionError(f"{request.name} is not locked", missing=True)
        return _with_fields_only(before, with_fields(before.fields, locked=""), "unlock", by)

    return _write(store, request.name, decide, verb="block.unlock", summary=f"{request.name} unlocked", by=by, now=now)


def restore(store: Store, request: RestoreBlock, *, by: str, now: float) -> Done:
    """Write a step with the text and the trust of an earlier one; a block that is gone gets its fields as well."""
    target = _step_to_restore(store, request.name, request.step, request.at)

    def decide(before: Block) -> Write:
        text = block_files.stored_text(store.layout, target)
        if text == before.text and before.at:
            raise ActionError(f"{request.name} is as at step {target.step} already", missing=True)
        fields = before.fields if before.at else with_fields(target.fields, locked="")
        return Write(text, fields, by, "restore", target.trust, note=f"as at step {target.step}", source=target.source)

    summary = f"{request.name} put back to step {target.step}"
    return _write(store, request.name, decide, verb="block.restore", summary=summary, by=by, now=now)


def _step_to_restore(store: Store, name: str, step: int, at: str) -> Step:
    known = blocks.steps(store.layout, ids.check_name(name, "block"))
    if not known:
        raise ActionError(f"{name} has no history", missing=True)
    if bool(step) == bool(at):
        raise ActionError("name one of them: a step, or a time")
    match = (
        blocks.at_time(known, _parse_time(at))
        if at
        else next((known_step for known_step in known if known_step.step == step), None)
    )
    if match is None or match.how == "removed":
        missing = f"text at {at}" if at else f"step {step} with a text"
        raise ActionError(f"{name} has no {missing}: `blocks history {name}` lists its steps", missing=True)
    return match


def _parse_time(text: str) -> float:
    try:
        return times.parse_iso(text)
    except ValueError as error:
        raise ActionError(f"{text!r} is no time: write it as 2026-03-01T07:30:00Z") from error


def _author_trust(agent: bool) -> str:
    return "agent" if agent else "person"


def _partial_write(before: Block, text: str, how: str, by: str, agent: bool) -> Write:
    """Return a write that keeps part of the text: its trust is that of the weakest part."""
    trust = weaker(before.trust, _author_trust(agent)) if before.text.strip() else _author_trust(agent)
    source = before.source if trust == before.trust else ""
    return Write(text, before.fields, by, how, trust, source=source, person=not agent)


def _with_fields_only(before: Block, fields: Fields, how: str, by: str) -> Write:
    return Write(before.text, fields, by, how, before.trust, source=before.source)


def _must_exist(before: Block) -> None:
    if not before.at and before.name not in STANDARD:
        raise ActionError(f"there is no block {before.name}: make it with `blocks new {before.name}`", missing=True)


def _write(
    store: Store, name: str, decide: Decide, *, verb: str, summary: str, by: str, now: float, base: int | None = None
) -> Done:
    """Write a block as an action."""

    def known(before: Block) -> Write:
        if verb not in ("block.new", "block.restore"):
            _must_exist(before)
        return decide(before)

    action_id = write_as_action(store, name, known, verb=verb, summary=summary, by=by, now=now, base=base)
    return Done(summary=summary, target=name, action_id=action_id)


def write_as_action(
    store: Store, name: str, decide: Decide, *, verb: str, summary: str, by: str, now: float, base: int | None = None
) -> str:
    """Write a block as an action and return the action's id; empty if the step is there under its key already."""
    ids_made: list[str] = []

    def begin(before: Block, step: Step) -> None:
        action = edits.new_action(verb, [change_of(before, step)], summary=summary, by=by, now=now)
        transaction.announce(action)
        ids_made.append(action.id)

    with journal.Transaction(store.layout) as transaction:
        try:
            blocks.write(store.layout, name, decide, now=now, base=base, begin=begin)
        except files.StoreError:
            transaction.partly_done()  # its step may be written, or pending
            raise
    return next(iter(ids_made), "")


def change_of(before: Block, step: Step) -> Change:
    """Return what a step changed, for the journal of actions."""
    return Change(KIND, before.name, block_side(before), _step_side(step))


def block_side(block: Block) -> Side | None:
    """Return a block as one side of a Change; None where there is none."""
    if not block.at:
        return None
    return _side(block_files.digest_of(block.text), block.fields, block.trust)


def _step_side(step: Step) -> Side | None:
    return None if step.how == "removed" else _side(step.text, step.fields, step.trust)


def _side(text: str, fields: Fields, trust: str) -> Side:
    return {"text": text, "trust": trust, "fields": msgspec.to_builtins(fields)}


def block_now(store: Store, change: Change) -> Side | None:
    """For undo: the current block, or what the next writer will make of it after a crash during a step."""
    if (step := blocks.pending(store.layout)) is not None and step.name == change.key:
        return _step_side(step)
    return block_side(blocks.read(store.layout, change.key))


def put_block(store: Store, change: Change) -> None:
    """For undo: bring a block to the change's `after`."""
    last = blocks.steps(store.layout, change.key)[-1:]
    _put(store, change.key, change.after, times.epoch(last[0].at) if last else 0.0)


def _put(store: Store, name: str, side: Side | None, now: float) -> None:
    if side is None:
        blocks.write(store.layout, name, lambda before: Write(None, before.fields, "undo", "undo"), now=now)
        return
    text = block_files.text_at(store.layout, side["text"])
    fields = msgspec.convert(side["fields"], Fields)
    blocks.write(store.layout, name, lambda _: Write(text, fields, "undo", "undo", side["trust"]), now=now)
