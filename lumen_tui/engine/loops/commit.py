"""What follows from a packet, and from it alone: wake-state, receipts, loop-state. Doing it twice changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lumen_tui.model import agent, times
from lumen_tui.model.config import BudgetConfig, Config
from lumen_tui.model.loop import Artifact, LoopState, Packet, TokenBudget
from lumen_tui.model.packets import bound_by
from lumen_tui.model.records import Receipt
from lumen_tui.storage import files
from lumen_tui.storage.redaction import clean, clean_line
from lumen_tui.storage.store import Store

OFFLINE_NOTE = "Written without a model, from the engine's own records."

Today = Callable[[BudgetConfig, float], tuple[str, TokenBudget, float]]  # day, its tokens, its dollars


def settle(store: Store, before: LoopState | None, packet: Packet, config: Config, today: Today) -> LoopState:
    """Write everything that follows from a packet; loop-state comes last and says that it is done."""
    if not packet.failed:
        files.replace(store.layout.wake_state, clean(wake_text(packet)).encode())
    store.receipts.append_all(receipts(packet, config.agent.name))
    state = next_state(before, packet, config, today)
    files.replace(store.layout.loop_state, msgspec.json.format(clean_line(msgspec.json.encode(state)), indent=2))
    return state


def receipts(packet: Packet, reader: str) -> list[Receipt]:
    """Return receipts for what the agent was shown; none for a loop that failed."""
    at = packet.completed_at
    if packet.failed:
        return []
    if packet.read_upto:
        return [Receipt(packet.read_upto, at, reader=reader, upto=True, offset=packet.read_offset)]
    return [Receipt(signal_id, at, reader=reader) for signal_id in packet.read]


def wake_text(packet: Packet) -> str:
    """Return wake-state.md for the loop after `packet`."""
    body = _agent_account(packet) if packet.wake_state else _engine_account(packet)
    left_out = [f"- {item.what}: {item.why}" for item in (*packet.abandoned, *packet.decided_against)]
    if left_out:
        body += ["## Left out", *left_out, ""]
    if packet.ordered:
        body += [
            "## Ordered",
            "Their results come in with a later loop.",
            *(f"- {entry}" for entry in packet.ordered),
            "",
        ]
    body += ["## Constraints", *([f"- {entry}" for entry in bound_by(packet)] or ["None."]), ""]
    nothing = "Nothing but what was ordered." if packet.ordered else "Nothing is waiting."
    body += ["## Next", *([f"- {item}" for item in packet.next] or [nothing]), ""]
    return "\n".join([f"# Wake-state for loop {packet.loop + 1}", "", *body])


def _agent_account(packet: Packet) -> list[str]:
    """Return what the agent wrote for itself, and what it made."""
    artifacts = [f"- {item.title}: `{item.path}`" if item.path else f"- {item.title}" for item in packet.made]
    return [packet.wake_state, "", *(["## Made", *artifacts, ""] if artifacts else [])]


def _engine_account(packet: Packet) -> list[str]:
    """Return what the engine's records say."""
    artifacts = [f"- {item.title}: `{item.path}`" for item in packet.made]
    artifacts += [f"- {item}" for item in packet.done[len(packet.made) :]]
    came_in = [f"- {item}" for item in packet.came_in]
    return [
        OFFLINE_NOTE,
        "",
        "## Made",
        *(artifacts or ["Nothing."]),
        "",
        "## Mail and signals",
        *(came_in or ["None."]),
        "",
    ]


def is_empty(packet: Packet) -> bool:
    """Return whether the loop changed nothing. On a model, what came in is no change; offline it is."""
    if packet.brain == "offline":
        return not any(packet.changed.values())
    return not any(packet.changed.get(name) for name in agent.WORTH)


def next_state(before: LoopState | None, packet: Packet, config: Config, today: Today) -> LoopState:
    """Return the loop-state after `packet`."""
    ended = times.epoch(packet.completed_at)
    day, tokens, usd = today(config.budget, ended)
    failed = (before.failed_loops if before else 0) + 1 if packet.failed else 0
    empty = (before.empty_loops if before else 0) + 1 if not packet.failed and is_empty(packet) else 0
    every = config.heartbeat.every_minutes * 60
    pause, reason = _rest(packet, failed, empty, every)
    return LoopState(
        loop=packet.loop,
        completed_at=packet.completed_at,
        sleep_seconds=pause or every,
        last_artifact=packet.made[-1] if packet.made else (before.last_artifact if before else Artifact()),
        health=packet.health,
        abandoned=packet.abandoned,
        decided_against=packet.decided_against,
        token_budget=tokens,
        packet=packet.id,
        seconds=packet.seconds,
        cursor=packet.cursor,
        day=day,
        day_usd=usd,
        empty_loops=empty,
        failed_loops=failed,
        rests_until=times.iso(ended + pause) if pause else "",
        rests_why=reason,
        rev=(before.rev if before else 0) + 1,
    )


def _rest(packet: Packet, failed: int, empty: int, every: float) -> tuple[float, str]:
    """Return for how many seconds only urgent news starts a loop, and why."""
    if failed:
        return agent.rest_after(failed, 1, every), f"its last {failed} sessions failed" if failed > 1 else "it failed"
    if seconds := agent.rest_after(empty, agent.EMPTY_LOOPS, every) if packet.brain != "offline" else 0.0:
        return max(seconds, packet.sleep_seconds), f"its last {empty} loops changed nothing"
    return packet.sleep_seconds, packet.sleep_why
