"""What came in for the main agent since its last loop, and the packet of a loop where there is no model.

Reading the news changes nothing. Without a model the loop's story is made of what really happened, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lumen_tui.engine.events import EventLog
from lumen_tui.model import agent, ids, times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import TASK_ENDED, Artifact, EngineEvent, Health, LeftOut, Packet, task_end
from lumen_tui.model.records import Signal, decode_node, decode_signal
from lumen_tui.model.schedule_runs import RunState, ScheduledRun
from lumen_tui.model.tasks import Usage
from lumen_tui.model.text import one_line
from lumen_tui.storage import journal
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_files import folder_of


@dataclass
class News:
    """What came in since the last loop."""

    ended: list[EngineEvent]
    signals: list[tuple[int, Signal]]  # with the offsets of their lines, oldest first
    discoveries: int
    cursor: dict[str, Any]
    by_workers: dict[str, int] = field(default_factory=dict)  # what they added to memory, as a packet counts it
    woken: list[ScheduledRun] = field(default_factory=list)  # runs of schedules that wake the agent

    def __bool__(self) -> bool:
        return bool(self.ended or self.signals or self.discoveries or self.woken)

    def without(self, tasks: Container[str]) -> News:
        """Return the same news without signals of these tasks."""
        return replace(self, signals=[(at, signal) for at, signal in self.signals if signal.task_id not in tasks])

    def urgent(self, name: str) -> bool:
        """Return whether there is something for which the agent is woken from its rest."""
        return bool(self.ended or self.woken) or any(
            signal.priority == "P0" or signal.target_agent == name for _, signal in self.signals
        )

    @property
    def hurries(self) -> bool:
        """Return whether there is something that does not wait for tasks which may end with those that have."""
        return bool(self.woken) or any(
            signal.order or signal.priority == "P0" or not signal.task_id for _, signal in self.signals
        )

    @property
    def own(self) -> bool:
        """Return whether nothing came but the ends of tasks that the agent had ordered, and what these said."""
        others = any(not signal.task_id for _, signal in self.signals)
        ordered = all(agent.loop_of(task_end(event).by) for event in self.ended)
        return bool(self.ended) and ordered and not others and not self.woken


def gather(store: Store, log: EventLog, before: dict[str, Any], name: str) -> News:
    """Return the news after the cursor `before`, without what the agent itself said and did and others' mail."""
    events = log.since(int(before.get("events", 0)))
    signal_lines, signals_at = journal.lines_after(store.layout.signals, before.get("signals", {}))
    node_lines, nodes_at = journal.lines_after(store.layout.memory, before.get("memory", {}))
    run_lines, runs_at = journal.lines_after(store.layout.schedule_runs, before.get("runs", {}))
    own = (name, agent.ROLE)
    discoveries, by_workers = 0, Counter[str]()
    for _, line in node_lines:
        discoveries += _is_new_discovery(line, own)
        if kind := _of_a_worker(line):
            by_workers[kind] += 1
    return News(
        ended=[event for event in events if event.kind == TASK_ENDED and _is_heard(event)],
        signals=[(at, signal) for at, line in signal_lines if _concerns(signal := decode_signal(line), own)],
        discoveries=discoveries,
        by_workers=dict(by_workers),
        cursor={
            "events": log.seq,
            "signals": signals_at,
            "memory": nodes_at,
            "runs": runs_at,
            "chat": before.get("chat", 0),  # the last turn that a loop was told of: it wakes none
        },
        woken=[run for _, line in run_lines if (run := _waking(line))],
    )


def _is_heard(event: EngineEvent) -> bool:
    """Return whether the end of a task is news: one for which another waits is heard of with the end of that."""
    return not agent.is_own(event.task_id) and not task_end(event).awaited_by


def _waking(line: bytes) -> ScheduledRun | None:
    """Return the run of a schedule that wakes the agent; None for any other line."""
    try:
        run = decode_safe(line, ScheduledRun)
    except UNDECODABLE:
        return None
    return run if run.makes == "wake" and run.state is RunState.DONE else None


def due_words(run: ScheduledRun) -> str:
    """Return what a schedule tells the agent, on one line, with its name."""
    return one_line(f"{run.text} (schedule {run.name}, due {times.stamp(run.due_at)})", 400)


def _concerns(signal: Signal, own: tuple[str, ...]) -> bool:
    return not signal.read and signal.sender not in own and signal.target_agent in ("", *own)


def _is_new_discovery(line: bytes, own: tuple[str, ...]) -> bool:
    """Return whether a line of memory.jsonl is the first of an open discovery: later lines carry `updated_at`."""
    if b'"discovery"' not in line or b'"updated_at"' in line or b'"archived"' in line:
        return False
    node = decode_node(line)
    return bool(node.id) and node.created_by not in own


