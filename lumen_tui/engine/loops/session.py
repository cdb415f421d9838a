"""A loop on a model: a worker's task like any other, begun with a briefing and ended with a packet, which is settled.

Nothing of it is kept in memory alone. loops/current.json is written first, then the task's spec, then the worker
starts; the packet ends it. A kill at any point leaves a state from which the next look goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from lumen_tui.engine.loops.briefing import INBOX, ORDERS, BriefingInputs, brief, in_order
from lumen_tui.engine.loops.capsules import Capsules
from lumen_tui.engine.loops.news import (
    News,
    by_end,
    came_ids,
    due_words,
    failed,
    results,
    shown,
    signal_words,
    usage_of,
)
from lumen_tui.engine.loops.packet import packet_of
from lumen_tui.engine.loops.tiers import OWN, Tier
from lumen_tui.engine.supervisor.supervisor import TaskSupervisor
from lumen_tui.model import agent, times
from lumen_tui.model.agent import OpenLoop
from lumen_tui.model.budget import dollars
from lumen_tui.model.capsule import Briefing
from lumen_tui.model.config import BudgetConfig, Config
from lumen_tui.model.loop import Artifact, LoopState, Packet, TokenBudget
from lumen_tui.model.packets import bound_by
from lumen_tui.model.records import Receipt, Signal
from lumen_tui.model.schedules import SLEEP, SLEEP_NAME, Schedule, ScheduleSource
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Spec, Status
from lumen_tui.model.text import one_line
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import directories, files
from lumen_tui.storage.redaction import clean, clean_line
from lumen_tui.storage.store import Store
from lumen_tui.store.schedules import schedules
from lumen_tui.store.sessions import chats
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import read_json, write_exit

_OBJECTIVE = "Loop {}: see what came in, decide what is worth doing, give it to workers, and deposit."


class LoopSession:
    """The session that is at work, if any. Only one is at a time."""

    def __init__(self, store: Store, supervisor: TaskSupervisor) -> None:
        self._store = store
        self._supervisor = supervisor
        self.open = read_json(store.layout.open_loop, OpenLoop)
        self.capsules = Capsules(store.layout)

    def begin(self, loop: int, news: News, config: Config, now: float, tier: Tier = OWN) -> OpenLoop:
        """Brief and start a session; its number is `loop`, or the next one whose task is not there already."""
        layout = self._store.layout
        while task_files.folder_of(layout, agent.task_id(loop)) is not None:
            loop += 1
        with closing(SnapshotReader(self._store.root, config.agent.name)) as reader:
            snapshot = reader.snapshot(now)
        talk = chats.read(layout).ended_since(news.cursor.get("chat", 0))
        news.cursor["chat"] = talk[-1].number if talk else news.cursor.get("chat", 0)
        facts = BriefingInputs(
            layout=layout,
            snapshot=snapshot,
            news=news,
            loop=loop,
            now=now,
            budget=left_today(snapshot.spend),
            signals=in_order((signal for _, signal in news.signals), config.agent.name),
            capsule=self.capsules.wake(loop, config, now),
            talk=talk,
            tier=tier,
        )
        briefing = brief(facts)
        self.open = self._record(facts, briefing, tier)
        files.replace(layout.open_loop, clean_line(msgspec.json.encode(self.open)))
        task_files.add(layout, _spec(loop, briefing, now, tier))
        self._supervisor.notice(now)
        self._start(now)
        return self.open

    def _record(self, facts: BriefingInputs, briefing: Briefing, tier: Tier) -> OpenLoop:
        news = facts.news
        done, bad = by_end(news.ended)
        seen = _shown(facts.signals, briefing)
        offset, newest = news.signals[-1] if news.signals and len(seen) == len(facts.signals) else (-1, None)
        spent = usage_of(news.ended)
        return OpenLoop(
            loop=facts.loop,
            started_at=times.iso(facts.now),
            came_in=(
                *shown([due_words(run) for run in news.woken], "schedules"),
                *shown([signal_words(signal) for signal in seen[::-1]], "signals"),
            ),
            came_ids=came_ids(seen, news.ended),
            done=shown([one_line(event.text, 120) for event in done], "tasks"),
            made=results(self._store, done),
            tasks_done=len(done),
            tasks_failed=len(failed(bad)),
            discoveries=news.discoveries,
            by_workers=news.by_workers,
            read=() if newest else tuple(signal.id for signal in seen),
            read_upto=newest.id if newest else "",
            read_offset=offset,
            signals=len(seen),
            cut=briefing.cut,
            cursor=news.cursor,
            tier=tier.model,
            tier_why=tier.why,
            own=news.own,
            tokens=spent.tokens,
            usd=spent.usd,
        )

    def in_force(self, config: Config, now: float) -> tuple[str, ...]:
        """Return the constraints that bind the next loop."""
        return self.capsules.constraints.in_force(config, now)

    def has_task(self) -> bool:
        """Return whether the session has a task yet. One that was killed before that leaves nothing."""
        return self.open is not None and self._folder(self.open) is not None

    def _folder(self, begun: OpenLoop) -> Path | None:
        return task_files.folder_of(self._store.layout, agent.task_id(begun.loop))

    def poll(self, state: LoopState | None, now: float, *, may_start: bool) -> Packet | None:
        """See to the session: start it if it waits; return the packet once it has ended."""
        if self.open is None:
            return None
        name, folder = agent.task_id(self.open.loop), self._folder(self.open)
        if folder is None:
            return packet_of(self._store.layout, self.open, None, state, now)
        if task_files.read_exit(folder) is not None:
            return packet_of(self._store.layout, self.open, folder, state, now)
        view = self._supervisor.index.find(name)
        if view is not None and view.status is Status.QUEUED:
            if (folder / agent.DEPOSIT_FILE).exists():  # the attempt that was lost had come to its end
                write_exit(folder, name, "done", "", attempt=max(1, view.attempt), now=now)
            elif may_start:
                self._start(now)
        return None

    def _start(self, now: float) -> None:
        assert self.open is not None  # noqa: S101 - both callers look before
        self._supervisor.dispatcher.start_loop(agent.task_id(self.open.loop), now)

    def close(self) -> None:
        """Forget the session: its packet is written."""
        directories.remove(self._store.layout.open_loop)
        self.open = None


def _shown(signals: tuple[Signal, ...], briefing: Briefing) -> tuple[Signal, ...]:
    """Return the signals that are in the briefing: of the orders, and of the others, those that had room."""
    orders = [signal for signal in signals if signal.order][: briefing.taken[ORDERS]]
    others = [signal for signal in signals if not signal.order][: briefing.taken[INBOX]]
    return (*orders, *others)


def _spec(loop: int, briefing: Briefing, now: float, tier: Tier) -> Spec:
    return Spec(
        id=agent.task_id(loop),
        objective=_OBJECTIVE.format(loop),
        role=agent.ROLE,
        model=tier.model,
        kept=tier.kept,
        context=clean(briefing.text),
        priority="P1",
        created_by="engine",
        created_at=times.iso(now),
    )


def left_today(spend: SpendView) -> str:
    """Return what may still be spent today, in words."""
    parts = []
    if spend.tokens_cap:
        parts.append(f"{max(0, spend.tokens_cap - spend.tokens):,} of {spend.tokens_cap:,} tokens")
    if spend.usd_cap:
        parts.append(f"{dollars(max(0.0, spend.usd_cap - spend.usd), spend.usd_cap)} of {dollars(spend.usd_cap)}")
    return f"{' and '.join(parts)} today" if parts else "no limit is set"


OFFLINE_NOTE = "Written without a model, from the engine's own records."

Today = Callable[[BudgetConfig, float], tuple[str, TokenBudget, float]]  # day, its tokens, its dollars


def settle(store: Store, before: LoopState | None, packet: Packet, config: Config, today: Today) -> LoopState:
    """Write everything that follows from a packet, and from it alone; loop-state comes last and says that it is done.

    Doing it twice changes nothing.
    """
    if not packet.failed:
        files.replace(store.layout.wake_state, clean(wake_text(packet)).encode())
    store.receipts.append_all(receipts(packet, config.agent.name))
    state = next_state(before, packet, config, today)
    _plan_wake(store, packet, state)
    files.replace(store.layout.loop_state, msgspec.json.format(clean_line(msgspec.json.encode(state)), indent=2))
    return state


def _plan_wake(store: Store, packet: Packet, state: LoopState) -> None:
    """Have the agent woken at the end of the sleep that it asked for; a loop that came before ends an earlier one."""
    if packet.sleep_seconds and not packet.failed:
        wake = Schedule(
            id=SLEEP,
            name=SLEEP_NAME,
            text=f"Your sleep is over: {packet.sleep_why}",
            when=f"at {state.rests_until}",
            makes="wake",
            since=packet.completed_at,
            source=ScheduleSource.AGENT,
            created_by=agent.ROLE,
            created_at=packet.completed_at,
        )
        schedules.put(store.layout, wake)
    elif (before := schedules.read(store.layout).get(SLEEP)) is not None and before.active:
        schedules.put(store.layout, schedules.removed(before, times.epoch(packet.completed_at)))


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
    own = (before.own_loops if before else 0) + 1 if packet.own and not packet.failed else 0
    pause, reason = _rest(packet, failed, empty, own, every)
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
        own_loops=own,
        models=_asked(before, packet),
        empty_loops=empty,
        failed_loops=failed,
        rests_until=times.iso(ended + pause) if pause else "",
        rests_why=reason,
        rev=(before.rev if before else 0) + 1,
    )


def _asked(before: LoopState | None, packet: Packet) -> dict[str, str]:
    """Return which models loops were asked on, and when each last was."""
    asked = dict(before.models) if before else {}
    if packet.brain not in ("offline", "none"):
        asked |= dict.fromkeys([packet.tier, *([""] if packet.escalated else [])], packet.completed_at)
    return asked


def _rest(packet: Packet, failed: int, empty: int, own: int, every: float) -> tuple[float, str]:
    """Return for how many seconds only urgent news starts a loop, and why."""
    if failed:
        return agent.rest_after(failed, 1, every), f"its last {failed} sessions failed" if failed > 1 else "it failed"
    if seconds := agent.rest_after(empty, agent.EMPTY_LOOPS, every) if packet.brain != "offline" else 0.0:
        return max(seconds, packet.sleep_seconds), f"its last {empty} loops changed nothing"
    if seconds := agent.rest_after(own, agent.OWN_LOOPS, every):
        reason = f"its last {own} loops heard of nothing but the tasks that it had ordered itself"
        return max(seconds, packet.sleep_seconds), reason
    return packet.sleep_seconds, packet.sleep_why
