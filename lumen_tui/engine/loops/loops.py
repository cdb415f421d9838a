"""The loops of the main agent: on a model where one is configured, else a story made of the engine's records.

The packet is the commit point. It is appended first; wake-state, receipts and loop-state follow from it alone,
so that a loop cut off by a kill is completed from its packet and never run again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from lumen_tui.engine.events import EventLog, LoopTurn
from lumen_tui.engine.loops import tiers
from lumen_tui.engine.loops.news import News, gather, story
from lumen_tui.engine.loops.session import LoopSession, Today, settle
from lumen_tui.engine.supervisor.dispatcher import role_or_reason
from lumen_tui.engine.supervisor.supervisor import TaskSupervisor
from lumen_tui.model import agent, times
from lumen_tui.model.config import Config, HeartbeatConfig
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.gathering import GatheringEnd, Member, wake_at
from lumen_tui.model.loop import LoopState, Packet, task_end
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.choose import targets
from lumen_tui.storage import backwards
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import stamp
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_records import read_json

_TAIL = 256 * 1024  # bytes that are sure to hold the last packet
Stamp = tuple[int, int, int]


class MainLoop:
    """Runs loops and keeps their numbers: never back, never twice."""

    def __init__(self, store: Store, log: EventLog, supervisor: TaskSupervisor, *, today: Today) -> None:
        self._store = store
        self._log = log
        self._supervisor = supervisor
        self._today = today
        self.state = read_json(store.layout.loop_state, LoopState)
        self._session = LoopSession(store, supervisor)
        self._cursor: dict[str, Any] = {}  # behind what was looked at for this loop and this name
        self._cursor_key: tuple[LoopState | None, str] | None = None
        self.gathers_until = 0.0  # until then what ended waits for what may end with it; 0 where nothing does
        self._woke: dict[str, float] = {}  # tasks whose signals began a loop since the last regular beat, and when

    @property
    def at_work(self) -> int:
        """The loop whose session is at work, 0 if there is none."""
        return self._session.open.loop if self._session.open else 0

    def recover(self, config: Config) -> bool:
        """Complete a loop whose packet is durable and whose loop-state is not; True where there was one."""
        last = self._last_packet()
        done = self.state.loop if self.state else 0
        if last is not None and last.loop > done:
            self._settle(last, config)
        reached = self.state.loop if self.state else 0
        if self.at_work and (self.at_work <= reached or not self._session.has_task()):
            self._session.close()
        return reached > done

    def _last_packet(self) -> Packet | None:
        for line in reversed(backwards.read_tail(self._store.layout.packets, _TAIL).splitlines()):
            try:
                return msgspec.json.decode(line, type=Packet)
            except UNDECODABLE:
                continue
        return None

    def news(self, config: Config) -> News:
        """Return what there is for the agent; reading it changes nothing.

        What was no news stays none: the next look begins behind it, not at the last loop's cursor.
        """
        if self._cursor_key != (self.state, config.agent.name):
            self._cursor_key = (self.state, config.agent.name)
            self._cursor = self.state.cursor if self.state else {}
        news = gather(self._store, self._log, self._cursor, config.agent.name)
        if not news:
            self._cursor = news.cursor
        return news

    def has_waking_news(self, config: Config) -> bool:
        """Return whether there is news that brings the next beat near; repeats of a task wait for the regular one."""
        return bool(self.news(config).without(self._woke))

    def poll(self, config: Config, now: float, *, may_start: bool) -> Packet | None:
        """See to the session that is at work; return its packet if it has ended."""
        packet = self._session.poll(self.state, now, may_start=may_start)
        if packet is not None:
            self._commit(packet, config, now)
            self._session.close()
        return packet

    def turn(self, config: Config, now: float, *, asked: bool, begins: Callable[[], None]) -> LoopTurn:
        """Run or begin a loop if there is something for it. `asked`: a person wants one, whatever holds it off.

        `begins` is called right before the work of one.
        """
        self.gathers_until = 0.0
        if self.at_work:
            return LoopTurn(skipped=f"loop {self.at_work} is at work")
        news, every = self.news(config), config.heartbeat.every_minutes * 60 * (1 - config.heartbeat.jitter)
        self._woke = {name: at for name, at in self._woke.items() if 0 <= now - at < every}
        if not news:
            return LoopTurn(skipped="nothing new")
        if not self._has_model(config):
            self._session.capsules.wake(self._next(), config, now)
            begins()
            return LoopTurn(self._commit(story(self._store, news, self._next(), now), config, now).loop)
        if reason := self._why_not_now(news, config, now) if not asked else "":
            return LoopTurn(skipped=reason)
        if reason := self._supervisor.dispatcher.held_back(agent.ROLE):
            return LoopTurn(skipped=reason)
        tier = tiers.choose(config.models, self._role(), news, self.state, os.environ, asked=asked, now=now)
        if tier.model and self._closed(tier.model):
            tier = tiers.Tier("", "what its routine begins on is closed", tier.kept)
        if reason := self._closed(tier.model):
            return LoopTurn(skipped=reason)
        begins()
        begun = self._session.begin(self._next(), news, config, now, tier)
        self._woke |= {signal.task_id: now for _, signal in news.signals if signal.task_id}
        self._log.add("loop_started", f"loop {begun.loop}: {_news_counts(news)}", now, loop=begun.loop)
        return LoopTurn(begun.loop)

    def _next(self) -> int:
        return max(self.state.loop if self.state else 0, getattr(self._last_packet(), "loop", 0)) + 1

    def _why_not_now(self, news: News, config: Config, now: float) -> str:
        """Return what lets the loop with this news wait, or the empty string."""
        return (
            self._resting_reason(news, config, now)
            or self._waiting_reason(news)
            or self._gathering_reason(news, config.heartbeat, now)
        )

    def _gathering_reason(self, news: News, config: HeartbeatConfig, now: float) -> str:
        """Return why what ended waits for what may end with it, or the empty string."""
        if not news.ended or news.hurries:
            return ""
        open_ones = [_member(view.spec) for view in self._supervisor.index.live() if not view.finished]
        ended = []
        for event in news.ended:
            end = task_end(event)
            member = Member(end.by, times.epoch(end.made))
            awaited = any(member.together(other) for other in open_ones)
            ended.append(GatheringEnd(times.epoch(event.at, now), end.status != "done", awaited))
        at = wake_at(ended, now, config.gather_seconds, config.group_minutes * times.MINUTE)
        self.gathers_until = at if at > now else 0.0
        return "what ended is kept for a moment, for what ends with it" if at > now else ""

    def _resting_reason(self, news: News, config: Config, now: float) -> str:
        """Return why the agent rests now, or the empty string. After a failure not even urgent news wakes it."""
        state = self.state
        if state is None or not now < times.epoch(state.rests_until):
            return ""
        own_alone = state.own_loops >= agent.OWN_LOOPS and news.own
        if not state.failed_loops and not own_alone and news.without(self._woke).urgent(config.agent.name):
            return ""
        return f"the main agent rests until {state.rests_until[11:16]}: {state.rests_why}"

    def _waiting_reason(self, news: News) -> str:
        """Return why the agent is not woken by this news, or the empty string."""
        if news.without(self._woke):
            return ""
        names = sorted({signal.task_id for _, signal in news.signals})
        return f"{', '.join(names[:3])} woke the agent a moment ago: what it says now waits for the next regular beat"

    def _has_model(self, config: Config) -> bool:
        """Return whether a loop runs on a model; also if the provider cannot be used: its session says why."""
        layout = self._store.layout
        if layout.retired_role(agent.ROLE).exists():
            return False
        try:
            choices = targets(config.models, self._role(), Spec(id="", objective=""), os.environ)
        except ProviderError:
            return True
        return choices[0].endpoint.name != "offline"

    def _closed(self, model: str) -> str:
        return self._supervisor.dispatcher.closed(self._role(), model)

    def _role(self) -> Role:
        role = role_or_reason(self._store.layout, agent.ROLE)
        return role if isinstance(role, Role) else Role(agent.ROLE, "")

    def _commit(self, packet: Packet, config: Config, now: float) -> Packet:
        """Write packet, wake-state, receipts and loop-state, in that order."""
        packet = msgspec.structs.replace(packet, in_force=self._session.in_force(config, now))
        self._store.packets.append(packet)
        self._settle(packet, config)
        counts = f"{len(packet.done)} done, {len(packet.made)} made"
        outcome = f"failed: {packet.failed}" if packet.failed else counts
        self._log.add("loop", f"loop {packet.loop}: {outcome}", now, task_id=packet.task_id, loop=packet.loop)
        return packet

    def _settle(self, packet: Packet, config: Config) -> None:
        self.state = settle(self._store, self.state, packet, config, self._today)


def _member(spec: Spec) -> Member:
    return Member(spec.created_by, times.epoch(spec.created_at))


def _news_counts(news: News) -> str:
    counts = (
        (len(news.ended), "task ended", "tasks ended"),
        (len(news.signals), "signal", "signals"),
        (news.discoveries, "discovery", "discoveries"),
        (len(news.woken), "schedule due", "schedules due"),
    )
    return ", ".join(f"{count} {singular if count == 1 else plural}" for count, singular, plural in counts)


class Arrivals:
    """Detects what came in since the last poll, so that unread news asks for one beat, not for one after another."""

    def __init__(self, layout: Layout, loop: MainLoop) -> None:
        self._layout = layout
        self._loop = loop
        self._mail, self._work, self._approvals = self._stamps()

    def _stamps(self) -> tuple[tuple[Stamp, Stamp, Stamp], Stamp, Stamp]:
        layout = self._layout
        mail = stamp(layout.signals), stamp(layout.memory), stamp(layout.schedule_runs)
        return mail, stamp(layout.work), stamp(layout.approvals)

    def poll(self, config: Config) -> bool:
        """Return whether there is news since the last poll. Raises StoreError.

        What comes while the agent is at work waits for the end of its loop, which brings a beat by itself.
        """
        before = self._mail, self._work, self._approvals
        self._mail, self._work, self._approvals = self._stamps()
        if self._approvals != before[2]:
            return True
        if self._loop.at_work:
            return False
        return self._work != before[1] or (self._mail != before[0] and self._loop.has_waking_news(config))
