"""The table of change kinds for undo: how to read the present state of a thing and how to set it."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from lumen_tui.actions.edits import Side
from lumen_tui.model.records import Change
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes

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


class _Names(NamedTuple):
    """The functions of a kind by their names in this package, whose modules are imported when they are used."""

    now: str
    put: str
    may: str = ""
    put_all: str = ""
    parts: bool = False


KINDS: dict[str, _Names] = {
    "work": _Names("plain_kinds.work_now", "plain_kinds.put_work", "plain_kinds.may_work"),
    "role": _Names("plain_kinds.role_now", "plain_kinds.put_role"),
    "task": _Names("plain_kinds.task_now", "plain_kinds.put_task", "tasks.may_change"),
    "told": _Names("steering.told_now", "steering.put_told", "steering.may_tell"),
    "attention": _Names("plain_kinds.noted", "attention.put"),
    "claim": _Names("plain_kinds.noted", "operators.put"),
    "note": _Names("plain_kinds.noted", "operators.put"),
    "cancel": _Names("tasks.cancelled_now", "tasks.put_cancel", "tasks.may_cancel"),
    "unit": _Names("lanes.unit_now", "lanes.put_unit", "lanes.may_unit"),
    "stamp": _Names("lanes.stamp_now", "lanes.put_stamp"),
    "setting": _Names("settings.setting_now", "settings.put_setting"),
    "approval": _Names("approvals.approval_now", "approvals.put_approval", "approvals.may_answer"),
    "allow": _Names("approvals.rule_now", "approvals.put_rule"),
    "accepted": _Names("toolservers.accepted_now", "toolservers.put_accepted"),
    "grant": _Names("settings.grant_now", "settings.put_grant"),
    "imported": _Names("agentfile.passages_now", "agentfile.put_passages"),
    "block": _Names("blocks.block_now", "blocks.put_block"),
    "relay": _Names("relay.relay_now", "relay.put_relay"),
    "changed-file": _Names("changelists.file_now", "changelists.put_file", parts=True),
    "branch": _Names("branches.branch_now", "branches.put_branch"),
    "host": _Names("hosts.host_now", "hosts.put_host"),
    "schedule": _Names("schedules.schedule_now", "schedules.put_schedule", "schedules.may_schedule"),
    "schedule-run": _Names("schedules.run_now", "schedules.put_run", "schedules.may_run"),
    "archival": _Names("knowledge.passage_now", "knowledge.put_passage"),
    "confirmation": _Names("facts.confirmation_now", "facts.put_confirmation"),
    "case": _Names("evals.case_now", "evals.put_case"),
    "candidate": _Names("promotion.candidate_now", "promotion.put_candidate"),
    "champion": _Names("promotion.champion_now", "promotion.put_champion", "promotion.may_champion"),
    "abtest": _Names("abtests.test_now", "abtests.put_test", "abtests.may_test"),
    "observation": _Names(
        "evolution.observation_now", "evolution.put_observation", put_all="evolution.put_observations"
    ),
    "evolved": _Names("evolution.files_now", "evolution.put_files", "evolution.may_files"),
    "signal cleanup": _Names("cleanup.signals_now", "cleanup.put_signals", "cleanup.may_signals"),
    "session": _Names("sessions.session_now", "sessions.put_session"),
    "current session": _Names("sessions.current_now", "sessions.put_current"),
    "edge": _Names("relations.edge_now", "relations.put_edge"),
    "touches": _Names("decay.touches_now", "decay.put_touches"),
    "pause": _Names("engine.pause_now", "engine.put_pause"),
    "queued": _Names("tasks.queued_now", "tasks.put_queued", "tasks.may_queue"),
    "signal": _Names("signals.sent_now", "signals.put_sent", "signals.may_send"),
    "announcement": _Names("signals.sent_now", "signals.put_announcement"),
    "read": _Names("signals.reads_now", "signals.put_reads"),
    "imported lines": _Names("imports.lines_now", "imports.put_lines", "imports.may_lines"),
    "imported unit": _Names("imports.unit_now", "imports.put_unit"),
    "imported file": _Names("imports.file_now", "imports.put_file", "imports.may_file"),
    "constitution file": _Names("evolution.file_now", "evolution.put_file"),
    "constitution": _Names("evolution.approved_now", "evolution.put_approved"),
}


@functools.cache
def kind_of(name: str) -> Kind:
    """Return how a kind of change is handled. Raise KeyError for an unknown one."""
    names = KINDS[name]
    may = _function(names.may) if names.may else _always
    put_all = _function(names.put_all) if names.put_all else None
    return Kind(_function(names.now), _function(names.put), may, put_all, names.parts)


def _function(name: str) -> Any:
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f"lumen_tui.actions.{module}"), function)


def side_now(store: Store, change: Change) -> Side | None:
    """Return the present state of the thing that a change is about, in the form of the change's sides."""
    if change.kind != "node":
        return kind_of(change.kind).now(store, change)
    match = nodes.find(store.layout.memory, [change.key]).get(change.key)
    return {key: nodes.get_field(match[1], key) for key in change.after or change.before or {}} if match else None
