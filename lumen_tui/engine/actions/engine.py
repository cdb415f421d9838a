"""What an operator asks of a running engine: appended to commands.jsonl, answered in command-receipts.jsonl."""

from __future__ import annotations

from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.loop import Command
from lumen_tui.store import files
from lumen_tui.store.store import Store


def ask(store: Store, verb: str, *, by: str, now: float, target: str = "", reason: str = "") -> str:
    """Append one command; returns its id, under which the receipt comes."""
    command = Command(id=ids.new_id("cmd"), at=times.iso(now), verb=verb, target=target, reason=reason, by=by)
    store.commands.append(command)
    return command.id


def runs(store: Store) -> bool:
    """Whether an engine holds the lock."""
    return files.is_locked(store.layout.engine_lock)


def _must_run(store: Store) -> None:
    if not runs(store):
        raise ActionError("no engine runs on this state folder: start one with `lumen-tui --engine-only`", missing=True)


def beat(store: Store, *, by: str, now: float) -> Done:
    """Ask for a beat at once."""
    _must_run(store)
    return Done(summary="asked for a beat", target=ask(store, "beat", by=by, now=now))


def pause(store: Store, *, by: str, now: float, reason: str = "") -> Done:
    """Ask that nothing new is started. Without an engine the next one begins paused."""
    return Done(summary="asked to pause", target=ask(store, "pause", by=by, now=now, reason=reason))


def resume(store: Store, *, by: str, now: float) -> Done:
    """Ask to go on after a pause."""
    return Done(summary="asked to go on", target=ask(store, "resume", by=by, now=now))


def stop(store: Store, *, by: str, now: float, reason: str = "") -> Done:
    """Ask the engine to end; its workers go on."""
    _must_run(store)
    return Done(summary="asked the engine to stop", target=ask(store, "stop", by=by, now=now, reason=reason))
