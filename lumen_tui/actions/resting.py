"""Pauses and their ends: asked of the engine, and taken back before it did them or by asking for what was before."""

from __future__ import annotations

from typing import Any

import msgspec

from lumen_tui.actions import acting, edits
from lumen_tui.actions.outcome import Done
from lumen_tui.model import ids, times
from lumen_tui.model.loop import Command, CommandReceipt, Pause
from lumen_tui.model.records import Change
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.tasks import pauses

KIND = "pause"  # of a change
ALONE = "alone"  # of a resume: what is paused by itself stays so
Side = dict[str, Any]


def send(store: Store, command: Command, said: str, verb: str, *, by: str, now: float) -> Done:
    """Ask the engine for a pause or its end, as an action."""
    was = _all(store) if command.verb == "resume" and not command.target else [command.target]
    before = {"asked": False, "was": {scope: _paused(store, scope) for scope in was}}
    after = {"asked": True, "command": msgspec.to_builtins(command)}
    change = Change(KIND, command.target or pauses.EVERYTHING, before, after)
    action = edits.new_action(verb, [change], summary=said, by=by, now=now, reason=command.reason, target=command.id)
    with journal.carrying_out(store.layout, action):
        store.commands.append(command)
    return Done(summary=said, target=command.id, action_id=action.id)


def _all(store: Store) -> list[str]:
    """Every scope that a resume of everything ends: the names that commands have for them."""
    parts = pauses.parts(store.layout)
    held = [path.parent.name for path in store.layout.tasks.glob(f"*/{pauses.HOLD_FILE}")]
    return ["", *(["loop"] if parts.loop else []), *[f"role:{name}" for name in parts.roles], *held]


def _paused(store: Store, scope: str) -> Side | None:
    """The pause of one scope, over or not."""
    parts = pauses.parts(store.layout)
    if not scope:
        found = pauses.paused(store.layout)
    elif scope == "loop" or scope.startswith("role:"):
        found = parts.loop if scope == "loop" else parts.roles.get(scope.removeprefix("role:"))
    else:
        found = pauses.held(store.layout.task(scope))
    table: Side | None = msgspec.to_builtins(found) if found else None
    return table


def unanswered(store: Store, verb: str) -> list[Command]:
    """The commands of this verb that no engine has taken up yet."""
    answered = {receipt.command_id for receipt in store.command_receipts.records(CommandReceipt)}
    return [one for one in store.commands.records(Command) if one.verb == verb and one.id not in answered]


def take_back(store: Store, commands: list[Command]) -> None:
    """Answer commands that no engine has taken up, so that none does them."""
    for command in commands:
        text = "taken back before it was done"
        store.command_receipts.append(CommandReceipt(command_id=command.id, at=command.at, ok=False, text=text))


def _mine(store: Store, command: Command) -> list[Command]:
    waiting = unanswered(store, command.verb)
    return [one for one in waiting if (one.target, one.by) == (command.target, command.by)]


def _sides(change: Change) -> tuple[Side, Side]:
    """What was before it was asked, and what was asked for, whichever way the change leads."""
    first, second = change.before or {}, change.after or {}
    return (second, first) if first.get("asked") else (first, second)


def pause_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the pause, or the end of one, is in force or on its way to the engine."""
    not_asked, asked = _sides(change)
    command = msgspec.convert(asked["command"], Command)
    if _mine(store, command):
        return asked
    states = {scope: _paused(store, scope) for scope in not_asked["was"]}
    if command.verb == "resume":
        return asked if not any(states.values()) else not_asked
    there = states[command.target]
    is_ours = there is not None and (there.get("by", "operator"), there.get("until", "")) == (command.by, command.until)
    return asked if is_ours and there != not_asked["was"][command.target] else not_asked


def put_pause(store: Store, change: Change) -> str:
    """For undo: take it back before the engine did it, else ask for what was before; redo asks again."""
    not_asked, asked = _sides(change)
    command = msgspec.convert(asked["command"], Command)
    if (change.after or {}).get("asked"):
        _ask(store, command)
        return "the engine was asked again"
    if waiting := _mine(store, command):
        take_back(store, waiting)
        return ""
    for scope, was in not_asked["was"].items():
        _ask_for(store, scope, was)
    return "the engine was asked for that"


def _ask_for(store: Store, scope: str, was: Side | None) -> None:
    word = acting.word()
    if was is None:
        if _paused(store, scope):
            _ask(store, Command(id="", at="", verb="resume", target=scope, by=word.by, after=ALONE))
        return
    pause = msgspec.convert(was, Pause)
    _ask(
        store,
        Command(
            id="", at="", verb="pause", target=scope, reason=pause.reason, by=pause.by, until=pause.until,
            after=pause.after,
        ),
    )  # fmt: skip


def _ask(store: Store, command: Command) -> None:
    now = times.iso(acting.word().now)
    store.commands.append(msgspec.structs.replace(command, id=ids.new_id("cmd"), at=now))
