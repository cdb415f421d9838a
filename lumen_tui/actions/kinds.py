"""The table of change kinds for undo: how to read the present state of a thing and how to set it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lumen_tui.actions import (
    abtests,
    agentfile,
    approvals,
    attention,
    blocks,
    branches,
    changelists,
    cleanup,
    decay,
    edits,
    engine,
    evals,
    evolution,
    facts,
    hosts,
    imports,
    knowledge,
    lanes,
    operators,
    promotion,
    relations,
    relay,
    schedules,
    sessions,
    settings,
    signals,
    steering,
    tasks,
    toolservers,
    work,
)
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.records import Change
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes
from lumen_tui.store.settings import roles
from lumen_tui.store.tasks import task_files
from lumen_tui.store.work.work_units import retire_unit


def _work_now(store: Store, change: Change) -> Side | None:
    return work.unit_side(store.layout, change.key)


def _may_work(store: Store, change: Change) -> None:
    if change.after is None:
        work.must_be_unused(store, change.key)
    elif work.retired_side(store.layout, change.key) != change.after:
        raise ActionError(f"work/retired/{change.key}.md is gone or was changed: nothing was done")


def _put_work(store: Store, change: Change) -> None:
    _may_work(store, change)
    if change.after is None:
        retire_unit(store.layout, change.key)
    else:
        work.bring_back(store.layout, change.key)


def _role_now(store: Store, change: Change) -> Side | None:
    return dict(roles.role_texts(store.layout, change.key))


def _put_role(store: Store, change: Change) -> None:
    roles.put_role_texts(store.layout, change.key, change.after or {"hired": None, "retired": None})


def _spec(store: Store, change: Change) -> Spec:
    spec = task_files.read_spec(store.layout, change.key)
    if spec is None:
        raise ActionError(f"task {change.key} is no longer there")
    return spec


def _task_now(store: Store, change: Change) -> Side | None:
    return tasks.some_fields(_spec(store, change), change.before or ())


def _put_task(store: Store, change: Change) -> None:
    spec = _spec(store, change)
    tasks.put(store, tasks.with_fields(spec, change.after or {}), spec)


def _noted(_: Store, change: Change) -> Side | None:
    """Return the change's `before`: such a change exists in the journal of actions alone, and so does its undo."""
    return change.before


Now = Callable[[Store, Change], Side | None]
Put = Callable[[Store, Change], "str | None"]  # the words are for a person: what goes on, or what stays
PutAll = Callable[[Store, list[Change]], "str | None"]
May = Callable[[Store, Change], None]


def _always(_: Store, __: Change) -> None:
    """Allow every change."""


class Kind(NamedTuple):
    """How undo handles one kind of change."""

    now: Now
    put: Put
    may: May = _always  # ActionError where `put` would refuse although the thing is as the change says
    put_all: PutAll | None = None  # instead of `put`, where several of one entry are one write
    parts: bool = False  # its fields are in several files: a kill may leave some as before, and others as after


KINDS: dict[str, Kind] = {
    "work": Kind(_work_now, _put_work, _may_work),
    "role": Kind(_role_now, _put_role),
    "task": Kind(_task_now, _put_task, tasks.may_change),
    steering.KIND: Kind(steering.told_now, steering.put_told, steering.may_tell),
    "attention": Kind(_noted, attention.put),
    operators.CLAIM_KIND: Kind(_noted, operators.put),
    operators.NOTE_KIND: Kind(_noted, operators.put),
    tasks.CANCEL_KIND: Kind(tasks.cancelled_now, tasks.put_cancel, tasks.may_cancel),
    "unit": Kind(lanes.unit_now, lanes.put_unit, lanes.may_unit),
    lanes.STAMP_KIND: Kind(lanes.stamp_now, lanes.put_stamp),
    "setting": Kind(settings.setting_now, settings.put_setting),
    "approval": Kind(approvals.approval_now, approvals.put_approval, approvals.may_answer),
    "allow": Kind(approvals.rule_now, approvals.put_rule),
    toolservers.KIND: Kind(toolservers.accepted_now, toolservers.put_accepted),
    "grant": Kind(settings.grant_now, settings.put_grant),
    agentfile.KIND: Kind(agentfile.passages_now, agentfile.put_passages),
    blocks.KIND: Kind(blocks.block_now, blocks.put_block),
    relay.KIND: Kind(relay.relay_now, relay.put_relay),
    changelists.KIND: Kind(changelists.file_now, changelists.put_file, parts=True),
    branches.KIND: Kind(branches.branch_now, branches.put_branch),
    hosts.KIND: Kind(hosts.host_now, hosts.put_host),
    schedules.KIND: Kind(schedules.schedule_now, schedules.put_schedule, schedules.may_schedule),
    schedules.RUN_KIND: Kind(schedules.run_now, schedules.put_run, schedules.may_run),
    knowledge.KIND: Kind(knowledge.passage_now, knowledge.put_passage),
    facts.KIND: Kind(facts.confirmation_now, facts.put_confirmation),
    evals.KIND: Kind(evals.case_now, evals.put_case),
    promotion.KIND: Kind(promotion.candidate_now, promotion.put_candidate),
    promotion.CHAMPION_KIND: Kind(promotion.champion_now, promotion.put_champion, promotion.may_champion),
    abtests.KIND: Kind(abtests.test_now, abtests.put_test),
    evolution.KIND: Kind(evolution.observation_now, evolution.put_observation, put_all=evolution.put_observations),
    evolution.FILES_KIND: Kind(evolution.files_now, evolution.put_files, evolution.may_files),
    cleanup.SIGNALS_KIND: Kind(cleanup.signals_now, cleanup.put_signals, cleanup.may_signals),
    sessions.SESSION_KIND: Kind(sessions.session_now, sessions.put_session),
    sessions.CURRENT_KIND: Kind(sessions.current_now, sessions.put_current),
    relations.EDGE_KIND: Kind(relations.edge_now, relations.put_edge),
    decay.TOUCH_KIND: Kind(decay.touches_now, decay.put_touches),
    engine.PAUSE_KIND: Kind(engine.pause_now, engine.put_pause),
    tasks.QUEUED_KIND: Kind(tasks.queued_now, tasks.put_queued, tasks.may_queue),
    signals.SENT_KIND: Kind(signals.sent_now, signals.put_sent, signals.may_send),
    signals.ANNOUNCED_KIND: Kind(signals.sent_now, signals.put_announcement),
    edits.READ_KIND: Kind(signals.reads_now, signals.put_reads),
    imports.LINES_KIND: Kind(imports.lines_now, imports.put_lines, imports.may_lines),
    imports.UNIT_KIND: Kind(imports.unit_now, imports.put_unit),
    imports.FILE_KIND: Kind(imports.file_now, imports.put_file, imports.may_file),
    evolution.FILE_KIND: Kind(evolution.file_now, evolution.put_file),
    evolution.APPROVAL_KIND: Kind(evolution.approved_now, evolution.put_approved),
}


def side_now(store: Store, change: Change) -> Side | None:
    """Return the present state of the thing that a change is about, in the form of the change's sides."""
    if change.kind != "node":
        return KINDS[change.kind].now(store, change)
    match = nodes.find(store.layout.memory, [change.key]).get(change.key)
    return {key: nodes.get_field(match[1], key) for key in change.after or change.before or {}} if match else None
