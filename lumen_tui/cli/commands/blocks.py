"""`blocks`: memory blocks, the short texts that are always in the main agent's context, and their history."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import AGENT, Session, by_agent, document, read_text, say, table, talk
from lumen_tui.model import ids, times
from lumen_tui.model.blocks import Block, Step, description
from lumen_tui.model.requests.base import Request
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
from lumen_tui.storage.files import StoreError
from lumen_tui.store.memory import blocks

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("blocks", "Memory blocks: what the main agent always has before it.", alone="list")
    listing = group.add("list", run_list, "Every block, with its size, age and author.", "blocks list")
    text = "One block: its fields and its text."
    show = group.add("show", run_show, text, "blocks show human")
    new = group.add("new", run_new, "Make a block.", 'blocks new projects "Site: launch in May." --limit 5000')
    new.fields(NewBlock)
    append = group.add("append", run_append, "Append a text.", 'blocks append human "Likes short answers."')
    append.fields(AppendToBlock, "name")
    append.fields(AppendToBlock, "text", nargs="?", default="")
    replace = group.add("replace", run_replace, "Replace a text that is there once.", "blocks replace human Kyiv Lviv")
    replace.fields(ReplaceInBlock)
    patch = group.add("patch", run_patch, "Apply a unified diff, exactly.", "blocks patch human --file change.diff")
    patch.fields(PatchBlock)
    patch.add_argument("-f", "--file", default="-", metavar="FILE", help="the diff; - is standard input [-]")
    rethink = group.add("rethink", run_rethink, "Replace the whole text.", "blocks rethink human --file human.txt")
    rethink.fields(RethinkBlock, "name")
    rethink.fields(RethinkBlock, "text", nargs="?", default="")
    rethink.fields(RethinkBlock, "base")
    for command in (new, append, rethink):
        command.add_argument(
            "-f", "--file", default="", metavar="FILE", help="the text from this file; - is standard input"
        )
    lock = group.add("lock", run_lock, "Lock it for agents and people.", "blocks lock persona")
    lock.fields(LockBlock)
    unlock = group.add("unlock", run_unlock, "Let it be written again.", "blocks unlock persona")
    unlock.fields(UnlockBlock)
    change = group.add(
        "set", run_set, "Change its limit, its description or who may write.", "blocks set human --limit 9000"
    )
    change.fields(AdjustBlock)
    others = _declare_history(group)
    show.fields(LockBlock)
    for command in (listing, show, new, append, replace, patch, rethink, lock, unlock, change, *others):
        command.json()


def _declare_history(group: CommandGroup) -> tuple[Parser, Parser]:
    text = "Every step of a block, the newest last."
    history = group.add("history", run_history, text, "blocks history human --diff")
    history.fields(LockBlock)
    history.add_argument("--diff", action="store_true", help="with what each step changed")
    text = "Restore an earlier text, byte for byte."
    restore = group.add("restore", run_restore, text, "blocks restore human --step 3")
    restore.fields(RestoreBlock, "name")
    restore.fields(RestoreBlock, "step", "at", into=restore.add_mutually_exclusive_group(required=True))
    return history, restore


def run_list(session: Session, args: Namespace) -> int:
    listed = _read_all(session)
    if args.json:
        document([described(block, session.now) for block in listed])
        return 0
    table([_row(block, session.now) for block in listed])
    for block in listed:
        _report_problems(block)
    return 0


def _read_all(session: Session) -> list[Block]:
    """Return every block; edits by hand are recorded first, where this folder is writable."""
    if os.access(session.root, os.W_OK):
        try:
            blocks.take_in(session.layout, session.now)
        except StoreError as error:
            talk(f"an edit by hand could not be recorded: {error}")
    return blocks.read_all(session.layout)


def _row(block: Block, now: float) -> tuple[str, ...]:
    age = times.ago(now - times.epoch(block.at)) if block.at else "empty"
    return (block.name, block.size, age, block.by, block.trust if block.at else "", marks(block), _purpose(block))


def marks(block: Block) -> str:
    """Return what keeps others from writing the block, and what is wrong with it."""
    words = [
        f"locked by {block.fields.locked}" if block.fields.locked else "",
        "read-only" if block.fields.read_only else "",
        f"{block.over:,} over" if block.over else "",
        "unreadable" if block.problem else "",
    ]
    return ", ".join(word for word in words if word)


def _purpose(block: Block) -> str:
    return description(block.name, block.fields)


def _report_problems(block: Block) -> None:
    for text in (block.problem, f"{block.name}: {block.note}" if block.note and block.how == "hand" else ""):
        if text:
            talk(text)


def described(block: Block, now: float) -> dict[str, object]:
    """Return one block as JSON."""
    return {
        "name": block.name,
        "text": block.text,
        "chars": block.chars,
        "limit": block.fields.limit,
        "over": block.over,
        "description": _purpose(block),
        "read_only": block.fields.read_only,
        "locked_by": block.fields.locked,
        "label": block.fields.label,
        "step": block.step,
        "at": block.at,
        "by": block.by,
        "how": block.how,
        "trust": block.trust,
        "source": block.source,
        "note": block.note,
        "problem": block.problem,
        "age_seconds": max(0.0, round(now - times.epoch(block.at), 3)) if block.at else None,
    }


def _name(args: Namespace) -> str:
    return ids.check_name(str(args.name), "block")


def run_show(session: Session, args: Namespace) -> int:
    block = next((candidate for candidate in _read_all(session) if candidate.name == args.name), None)
    if block is None:
        raise ActionError(f"there is no block {_name(args)}: `blocks list` names them", missing=True)
    if args.json:
        document(described(block, session.now))
        return 0
    _report_problems(block)
    talk("  ".join(cell for cell in (*_row(block, session.now), f"step {block.step}" if block.step else "") if cell))
    say(block.text) if block.text else talk("(empty)")
    return 0


def run_new(session: Session, args: Namespace) -> int:
    return _perform(session, args, request_of(NewBlock, args, text=_text(args), agent=by_agent()))


def _text(args: Namespace) -> str:
    """Return the text argument, or the text of --file. Raise ActionError for both."""
    if args.text and args.file:
        raise ActionError("give the text or --file, not both")
    return read_text(args.file) if args.file else str(args.text)


def _perform(session: Session, args: Namespace, request: Request) -> int:
    done: Done = session.perform(request)
    block = blocks.read(session.layout, args.name)
    if args.json:
        document({"id": done.target, "action_id": done.action_id, **described(block, session.now)})
    else:
        say(f"{done.summary}: step {block.step}, {block.size} characters")
    return 0


def run_append(session: Session, args: Namespace) -> int:
    return _perform(session, args, request_of(AppendToBlock, args, text=_text(args), agent=by_agent()))


def run_replace(session: Session, args: Namespace) -> int:
    return _perform(session, args, request_of(ReplaceInBlock, args, agent=by_agent()))


def run_patch(session: Session, args: Namespace) -> int:
    if args.file == "-" and sys.stdin.isatty():
        talk("the diff comes from standard input: end it with ctrl+d, or name a file with --file")
    return _perform(session, args, request_of(PatchBlock, args, diff=read_text(args.file), agent=by_agent()))


def run_rethink(session: Session, args: Namespace) -> int:
    text = _text(args)
    if not text and not args.file:
        raise ActionError("give the new text, or a file with --file; --file /dev/null empties the block")
    return _perform(session, args, request_of(RethinkBlock, args, text=text, agent=by_agent()))


def run_set(session: Session, args: Namespace) -> int:
    _require_person("changes who may write a block")
    return _perform(session, args, request_of(AdjustBlock, args))


def run_lock(session: Session, args: Namespace) -> int:
    return _perform(session, args, request_of(LockBlock, args))


def run_unlock(session: Session, args: Namespace) -> int:
    _require_person("unlocks a block")
    return _perform(session, args, request_of(UnlockBlock, args))


def _require_person(action: str) -> None:
    if by_agent():
        raise ActionError(f"only a person {action}: ask the operator (${AGENT} is set here)")


def run_restore(session: Session, args: Namespace) -> int:
    _require_person("puts an earlier text back")
    return _perform(session, args, request_of(RestoreBlock, args))


def run_history(session: Session, args: Namespace) -> int:
    _read_all(session)
    known = blocks.steps(session.layout, args.name)
    if not known:
        raise ActionError(f"{_name(args)} has no history: `blocks list` names the blocks", missing=True)
    if args.json:
        document(
            [{**_step(step), "diff": _diff(session, known, n) if args.diff else None} for n, step in enumerate(known)]
        )
        return 0
    if not args.diff:
        table([_step_row(step, session.now) for step in known])
        return 0
    for number, step in enumerate(known):
        say("  ".join(cell for cell in _step_row(step, session.now) if cell))
        say(_diff(session, known, number))
    return 0


def _step(step: Step) -> dict[str, object]:
    import msgspec

    return {key: value for key, value in msgspec.to_builtins(step).items() if key not in ("key", "schema")}


def _step_row(step: Step, now: float) -> tuple[str, ...]:
    age = times.ago(now - times.epoch(step.at))
    size = f"{step.chars:,} characters"
    return (str(step.step), step.at[:19], age, step.how, step.by, step.trust, size, step.source, step.note)


def _diff(session: Session, known: list[Step], number: int) -> str:
    from lumen_tui.queries.pages import step_diff

    return step_diff(session.layout, tuple(known), known[number].step) or "(the same text)\n"
