"""One loop of the main agent where there is no model: its story is made of what really happened, and says so.

The packet is the commit point. It is appended first; wake-state, receipts and loop-state follow from it alone,
so that a loop cut off by a kill is completed from its packet and never run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from lumen_tui.engine.events import EventLog
from lumen_tui.model import ids, times
from lumen_tui.model.config import Config
from lumen_tui.model.loop import (
    Artifact,
    EngineEvent,
    Health,
    LeftOut,
    LoopState,
    Packet,
    TokenBudget,
)
from lumen_tui.model.records import Receipt, Signal
from lumen_tui.model.tasks import Usage
from lumen_tui.model.text import one_line
from lumen_tui.store import cursor, files
from lumen_tui.store.signalindex import decode_signal
from lumen_tui.store.store import Store
from lumen_tui.store.taskindex import TaskIndex
from lumen_tui.store.taskread import read_json

_SHOWN = 12  # entries of one kind that a packet names; the rest are counted
OFFLINE_NOTE = "Written without a model, from the engine's own records."


@dataclass
class News:
    """What came in since the last loop."""

    ended: list[EngineEvent]
    signals: list[tuple[int, Signal]]
    discoveries: int
    cursor: dict[str, Any]

    def __bool__(self) -> bool:
        return bool(self.ended or self.signals or self.discoveries)


class MainLoop:
    """Runs loops and keeps their numbers: never back, never twice."""

    def __init__(self, store: Store, log: EventLog, tasks: TaskIndex, *, agent: str) -> None:
        self._store, self._log, self._tasks, self._agent = store, log, tasks, agent
        self.state = read_json(store.layout.loop_state, LoopState)

    def recover(self, config: Config) -> bool:
        """Complete a loop whose packet is durable and whose loop-state is not; True where there was one."""
        last = self._last_packet()
        if last is None or (self.state is not None and self.state.loop >= last.loop):
            return False
        self._settle(last, config)
        return True

    def _last_packet(self) -> Packet | None:
        for line in reversed(files.read_tail(self._store.layout.packets, 256 * 1024).splitlines()):
            try:
                return msgspec.json.decode(line, type=Packet)
            except msgspec.MsgspecError:
                continue
        return None

    def news(self) -> News:
        """What there is for the agent; reading it changes nothing."""
        before = self.state.cursor if self.state else {}
        events = self._log.since(int(before.get("events", 0)))
        signal_lines, signals_at = cursor.lines_after(self._store.layout.signals, before.get("signals", {}))
        node_lines, nodes_at = cursor.lines_after(self._store.layout.memory, before.get("memory", {}))
        found = [(offset, signal) for offset, line in signal_lines if (signal := _signal(line))]
        return News(
            ended=[event for event in events if event.kind == "task_ended"],
            signals=[(offset, signal) for offset, signal in found if not signal.read and signal.sender != self._agent],
            discoveries=sum(_is_new_discovery(line) for _, line in node_lines),
            cursor={"events": self._log.seq, "signals": signals_at, "memory": nodes_at},
        )

    def run(self, news: News, config: Config, now: float, finished: float) -> Packet:
        """One loop on what came in: packet, wake-state, receipt, loop-state, in that order."""
        packet = self._packet(news, now, finished)
        self._store.packets.append(packet)
        self._settle(packet, config)
        if news.signals:
            offset, newest = news.signals[-1]
            at = times.iso(finished)
            self._store.receipts.append(Receipt(newest.id, at, reader=self._agent, upto=True, offset=offset))
        return packet

    def _packet(self, news: News, now: float, finished: float) -> Packet:
        done = [event for event in news.ended if event.data.get("status") == "done"]
        bad = [event for event in news.ended if event.data.get("status") != "done"]
        made = tuple(artifact for event in done if (artifact := self._artifact(event)))
        last = max(self.state.loop if self.state else 0, getattr(self._last_packet(), "loop", 0))
        return Packet(
            id=ids.new_id("pkt"), loop=last + 1, started_at=times.iso(now), completed_at=times.iso(finished),
            came_in=_shown([_signal_words(signal) for _, signal in news.signals], "signals"),
            done=_shown([one_line(event.text, 120) for event in done], "tasks"), made=made[-_SHOWN:],
            abandoned=tuple(_left_out(event) for event in bad[:_SHOWN]), next=_next(news, bad), health=_health(bad),
            changed={"tasks_done": len(done), "tasks_failed": len(bad), "signals_read": len(news.signals),
                     "discoveries_added": news.discoveries},
            cursor=news.cursor, usage=_usage(news.ended), seconds=round(max(0.0, finished - now), 3),
        )  # fmt: skip

    def _artifact(self, event: EngineEvent) -> Artifact | None:
        folder = self._tasks.folder(event.task_id)
        if folder is None or not (folder / "result.md").exists():
            return None
        path = str((folder / "result.md").relative_to(self._store.root))
        return Artifact(kind="report", path=path, title=one_line(event.text.partition(": ")[2], 120))

    def _settle(self, packet: Packet, config: Config) -> None:
        """Everything that follows from a packet."""
        files.replace(self._store.layout.wake_state, wake_text(packet).encode())
        state = next_state(self.state, packet, config)
        files.replace(self._store.layout.loop_state, msgspec.json.format(msgspec.json.encode(state), indent=2))
        self.state = state


def _signal(line: bytes) -> Signal | None:
    try:
        return decode_signal(line)
    except (msgspec.MsgspecError, AttributeError):
        return None


def _is_new_discovery(line: bytes) -> bool:
    """Whether a line of memory.jsonl is the first of an open discovery: later lines carry `updated_at`."""
    return b'"discovery"' in line and b'"updated_at"' not in line and b'"archived"' not in line


def _shown(words: list[str], kind: str) -> tuple[str, ...]:
    if len(words) <= _SHOWN:
        return tuple(words)
    return (*words[-_SHOWN:], f"and {len(words) - _SHOWN} more {kind}")


def _signal_words(signal: Signal) -> str:
    place = f" on {signal.wu_id}" if signal.wu_id else ""
    return one_line(f"{signal.message} ({signal.sender}{place})", 160)


def _left_out(event: EngineEvent) -> LeftOut:
    why = event.data.get("reason") or event.data.get("status", "")
    return LeftOut(what=one_line(event.text, 120), why=one_line(str(why), 160))


def _next(news: News, bad: list[EngineEvent]) -> tuple[str, ...]:
    steps = [f"Look at {one_line(event.text, 100)}: retry or dismiss it." for event in bad[:3]]
    if news.discoveries:
        steps.append(f"Triage {news.discoveries} new {'discovery' if news.discoveries == 1 else 'discoveries'}.")
    return tuple(steps)


def _health(bad: list[EngineEvent]) -> Health:
    if not bad:
        return Health()
    return Health(status="degraded", note=f"{len(bad)} {'task' if len(bad) == 1 else 'tasks'} did not end well")


def _usage(ended: list[EngineEvent]) -> Usage:
    tokens = sum(int(event.data.get("tokens", 0)) for event in ended)
    return Usage(input_tokens=tokens, usd=sum(float(event.data.get("usd", 0.0)) for event in ended))


def wake_text(packet: Packet) -> str:
    """wake-state.md for the loop after `packet`."""
    made = [f"- {item.title}: `{item.path}`" for item in packet.made] + [
        f"- {item}" for item in packet.done[len(packet.made) :]
    ]
    lines = [f"# Wake-state for loop {packet.loop + 1}", "", OFFLINE_NOTE, "", "## Made", *(made or ["Nothing."]), ""]
    lines += ["## Mail and signals", *([f"- {item}" for item in packet.came_in] or ["None."]), ""]
    if packet.abandoned:
        lines += ["## Left out", *[f"- {item.what}: {item.why}" for item in packet.abandoned], ""]
    lines += ["## Next", *([f"- {item}" for item in packet.next] or ["Nothing is waiting."]), ""]
    return "\n".join(lines)


def next_state(before: LoopState | None, packet: Packet, config: Config) -> LoopState:
    """The loop-state after `packet`; spend is counted by UTC day."""
    ended = times.epoch(packet.completed_at)
    day = datetime.fromtimestamp(ended, UTC).strftime("%Y-%m-%d")
    same_day = before is not None and before.day == day
    used = (before.token_budget.used if before and same_day else 0) + packet.usage.tokens
    limit = config.budget.day_tokens
    empty = not any(packet.changed.values())
    return LoopState(
        loop=packet.loop, completed_at=packet.completed_at, sleep_seconds=config.heartbeat.every_minutes * 60,
        last_artifact=packet.made[-1] if packet.made else (before.last_artifact if before else Artifact()),
        health=packet.health, abandoned=packet.abandoned, decided_against=packet.decided_against,
        token_budget=TokenBudget(window="day", limit=limit, used=used, remaining=max(0, limit - used)),
        packet=packet.id, seconds=packet.seconds, cursor=packet.cursor, day=day,
        day_usd=(before.day_usd if before and same_day else 0.0) + packet.usage.usd,
        empty_loops=(before.empty_loops if before else 0) + 1 if empty else 0, rev=(before.rev if before else 0) + 1,
    )  # fmt: skip
