"""Requests to a running engine: appended to commands.jsonl, answered in command-receipts.jsonl, taken back by undo."""

from __future__ import annotations

import msgspec

from lumen_tui.actions import acting, checks, edits, refusal
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.loop import Command, CommandReceipt, Pause
from lumen_tui.model.records import Change
from lumen_tui.model.requests.engine import PauseAgent, RequestBeat, ResumeAgent, StopEngine
from lumen_tui.storage import locks
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import read_kill

_WHEN = ("step", "task", "now")
PAUSE_KIND = "pause"  # of a change
ALONE = "alone"  # of a resume: what is paused by itself stays so


def ask(
    store: Store,
    verb: str,
    *,
    by: str,
    now: float,
    target: str = "",
    reason: str = "",
    until: str = "",
    after: str = "",
) -> str:
    """Append one command; return its id, which the receipt names."""
    command = Command(
        id=ids.new_id("cmd"),
        at=times.iso(now),
        verb=verb,
        target=target,
        reason=reason,
        by=by,
        until=until,
        after=after,
    )
    store.commands.append(command)
    return command.id


def runs(store: Store) -> bool:
    """Return whether an engine holds the lock."""
    return locks.is_locked(store.layout.engine_lock)


def _must_run(store: Store) -> None:
    if not runs(store):
        raise ActionError("no engine runs on this state folder: start one with `lumen-tui --engine-only`", missing=True)


def beat(store: Store, _request: RequestBeat, *, by: str, now: float) -> Done:
    """Append to commands.jsonl for the engine that runs; final."""
    _must_run(store)
    command = Command(id=ids.new_id("cmd"), at=times.iso(now), verb="beat", by=by)
    final = "a beat that was asked for cannot be called off: `pause` keeps the next from starting anything"
    return _send_final(store, command, "asked for a beat", "engine.beat", final, by=by, now=now)


def _send_final(store: Store, command: Command, summary: str, verb: str, final: str, *, by: str, now: float) -> Done:
    """Send a request that cannot be undone."""
    action = edits.new_action(verb, (), summary=summary, by=by, now=now, target=command.id, final=final)
    with journal.carrying_out(store.layout, action):
        store.commands.append(command)
    return Done(summary=summary, target=command.id, action_id=action.id)


def pause(store: Store, request: PauseAgent, *, by: str, now: float) -> Done:
    """Request a pause: of everything, the `loop`, a `role:NAME`, a `provider:NAME`, or the worker of a task.

    `seconds` is how long it lasts, 0 until somebody resumes. `after` says when running workers rest: after their `task`
    (the default for everything), their `step` (the default for one worker) or `now`. Without an engine the next one
    begins paused.
    """
    scope, scope_text = _scope(store, request.target)
    after = _when(request.after, "task" if not scope else "step")
    if not 0 <= request.seconds <= 366 * times.DAY:
        raise ActionError("a pause lasts up to a year; without --for it lasts until `resume`")
    if after == "task" and scope and scope != "loop" and not scope.startswith(("role:", pauses.PROVIDER)):
        raise ActionError("one worker pauses after its `step` or `now`; to end it use `task cancel`")
    until = times.iso(now + request.seconds) if request.seconds else ""
    summary = f"paused {scope_text}" + (f" until {times.stamp_of(until)}" if until else "")
    command = Command(
        id=ids.new_id("cmd"),
        at=times.iso(now),
        verb="pause",
        target=scope,
        reason=request.reason,
        by=by,
        until=until,
        after=after,
    )
    return _send(store, command, summary, "engine.pause", by=by, now=now)


