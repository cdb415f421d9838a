"""What an operator asks of a running engine: appended to commands.jsonl, answered in command-receipts.jsonl."""

from __future__ import annotations

from lumen_tui.actions import checks, edits, resting
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.loop import Command
from lumen_tui.storage import locks
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.kill_file import read_kill

_WHEN = ("step", "task", "now")


def ask(
    store: Store, verb: str, *, by: str, now: float, target: str = "", reason: str = "", until: str = "",
    after: str = "",
) -> str:  # fmt: skip
    """Append one command; returns its id, under which the receipt comes."""
    command = Command(
        id=ids.new_id("cmd"), at=times.iso(now), verb=verb, target=target, reason=reason, by=by, until=until,
        after=after,
    )  # fmt: skip
    store.commands.append(command)
    return command.id


def runs(store: Store) -> bool:
    """Whether an engine holds the lock."""
    return locks.is_locked(store.layout.engine_lock)


def _must_run(store: Store) -> None:
    if not runs(store):
        raise ActionError("no engine runs on this state folder: start one with `lumen-tui --engine-only`", missing=True)


def beat(store: Store, *, by: str, now: float) -> Done:
    """Ask for a beat at once."""
    _must_run(store)
    final = "a beat that was asked for cannot be called off: `pause` keeps the next from starting anything"
    return _final(store, "engine.beat", "asked for a beat", ask(store, "beat", by=by, now=now), final, by=by, now=now)


def _final(store: Store, verb: str, said: str, sent: str, final: str, *, by: str, now: float) -> Done:
    """Note what was asked for and cannot be undone."""
    action = edits.new_action(verb, (), summary=said, by=by, now=now, target=sent, final=final)
    journal.record(store.layout, action)
    return Done(summary=said, target=sent, action_id=action.id)


def pause(
    store: Store, *, by: str, now: float, reason: str = "", target: str = "", seconds: float = 0.0, after: str = ""
) -> Done:  # fmt: skip
    """Ask for a pause: of everything, the `loop`, a `role:NAME`, or the worker of a task.

    `seconds` is how long it lasts, 0 until somebody resumes. `after` says when running workers rest: after their
    `task` (the default for everything), their `step` (the default for one worker) or `now`.
    Without an engine the next one begins paused.
    """
    found, what = _scope(store, target)
    after = _when(after, "task" if not found else "step")
    if not 0 <= seconds <= 366 * times.DAY:
        raise ActionError("a pause lasts up to a year; without --for it lasts until `resume`")
    if after == "task" and found and found != "loop" and not found.startswith("role:"):
        raise ActionError("one worker rests after its `step` or `now`; to end it use `task cancel`")
    until = times.iso(now + seconds) if seconds else ""
    said = f"asked to pause {what}" + (f" until {times.said(until)}" if until else "")
    wanted = Command(
        id=ids.new_id("cmd"), at=times.iso(now), verb="pause", target=found, reason=reason, by=by, until=until,
        after=after,
    )  # fmt: skip
    return resting.send(store, wanted, said, "engine.pause", by=by, now=now)


def resume(store: Store, *, by: str, now: float, target: str = "") -> Done:
    """Ask to go on after a pause: of one scope, or of everything, with whatever is paused by itself."""
    if kill := read_kill(store.layout):
        raise ActionError(f"the agent is {kill.words}; `lumen-tui unkill` lifts that, a pause is not what holds it")
    found, what = _scope(store, target)
    if found and not _is_paused(store, found, now):
        raise ActionError(f"{what} is not paused", missing=True)
    if not found and not _is_anything_paused(store, now):
        raise ActionError("nothing is paused", missing=True)
    more = [name for name in pauses.in_force(store.layout, now) if name != pauses.EVERYTHING]
    what += f" ({', '.join(more)} too)" if more and not found else ""
    wanted = Command(id=ids.new_id("cmd"), at=times.iso(now), verb="resume", target=found, by=by)
    return resting.send(store, wanted, f"asked to let {what} go on", "engine.resume", by=by, now=now)


def _is_paused(store: Store, target: str, now: float) -> bool:
    """Whether there is a pause of this one scope, or one on its way to the engine."""
    found = pauses.parts(store.layout)
    one = found.loop if target == "loop" else found.roles.get(target.removeprefix("role:"))
    if target != "loop" and not target.startswith("role:"):
        one = pauses.held(store.layout.task(target))
    if one is not None and not one.over(now):
        return True
    return target in _on_their_way(store)


def _is_anything_paused(store: Store, now: float) -> bool:
    """Whether there is a pause of anything, or one on its way to the engine."""
    if pauses.in_force(store.layout, now) or _on_their_way(store):
        return True
    return any(store.layout.tasks.glob(f"*/{pauses.HOLD_FILE}"))


def _on_their_way(store: Store) -> set[str]:
    """The targets of pauses that no engine has taken up yet."""
    return {one.target for one in resting.unanswered(store, "pause")}


def _scope(store: Store, target: str) -> tuple[str, str]:
    """What to pause, as a command names it, and in words."""
    if target in ("", "all"):
        return "", "everything"
    if target == "loop":
        return "loop", "the loop"
    if target.startswith("role:"):
        name = checks.role_name(store.layout, target.removeprefix("role:"))
        return f"role:{name}", f"role {name}"
    found = checks.task_id(store, target)
    return found, f"the worker of {ids.short(found)}"


def _when(after: str, usual: str) -> str:
    if after not in ("", "step", "task", "now"):
        raise ActionError(f"{after!r} is no moment: one of step, task, now", candidates=checks.nearest(after, _WHEN))
    return after or usual


def stop(store: Store, *, by: str, now: float, reason: str = "", after: str = "") -> Done:
    """Ask the engine to end. Its workers go on (`step`), it waits for them (`task`), or they end with it (`now`)."""
    _must_run(store)
    sent = ask(store, "stop", by=by, now=now, reason=reason, after=_when(after, "step"))
    final = "`lumen-tui --engine-only` starts an engine again, which goes on where this one stopped"
    return _final(store, "engine.stop", "asked the engine to stop", sent, final, by=by, now=now)