def _of_a_worker(line: bytes) -> str:
    """Return what a line of memory.jsonl adds in the name of a worker's task; empty for others' and for a change."""
    if b'"task_id"' not in line or b'"updated_at"' in line or b'"archived"' in line:
        return ""
    node = decode_node(line)
    if not node.id or not isinstance(node.metadata.get("task_id"), str):
        return ""
    return "discoveries_added" if node.type == "discovery" else "memory_added"


_IDS = 200  # signals, and as many tasks, that a packet names by id
SHOWN = 12  # entries of one kind that a packet names; the rest are counted


def story(store: Store, news: News, loop: int, now: float) -> Packet:
    """Return the packet of loop number `loop` on what came in."""
    done, bad = by_end(news.ended)
    offset, newest = news.signals[-1] if news.signals else (-1, Signal("", "", ""))
    return Packet(
        id=ids.new_id("pkt"),
        loop=loop,
        started_at=times.iso(now),
        completed_at=times.iso(now),
        came_in=(
            *shown([due_words(run) for run in news.woken], "schedules"),
            *shown([signal_words(signal) for _, signal in news.signals], "signals"),
        ),
        came_ids=came_ids([signal for _, signal in news.signals], news.ended),
        done=shown([one_line(event.text, 120) for event in done], "tasks"),
        made=results(store, done)[-SHOWN:],
        abandoned=tuple(_left_out(event) for event in bad[:SHOWN]),
        next=_next(news, failed(bad)),
        health=_health(failed(bad)),
        changed={
            "tasks_done": len(done),
            "tasks_failed": len(failed(bad)),
            "signals_read": len(news.signals),
            "discoveries_read": news.discoveries,
            "schedules_due": len(news.woken),
            **news.by_workers,
        },
        cursor=news.cursor,
        usage=usage_of(news.ended),
        read_upto=newest.id,
        read_offset=offset,
    )


def came_ids(signals: Sequence[Signal], ended: Sequence[EngineEvent]) -> tuple[str, ...]:
    """Return the ids of what came in; the newest if there are many."""
    return (*[signal.id for signal in signals[-_IDS:]], *[event.task_id for event in ended[-_IDS:]])


def by_end(ended: Sequence[EngineEvent]) -> tuple[list[EngineEvent], list[EngineEvent]]:
    """Return the tasks that are done, and the others."""
    done = [event for event in ended if task_end(event).status == "done"]
    return done, [event for event in ended if task_end(event).status != "done"]


def failed(bad: Sequence[EngineEvent]) -> list[EngineEvent]:
    """Return the tasks that failed: of those not done, all but the cancelled ones."""
    return [event for event in bad if task_end(event).status != "cancelled"]


def results(store: Store, done: Sequence[EngineEvent]) -> tuple[Artifact, ...]:
    """Return the results of tasks that are done."""
    return tuple(artifact for event in done if (artifact := _artifact(store, event)))


def _artifact(store: Store, event: EngineEvent) -> Artifact | None:
    folder = folder_of(store.layout, event.task_id)
    if folder is None or not (folder / "result.md").exists():
        return None
    path = str((folder / "result.md").relative_to(store.root))
    return Artifact(kind="report", path=path, title=one_line(event.text.partition(": ")[2], 120))


def shown(words: list[str], kind: str) -> tuple[str, ...]:
    """Return the last entries of a long list, and how many more there were."""
    if len(words) <= SHOWN:
        return tuple(words)
    return (*words[-SHOWN:], f"and {len(words) - SHOWN} more {kind}")


def signal_words(signal: Signal) -> str:
    """Return a signal on one line, with who sent it."""
    place = f" on {signal.wu_id}" if signal.wu_id else ""
    return one_line(f"{signal.message} ({signal.sender}{place})", 160)


def _left_out(event: EngineEvent) -> LeftOut:
    end = task_end(event)
    return LeftOut(what=one_line(event.text, 120), why=one_line(end.reason or end.status, 160))


def _next(news: News, bad: list[EngineEvent]) -> tuple[str, ...]:
    steps = [f"Look at {one_line(event.text, 100)}: retry or dismiss it." for event in bad[:3]]
    if news.discoveries:
        steps.append(f"Triage {news.discoveries} new {'discovery' if news.discoveries == 1 else 'discoveries'}.")
    return tuple(steps)


def _health(bad: list[EngineEvent]) -> Health:
    if not bad:
        return Health()
    return Health(status="degraded", note=f"{len(bad)} {'task' if len(bad) == 1 else 'tasks'} did not end well")


def usage_of(ended: Sequence[EngineEvent]) -> Usage:
    """Return what ended tasks cost."""
    ends = [task_end(event) for event in ended]
    return Usage(input_tokens=sum(end.tokens for end in ends), usd=sum(end.usd for end in ends))