def resume(store: Store, request: ResumeAgent, *, by: str, now: float) -> Done:
    """Append to commands.jsonl, with the pauses that hold now as what undo restores."""
    if kill := read_kill(store.layout):
        raise ActionError(f"the agent is {kill.words}; `lumen-tui unkill` lifts that, a pause is not what holds it")
    scope, scope_text = _scope(store, request.target)
    if scope and not _is_paused(store, scope, now):
        raise ActionError(f"{scope_text} is not paused", missing=True)
    if not scope and not _is_anything_paused(store, now):
        raise ActionError("nothing is paused", missing=True)
    more = [name for name in pauses.in_force(store.layout, now) if name != pauses.EVERYTHING]
    scope_text += f" ({', '.join(more)} too)" if more and not scope else ""
    command = Command(id=ids.new_id("cmd"), at=times.iso(now), verb="resume", target=scope, by=by)
    return _send(store, command, f"resumed {scope_text}", "engine.resume", by=by, now=now)


def _is_paused(store: Store, target: str, now: float) -> bool:
    """Return whether this one scope is paused, or a pause of it is on its way to the engine."""
    in_force = pauses.parts(store.layout)
    kind, _, name = target.partition(":")
    known = {"loop": in_force.loop, "role": in_force.roles.get(name), "provider": in_force.providers.get(name)}
    held = known[kind] if kind in known else pauses.held(store.layout.task(target))
    if held is not None and not held.over(now):
        return True
    return target in _on_their_way(store)


def _is_anything_paused(store: Store, now: float) -> bool:
    """Return whether anything is paused, or a pause is on its way to the engine."""
    if pauses.in_force(store.layout, now) or _on_their_way(store):
        return True
    return any(store.layout.tasks.glob(f"*/{pauses.HOLD_FILE}"))


def _on_their_way(store: Store) -> set[str]:
    """Return the targets of pauses that no engine has picked up yet."""
    return {command.target for command in unanswered(store, "pause")}


def _scope(store: Store, target: str) -> tuple[str, str]:
    """Return what to pause, as a command names it, and in words."""
    if target in ("", "all"):
        return "", "all"
    if target == "loop":
        return "loop", "the loop"
    if target.startswith(pauses.PROVIDER):
        from lumen_tui.model.config import is_endpoint  # few pauses name a provider

        name = target.removeprefix(pauses.PROVIDER)
        if not is_endpoint(load_config(store.layout)[0].models, name):
            raise ActionError(f"{name!r} is no provider", missing=True)
        return target, f"provider {name}"
    if target.startswith("role:"):
        name = checks.role_name(store.layout, target.removeprefix("role:"))
        return f"role:{name}", f"role {name}"
    task_id = checks.task_id(store, target)
    return task_id, f"the worker of {ids.short(task_id)}"


def _when(after: str, usual: str) -> str:
    if after not in ("", "step", "task", "now"):
        raise ActionError(f"{after!r} is no moment: one of step, task, now", candidates=refusal.nearest(after, _WHEN))
    return after or usual


def stop(store: Store, request: StopEngine, *, by: str, now: float) -> Done:
    """Append to commands.jsonl for the engine that runs; final."""
    _must_run(store)
    after = _when(request.after, "step")
    command = Command(id=ids.new_id("cmd"), at=times.iso(now), verb="stop", reason=request.reason, by=by, after=after)
    final = "`lumen-tui --engine-only` starts an engine again, which goes on where this one stopped"
    return _send_final(store, command, "asked the engine to stop", "engine.stop", final, by=by, now=now)


def _send(store: Store, command: Command, summary: str, verb: str, *, by: str, now: float) -> Done:
    """Send a pause or resume to the engine, as an action."""
    was = _paused_scopes(store) if command.verb == "resume" and not command.target else [command.target]
    before = {"asked": False, "was": {scope: _paused(store, scope) for scope in was}}
    after = {"asked": True, "command": msgspec.to_builtins(command)}
    change = Change(PAUSE_KIND, command.target or pauses.EVERYTHING, before, after)
    action = edits.new_action(verb, [change], summary=summary, by=by, now=now, reason=command.reason, target=command.id)
    with journal.carrying_out(store.layout, action):
        store.commands.append(command)
    return Done(summary=summary, target=command.id, action_id=action.id)


