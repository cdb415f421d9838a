"""The kill switch as an operator throws and lifts it. Neither is undone: the one is the other's way back."""

from __future__ import annotations

from lumen_tui.engine.actions import edits
from lumen_tui.engine.clock import SystemClock
from lumen_tui.engine.killing import end_all
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.text import one_line
from lumen_tui.store import files
from lumen_tui.store.people import history
from lumen_tui.store.store import Store
from lumen_tui.store.tasks.killfile import Kill, lift, read_kill, throw


def kill(store: Store, *, by: str, now: float, reason: str = "") -> Done:
    """End every worker at once and start nothing until `unkill`; this needs no engine and waits for none.

    Where it is killed already the first reason stays, and what is still alive ends.
    """
    there = read_kill(store.layout)
    wanted = there or Kill(at=times.iso(now), by=by, reason=one_line(reason, 400))
    failed: files.StoreError | None = None
    try:
        if there is None:
            throw(store.layout, wanted)
    except files.StoreError as error:
        failed = error  # on a full disk, too, the workers end
    running = SystemClock().running
    began = running()
    ended = end_all(store.layout, wanted, now, running)
    took = f"{len(ended)} worker{'' if len(ended) == 1 else 's'} ended in {running() - began:.2f} s"
    if failed is not None:
        raise ActionError(f"{took}, but an engine may start others: {failed}. Stop the engine by its process")
    what = f"already {there.words}" if there else "killed"
    said = f"{what}{';' if there else ':'} {took}; nothing starts until `lumen-tui unkill`"
    final = "`lumen-tui unkill` lets everything go on; workers that were ended begin anew with `task retry`"
    return _noted(store, "kill", said, by, now, one_line(reason, 400), final)


def unkill(store: Store, *, by: str, now: float) -> Done:
    """Let the engine go on; says who had killed it, when and why."""
    was = read_kill(store.layout)
    if was is None:
        raise ActionError("nothing is killed here", missing=True)
    lift(store.layout)
    when = f" ({times.said(was.at)})" if was.at else ""
    final = "`lumen-tui kill` ends every worker again"
    return _noted(store, "unkill", f"goes on; it was {was.words}{when}", by, now, "", final)


def _noted(store: Store, verb: str, said: str, by: str, now: float, reason: str, final: str) -> Done:
    """Put it in the journal; that this fails undoes nothing."""
    action = edits.new_action(verb, (), summary=said, by=by, now=now, reason=reason, final=final)
    try:
        history.record(store.layout, action)
    except files.StoreError as error:
        said = f"{said} (not in the journal: {error})"
    return Done(summary=said)
