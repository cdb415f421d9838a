"""The briefing of a session of the main agent, within a fixed size.

Orders of the operator stand first and whole. Whatever others wrote (signals, results, discoveries) is data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

import msgspec

from lumen_tui.engine.loops.news import News
from lumen_tui.engine.loops.tiers import OWN, Tier
from lumen_tui.model import agent, capsule, times
from lumen_tui.model.capsule import Briefing, Capsule, Section, assemble_briefing, bounded
from lumen_tui.model.chat import Turn
from lumen_tui.model.evolved_edits import EditKind
from lumen_tui.model.fences import escaped, fence, order, words_of
from lumen_tui.model.loop import EngineEvent, Packet, task_end
from lumen_tui.model.records import Action, Signal
from lumen_tui.model.roles import Role, role_line
from lumen_tui.model.schedule_runs import ScheduledRun
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.queries import block_texts
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution.champions import read_current
from lumen_tui.store.memory import blocks
from lumen_tui.store.tasks.task_files import folder_of
from lumen_tui.tools.agent.report import MOST_WAKE

INBOX = "Inbox"
ORDERS = "Orders of the operator"
_MESSAGE, _EXCERPT = 2_000, 4_000  # characters of one signal and of one result
_ORDERS = 66_000  # characters: an order of any length that can be sent stands there whole
_LISTS = 20_000  # characters of what the engine adds to a wake-state: what was left out, what binds, what is next
_TALK = 40_000  # characters of the chat
_SIGNALS, _RESULTS = 8_000, 12_000  # characters of all of them
_ASKED = 1000  # characters of what waits for a person
_NAMED = 40  # entries of one kind that are looked at at all
_READ = 64 * 1024  # bytes of a result
_DECISIONS = 1200  # characters of what persons decided
_VERBS = ("triage.promote", "triage.archive", "triage.merge")
_LOOKED_AT = 500  # acts of persons


@dataclass(frozen=True)
class BriefingInputs:
    """What a briefing is made from."""

    layout: Layout
    snapshot: Snapshot  # taken for the agent: unread counts are its own
    news: News
    signals: tuple[Signal, ...]  # the unread ones in the order in which they are shown
    loop: int
    now: float
    budget: str  # what is left of it, in words
    capsule: Capsule
    talk: tuple[Turn, ...] = ()  # turns of the chat since the last loop
    tier: Tier = OWN


def in_order(signals: Iterable[Signal], name: str) -> tuple[Signal, ...]:
    """Sort signals: orders first, then P0, then those meant for the agent, then the others; newest first in each."""

    def rank(signal: Signal) -> tuple[bool, bool, bool]:
        return not signal.order, signal.priority != "P0", signal.target_agent != name

    newest_first = list(signals)[::-1]
    return tuple(sorted(newest_first, key=rank))


def brief(inputs: BriefingInputs) -> Briefing:
    """Assemble the briefing, section by section."""
    snapshot, layout = inputs.snapshot, inputs.layout
    orders = tuple(signal for signal in inputs.signals if signal.order)
    others = inputs.signals[len(orders) :]
    return assemble_briefing(arranged(layout, [
        Section("Now", tuple(_now(inputs)), 1500),
        Section("Schedules that are due", tuple(map(_due, inputs.news.woken)), 4000, "schedules"),
        Section(ORDERS, tuple(_order(inputs, signal) for signal in orders), _ORDERS, "orders", "they come next time"),
        Section("Chat with the operator since your last loop", tuple(_talk(inputs)), _TALK, "turns",
                str(layout.chat)),
        Section("Wake-state", tuple(_wake(inputs)), MOST_WAKE + _LISTS, more=f"read_file {layout.wake_state}"),
        Section("Edits of memory blocks", tuple(_edited_blocks(inputs)), 1500),
        Section("The loop before", tuple(_before(snapshot.packets)), 1500),
        Section("Capsule", tuple(_capsule(inputs)), 4 * inputs.capsule.budget + 600),
        Section(INBOX, tuple(_signal(inputs, signal) for signal in others), _SIGNALS, "signals",
                "read_signals with the id of one reads it; they stay unread and come next time"),
        Section("Tasks that ended", tuple(_ended(inputs, event) for event in inputs.news.ended[::-1]), _RESULTS,
                "tasks", f"read_file RESULT below {layout.tasks}"),
        Section("Tasks that wait or run", tuple(map(_task, _open(snapshot))), 1500, "tasks"),
        Section("Open discoveries", tuple(_discoveries(inputs)), 1500, "discoveries"),
        Section("What became of discoveries", tuple(_decision_entries(layout, snapshot.packets)), _DECISIONS + 300),
        Section("What waits for a person", tuple(_needs(inputs)), 1200, "things"),
    ]))  # fmt: skip


def arranged(layout: Layout, sections: list[Section]) -> list[Section]:
    """Return the sections with those first that the version in force names; what the operator orders stays above."""
    named = read_current(layout).of_kind(EditKind.ORDER).get("", "")
    first = [title.strip() for title in named.split(";") if title.strip()]
    if not first:
        return sections
    top = sections.index(next(section for section in sections if section.title == ORDERS)) + 1

    def place(section: Section) -> int:
        return first.index(section.title) if section.title in first else len(first)

    return [*sections[:top], *sorted(sections[top:], key=place)]


def chat_state(inputs: BriefingInputs, *, whole: bool, since: float) -> Briefing:
    """Assemble what a turn of the chat is told beside the operator's words.

    That is everything where it is `whole`, the first of what is sent; else what is new `since` the turn before.
    """
    snapshot, layout = inputs.snapshot, inputs.layout
    wake = _wake(inputs) if whole or snapshot.wake.written > since else []
    return assemble_briefing([
        Section("Now", tuple(_chat_now(inputs)), 1500),
        Section("What your last loop left", tuple(wake), MOST_WAKE + _LISTS, more=f"read_file {layout.wake_state}"),
        Section("Memory blocks", tuple(_blocks(inputs) if whole else ()), block_texts.MOST, "blocks",
                str(layout.blocks)),
        Section("Tasks that ended since the turn before", tuple(_ended(inputs, event) for event in
                inputs.news.ended[::-1]), _RESULTS, "tasks", f"read_file RESULT below {layout.tasks}"),
        Section("Tasks that wait or run", tuple(map(_task, _open(snapshot))), 1500, "tasks"),
        Section("What waits for a person", tuple(_needs(inputs)), 1200, "things"),
        Section("Roles that can be given work", tuple(map(role_line, _others(snapshot) if whole else ())), 1500,
                "roles"),
    ])  # fmt: skip


def _chat_now(inputs: BriefingInputs) -> list[str]:
    config, packets = inputs.snapshot.config, inputs.snapshot.packets
    at_work = f"loop {inputs.loop} of yours is at work beside this conversation" if inputs.loop else ""
    last = f"your last loop, {packets[-1].loop}, ended {times.stamp_of(packets[-1].completed_at)}" if packets else ""
    return [
        f"- {times.stamp(inputs.now)}; you are {one_line(config.agent.name, 60)}",
        f"- {at_work or last or 'you had no loop yet'}",
        f"- budget left: {inputs.budget}",
    ]


def _now(inputs: BriefingInputs) -> list[str]:
    news, config = inputs.news, inputs.snapshot.config
    arrivals = [
        f"{len(news.ended)} tasks ended",
        f"{len(inputs.signals)} signals",
        f"{news.discoveries} new discoveries",
        *([f"{len(news.woken)} of your schedules due"] if news.woken else []),
    ]
    senders = Counter(one_line(signal.sender, 60) for signal in inputs.signals).most_common(5)
    counted = ", ".join(f"{name} ({count})" for name, count in senders)
    return [
        f"- loop {inputs.loop}, {times.iso(inputs.now)}",
        f"- you are {one_line(config.agent.name, 60)}, woken because: {', '.join(arrivals)}",
        *([f"- the signals are from {counted}"] if counted else []),
        *([f"- this loop begins on {inputs.tier.model}, as {inputs.tier.why}"] if inputs.tier.model else []),
        f"- left to spend: {inputs.budget}",
    ]


def _due(run: ScheduledRun) -> str:
    """Return what a schedule says: the operator's is an order, one of the agent's own is data."""
    about = f"schedule {run.name}, due {times.stamp(run.due_at)}" + (
        f", on {run.cause} {run.about}" if run.about else ""
    )
    if run.order:
        return order(run.text, run.by, about)
    return fence(bounded(run.text, _EXCERPT, f"`lumen-tui schedule show {run.name}`"), f"{about}, made by {run.by}")


def _talk(inputs: BriefingInputs) -> list[str]:
    head = "It was answered there: keep to what was said, and do not do again what was done."
    return [head, *map(_talked, inputs.talk)] if inputs.talk else []


def _talked(turn: Turn) -> str:
    """Return one turn of the chat: the operator's orders whole, and what the agent answered and ordered there."""
    ordered = [
        words_of(message.text, message.by, f"said in the chat, {message.id}", seen=message.order)
        for message in turn.messages
    ]
    answer = bounded(escaped(turn.answer.strip()), _MESSAGE) or f"(no answer: {turn.end.reason if turn.end else ''})"
    return "\n".join([*ordered, f"You answered in {agent.turn_id(turn.number)}: {answer}"])