def _paused_scopes(store: Store) -> list[str]:
    """Return every scope that a resume of everything ends, as commands name them."""
    parts = pauses.parts(store.layout)
    held = [path.parent.name for path in store.layout.tasks.glob(f"*/{pauses.HOLD_FILE}")]
    named = [f"role:{name}" for name in parts.roles] + [f"{pauses.PROVIDER}{name}" for name in parts.providers]
    return ["", *(["loop"] if parts.loop else []), *named, *held]


def _paused(store: Store, scope: str) -> Side | None:
    """Return the pause of one scope, even if its time is over."""
    parts = pauses.parts(store.layout)
    if not scope:
        pause = pauses.paused(store.layout)
    elif scope.startswith(pauses.PROVIDER):
        pause = parts.providers.get(scope.removeprefix(pauses.PROVIDER))
    elif scope == "loop" or scope.startswith("role:"):
        pause = parts.loop if scope == "loop" else parts.roles.get(scope.removeprefix("role:"))
    else:
        pause = pauses.held(store.layout.task(scope))
    table: Side | None = msgspec.to_builtins(pause) if pause else None
    return table


def unanswered(store: Store, verb: str) -> list[Command]:
    """Return the commands of this verb that no engine has picked up yet."""
    answered = {receipt.command_id for receipt in store.command_receipts.records(CommandReceipt)}
    return [
        command for command in store.commands.records(Command) if command.verb == verb and command.id not in answered
    ]


def take_back(store: Store, commands: list[Command]) -> None:
    """Answer commands that no engine has picked up, so that none carries them out."""
    for command in commands:
        text = "taken back before it was done"
        store.command_receipts.append(CommandReceipt(command_id=command.id, at=command.at, ok=False, text=text))


def _same_requests(store: Store, command: Command) -> list[Command]:
    waiting = unanswered(store, command.verb)
    return [sent for sent in waiting if (sent.target, sent.by) == (command.target, command.by)]


def _sides(change: Change) -> tuple[Side, Side]:
    """Return the state before the request and the request itself, whichever way the change leads."""
    first, second = change.before or {}, change.after or {}
    return (second, first) if first.get("asked") else (first, second)


def pause_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the pause, or the end of one, is in force or on its way to the engine."""
    not_asked, asked_side = _sides(change)
    command = msgspec.convert(asked_side["command"], Command)
    if _same_requests(store, command):
        return asked_side
    states = {scope: _paused(store, scope) for scope in not_asked["was"]}
    if command.verb == "resume":
        return asked_side if not any(states.values()) else not_asked
    current = states[command.target]
    by = current.get("by", "operator") if current else ""
    is_ours = current is not None and by == command.by and current.get("until", "") == command.until
    return asked_side if is_ours and current != not_asked["was"][command.target] else not_asked


def put_pause(store: Store, change: Change) -> str:
    """For undo: withdraw the request if the engine has not done it, else request the former state; redo asks again."""
    not_asked, asked_side = _sides(change)
    command = msgspec.convert(asked_side["command"], Command)
    if (change.after or {}).get("asked"):
        _append(store, command)
        return "the engine was asked again"
    if waiting := _same_requests(store, command):
        take_back(store, waiting)
        return ""
    for scope, was in not_asked["was"].items():
        _restore_pause(store, scope, was)
    return "the engine was asked for that"


def _restore_pause(store: Store, scope: str, was: Side | None) -> None:
    order = acting.caller()
    if was is None:
        if _paused(store, scope):
            _append(store, Command(id="", at="", verb="resume", target=scope, by=order.by, after=ALONE))
        return
    pause = msgspec.convert(was, Pause)
    _append(
        store,
        Command(
            id="",
            at="",
            verb="pause",
            target=scope,
            reason=pause.reason,
            by=pause.by,
            until=pause.until,
            after=pause.after,
        ),
    )


def _append(store: Store, command: Command) -> None:
    now = times.iso(acting.caller().now)
    store.commands.append(msgspec.structs.replace(command, id=ids.new_id("cmd"), at=now))
