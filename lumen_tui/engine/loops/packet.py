"""The packet of a session that has ended: made from its deposit, or telling why there is none.

Its orientation is how long the session took to find its bearings, until its first call that acts rather than reads:
time, calls, tokens and cost come from the task's events, the size from its briefing and its transcript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lumen_tui.actions.facts import is_agent
from lumen_tui.model import agent, ids, times
from lumen_tui.model.agent import ACTS_FILE, DEPOSIT_FILE, SLEEP_FILE, Act, Deposit, Nap, OpenLoop
from lumen_tui.model.capsule import tokens_in
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import Artifact, Health, LeftOut, LoopState, Orientation, Packet
from lumen_tui.model.tasks import Exit, Spec, TaskEvent, Usage
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import files, raw_json
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.store.work import views

# Calls that change nothing: ours, and those of the programs that a session may run in.
READS = frozenset(
    {
        "read_file", "list_dir", "glob", "grep", "disk_usage", "memory_search", "recall", "read_signals", "search",
        "web_fetch", "shell_output", "git_read", "read", "ls", "webfetch", "websearch", "todowrite",
        "toolsearch", "bashoutput",
    }
)  # fmt: skip
_OURS = "mcp__lumen__"
_MOST_EVENTS, _MOST_LINES = 4 * 1024 * 1024, 8 * 1024 * 1024  # bytes from the beginning that are looked at
_event = msgspec.json.Decoder(TaskEvent).decode


class _TranscriptLine(msgspec.Struct):
    message: dict[str, object] = {}


_line = msgspec.json.Decoder(_TranscriptLine).decode


def acts(tool: str) -> bool:
    """Return whether a call of this tool acts rather than reads."""
    return tool.removeprefix(_OURS).lower() not in READS


def orientation(layout: Layout, folder: Path, ended: Exit) -> Orientation:
    """Measure what the session of the last attempt took in before it acted; all zeros if it never began."""
    result = _from_events(folder, ended.attempt)
    if not result.seconds and not result.spent:
        return result
    spec = read_json(folder / "spec.json", Spec)
    briefing = len(f"{spec.objective}{spec.context}".encode()) if spec else 0
    size = briefing + (_read_before(layout.transcript(ended.session), result.first) if ended.session else 0)
    return msgspec.structs.replace(result, size=size, tokens=tokens_in(size))


def _from_events(folder: Path, attempt: int) -> Orientation:
    began = 0.0
    at = 0.0
    reads = 0
    spent = 0
    usd = 0.0
    first = ""
    for event in _events(folder):
        if event.attempt != attempt:
            continue
        at = times.epoch(event.at, at)
        began = began or at
        if event.kind == "usage":
            usage = _usage_of(event)
            spent += usage.tokens
            usd += usage.usd
        if event.kind == "call" and acts(event.tool):
            first = event.tool
            break
        reads += event.kind == "call"
    return Orientation(round(max(0.0, at - began), 3), spent=spent, usd=usd, reads=reads, first=first)


def _events(folder: Path) -> Iterator[TaskEvent]:
    for line in (files.read(folder / "events.jsonl", _MOST_EVENTS) or b"").splitlines():
        try:
            yield _event(line)
        except UNDECODABLE:
            continue


def _usage_of(event: TaskEvent) -> Usage:
    try:
        return msgspec.convert(event.data, Usage)
    except msgspec.ValidationError:
        return Usage()


def _read_before(path: Path, first: str) -> int:
    """Return the bytes of results in a transcript before the first call of the tool `first`."""
    size = 0
    for line in (files.read(path, _MOST_LINES) or b"").splitlines():
        for block in _blocks(line):
            if first and block.get("type") == "tool_use" and block.get("name") == first:
                return size
            if block.get("type") == "tool_result":
                size += len(str(block.get("content", "")).encode())
    return size


def _blocks(line: bytes) -> list[dict[str, object]]:
    if b'"tool_use' not in line and b'"tool_result"' not in line:
        return []
    try:
        content = _line(line).message.get("content")
    except UNDECODABLE:
        return []
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


_MOST = 60_000  # bytes; a line of packets.jsonl takes 64 KiB
_SHARES = (
    (20, 400, 12_000),
    (12, 300, 8000),
    (8, 200, 4000),
    (4, 100, 1000),
)  # entries, characters of one, of the wake
_ROUNDED = 60.0  # seconds by which the clocks of files may be behind ours
_COUNTED = {
    "task": "tasks_created",
    "cancel": "tasks_cancelled",
    "unit": "units_made",
    "change": "units_changed",
    "judgement": "discoveries_judged",
    "signal": "signals_sent",
    "proposal": "proposals",
    "discovery": "discoveries_added",
}


def packet_of(layout: Layout, begun: OpenLoop, folder: Path | None, state: LoopState | None, now: float) -> Packet:
    """Return the packet of a session whose task has ended, or is gone (`folder` is None then)."""
    ended = (task_files.read_exit(folder) if folder else None) or _gone(begun, now)
    deposit = read_json(folder / DEPOSIT_FILE, Deposit) if folder else None
    acts = _acts(folder)
    since = times.epoch(state.completed_at if state else begun.started_at)
    changed = _changed(begun, deposit, acts, counted=deposit is not None or not _again(state))
    changed |= defects_fixed(layout, since, now)
    base = Packet(
        id=ids.new_id("pkt"),
        loop=begun.loop,
        started_at=begun.started_at,
        completed_at=times.iso(now),
        brain=safe(ended.brain) or "none",
        task_id=agent.task_id(begun.loop),
        session=ended.session,
        came_in=begun.came_in,
        came_ids=begun.came_ids,
        cut=begun.cut,
        cursor=begun.cursor,
        changed=changed,
        tier=begun.tier,
        tier_why=begun.tier_why,
        escalated=next((one_line(act.text, 200) for act in acts if act.kind == "escalation"), ""),
        own=begun.own,
        ordered=tuple(one_line(f"{act.id}: {act.text}", 160) for act in acts if act.kind == "task"),
        orientation=orientation(layout, folder, ended) if folder else Orientation(),
        seconds=round(max(0.0, times.epoch(ended.finished_at, now) - times.epoch(begun.started_at, now)), 3),
    )
    done = tuple(one_line(f"{act.kind} {act.id}: {act.text}", 120) for act in acts)
    packet = _deposited(base, begun, deposit, ended, folder) if deposit else _failed(base, begun, ended, state, done)
    return fitted(packet)


def _gone(begun: OpenLoop, now: float) -> Exit:
    name = agent.task_id(begun.loop)
    return Exit(task_id=name, status="lost", finished_at=times.iso(now), reason=f"the folder of {name} is gone")


def _deposited(base: Packet, begun: OpenLoop, deposit: Deposit, ended: Exit, folder: Path | None) -> Packet:
    nap = (read_json(folder / SLEEP_FILE, Nap) if folder else None) or Nap(0.0)
    return msgspec.structs.replace(
        base,
        done=begun.done,
        made=deposit.made or begun.made,
        decided=deposit.decided,
        abandoned=deposit.abandoned,
        decided_against=deposit.decided_against,
        constraints=deposit.constraints,
        next=deposit.next,
        health=deposit.health,
        wake_state=deposit.wake_state,
        sleep_seconds=nap.seconds,
        sleep_why=nap.reason,
        read=begun.read,
        read_upto=begun.read_upto,
        read_offset=begun.read_offset,
        usage=_with(ended.usage, begun),
    )


def _failed(base: Packet, begun: OpenLoop, ended: Exit, state: LoopState | None, done: tuple[str, ...]) -> Packet:
    """Return the packet of a failed session: its news is shown again, and in the end left to a person."""
    reason = safe(ended.reason) or f"it ended as {ended.status} without a deposit"
    again = _again(state)
    words = "its news is shown again" if again else "its news is not shown again: the signals stay unread"
    return msgspec.structs.replace(
        base,
        failed=reason,
        done=done,
        health=Health("degraded", f"the session failed: {reason}"),
        abandoned=(LeftOut(f"loop {begun.loop}; {words}", reason),),
        cursor=(state.cursor if state else {}) if again else begun.cursor,
        usage=ended.usage if again else _with(ended.usage, begun),
    )


def _again(state: LoopState | None) -> bool:
    """Return whether the news of a failed loop is shown again."""
    return (state.failed_loops if state else 0) + 1 < agent.FAILED_LOOPS


def _with(usage: Usage, begun: OpenLoop) -> Usage:
    """Return what the session and the ended tasks cost together."""
    return usage.plus(Usage(begun.tokens, usd=begun.usd))


def _acts(folder: Path | None) -> list[Act]:
    acts = []
    for line in (files.read(folder / ACTS_FILE) or b"").splitlines() if folder else ():
        try:
            acts.append(msgspec.json.decode(line, type=Act))
        except UNDECODABLE:
            continue
    return acts


def _changed(begun: OpenLoop, deposit: Deposit | None, done: list[Act], *, counted: bool) -> dict[str, int]:
    """Count what the loop and its workers changed, never what a person did meanwhile.

    What came in counts where it is dealt with (`counted`): a loop that failed leaves it to the next one.
    """
    counts = Counter({"tasks_done": 0, "tasks_failed": 0, "signals_read": 0, "discoveries_read": 0})
    if counted:
        counts.update(
            tasks_done=begun.tasks_done,
            tasks_failed=begun.tasks_failed,
            signals_read=begun.signals,
            discoveries_read=begun.discoveries,
            **begun.by_workers,
        )
    for act in done:
        if act.kind != "escalation":
            counts[_COUNTED.get(act.kind, "memory_added")] += act.count
    counts.update(artifacts=len(deposit.made) if deposit else 0, decisions=len(deposit.decided) if deposit else 0)
    return {name: count for name, count in counts.items() if count}


def defects_fixed(layout: Layout, since: float, until: float) -> dict[str, int]:
    """Count the work units of type `bug` that the agent finished in a time, from their stamps; empty for none."""
    fixed = 0
    for path in layout.stamps.glob("WU-*.done"):
        try:
            if path.stat().st_mtime < since - _ROUNDED:
                continue
            stamp = raw_json.read(path) or {}
            finished, by = times.epoch(str(stamp.get("done_at", ""))), str(stamp.get("done_by", ""))
            own = since < finished <= until and is_agent(layout, by)
            unit = views.read_unit(layout.root, path.stem) if own else None
        except (files.StoreError, ValueError, OSError):
            continue
        fixed += unit is not None and unit.type == "bug"
    return {"defects_fixed": fixed} if fixed else {}


def fitted(packet: Packet) -> Packet:
    """Return the packet, cut so that it fits on one line; it says what was cut."""
    for entries, words, wake in _SHARES:
        if len(msgspec.json.encode(packet)) <= _MOST:
            return packet
        packet = _shorter(packet, entries, words, wake)
    return packet


def _shorter(packet: Packet, entries: int, words: int, wake: int) -> Packet:
    def cut(text: str, most: int = words) -> str:
        return text if len(text) <= most else f"{text[: most - 1]}…"

    def cut_items(items: tuple[LeftOut, ...]) -> tuple[LeftOut, ...]:
        return tuple(LeftOut(cut(item.what), cut(item.why)) for item in items[:entries])

    artifacts = tuple(
        Artifact(cut(artifact.kind), cut(artifact.path), cut(artifact.title)) for artifact in packet.made[:entries]
    )
    return msgspec.structs.replace(
        packet,
        came_in=tuple(map(cut, packet.came_in[:entries])),
        came_ids=packet.came_ids[: 5 * entries],
        done=tuple(map(cut, packet.done[:entries])),
        ordered=tuple(map(cut, packet.ordered[:entries])),
        made=artifacts,
        decided=tuple(map(cut, packet.decided[:entries])),
        abandoned=cut_items(packet.abandoned),
        decided_against=cut_items(packet.decided_against),
        next=tuple(map(cut, packet.next[:entries])),
        constraints=tuple(map(cut, packet.constraints[:entries])),
        wake_state=cut(packet.wake_state, wake),
        cut=(*packet.cut[:entries], "the deposit was too long and was cut"),
    )