def _wake(inputs: BriefingInputs) -> list[str]:
    wake = inputs.snapshot.wake
    if not wake.text.strip():
        return ["There is none yet: this is your first loop."]
    return [f"Written {times.stamp(wake.written)}.\n\n{escaped(wake.text.strip())}"]


def _before(packets: tuple[Packet, ...]) -> list[str]:
    if not packets:
        return []
    last = packets[-1]
    ended = times.stamp_of(last.completed_at)
    lines = [f"- loop {last.loop} ended {ended}, health {last.health.status} {last.health.note}".rstrip()]
    if last.failed:
        lines.append(f"- its session failed ({last.failed}); what it was shown is shown again")
        lines += [f"- it had done this before, do not do it again: {step}" for step in last.done]
    return [escaped(line) for line in lines]


def _capsule(inputs: BriefingInputs) -> list[str]:
    """Return the capsule. What no person has accepted may be from anywhere: it is fenced."""
    whole = inputs.capsule
    own = tuple(part for part in whole.parts if part.name not in capsule.UNACCEPTED)
    text = capsule.render(msgspec.structs.replace(whole, parts=own, stalest=whole.stalest_id))
    blocks = [escaped(text).partition("\n\n")[2].replace("\n## ", "\n### ")]
    others = [part for part in whole.parts if part.name in capsule.UNACCEPTED and part.entries]
    return blocks + [
        fence("\n".join(f"- {entry}" for entry in part.entries), capsule.TITLES[part.name].lower()) for part in others
    ]


def _edited_blocks(inputs: BriefingInputs) -> list[str]:
    """Record edits of the memory blocks by hand, before the session reads them; return why that cannot be done."""
    try:
        blocks.take_in(inputs.layout, inputs.now)
    except (files.StoreError, OSError) as error:
        return [f"- the memory blocks cannot be read: {error}"]
    return []


def _blocks(inputs: BriefingInputs) -> list[str]:
    return _edited_blocks(inputs) or block_texts.entries(inputs.layout, inputs.now)


def _order(inputs: BriefingInputs, signal: Signal) -> str:
    return order(signal.message, signal.sender, _about(inputs, signal))


def _about(inputs: BriefingInputs, signal: Signal) -> str:
    to = f"to {signal.target_agent}" if signal.target_agent else ""
    sent = f"sent {times.stamp(times.epoch(signal.created_at, inputs.now))}"
    return ", ".join(part for part in (signal.id, to, signal.wu_id, signal.priority, sent) if part)


def _signal(inputs: BriefingInputs, signal: Signal) -> str:
    text = bounded(signal.message, _MESSAGE, f"read_signals with id={signal.id}")
    return fence(text, f"signal of {signal.sender}: {_about(inputs, signal)}")


def _ended(inputs: BriefingInputs, event: EngineEvent) -> str:
    folder = folder_of(inputs.layout, event.task_id)
    end = task_end(event)
    head = f"- {event.task_id} {one_line(end.words, 40)}: {escaped(one_line(event.text, 300))}"
    if reason := one_line(end.reason, 300):
        head += f"\n{fence(reason, f'why {event.task_id} ended')}"
    return f"{head}\n{_result(folder)}" if folder else head


def _result(folder: Path) -> str:
    path = folder / "result.md"
    try:
        data = files.read(path, _READ)
    except files.StoreError as error:
        return f"  its result cannot be read: {error}"
    if data is None:
        return f"  no result; its folder: {folder}"
    return fence(bounded(data.decode(errors="replace").strip(), _EXCERPT, f"read_file {path}"), f"result {path}")


def _open(snapshot: Snapshot) -> list[TaskView]:
    views = []
    for view in snapshot.tasks[:_NAMED]:
        if view.archived:
            break
        if (view.status.alive or view.status.parked or view.status is Status.QUEUED) and view.spec.role != agent.ROLE:
            views.append(view)
    return views


def _task(view: TaskView) -> str:
    waits = f", after {', '.join(view.waits_for)}" if view.waits_for else ""
    return f"- {view.id} {view.status}{waits}, {view.spec.role}: {escaped(one_line(view.spec.objective, 160))}"


def _discoveries(inputs: BriefingInputs) -> list[str]:
    counts = inputs.snapshot.discovery_counts
    if not any(counts.values()):
        return []
    counted = ", ".join(
        f"{count} {priority or 'without priority'}" for priority, count in sorted(counts.items()) if count
    )
    top = [
        f"{row.node.id} {row.node.priority} {row.node.wu_id}: {one_line(row.node.title, 140)}"
        for row in inputs.snapshot.discoveries[:8]
    ]
    return [f"- {counted}", fence("\n".join(top), "discoveries")]


def _needs(inputs: BriefingInputs) -> list[str]:
    """Return how many things wait for a person, and fenced what they say; proposals are only counted."""
    needs = inputs.snapshot.attention[:_NAMED]
    counts = Counter(item.need for item in needs)
    lines = [f"- {item.need}: {one_line(item.text, 160)}" for item in needs if item.need is not Need.PROPOSAL]
    head = [f"- {', '.join(f'{count} {need}' for need, count in counts.items())}"] if counts else []
    return head + ([fence(bounded("\n".join(lines), _ASKED), "what waits for a person")] if lines else [])


def _others(snapshot: Snapshot) -> list[Role]:
    return [role for role in snapshot.roles if role.name != agent.ROLE]


def _decision_entries(layout: Layout, packets: Sequence[Packet]) -> list[str]:
    """Return who decided what, and why; fenced, as a title may be anybody's words."""
    before = next((packet for packet in reversed(packets) if not packet.failed), None)
    if before is None:
        return []
    since = times.epoch(before.completed_at)
    acts = (entry.first for entry in islice(journal.in_effect(layout, lambda _: True), _LOOKED_AT))
    newer = takewhile(lambda act: times.epoch(act.at) > since, acts)
    lines = [_decision_line(act) for act in newer if act.verb in _VERBS]
    return [fence(bounded("\n".join(lines[::-1]), _DECISIONS), "what persons decided of discoveries")] if lines else []


def _decision_line(act: Action) -> str:
    reason = f", because: {one_line(act.reason, 200)}" if act.reason else ""
    return f"{one_line(act.by, 60)}: {one_line(act.summary, 200)}{reason}"
