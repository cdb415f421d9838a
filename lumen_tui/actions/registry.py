"""The one table of verbs. Room, command line, port and tests all come through `perform`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lumen_tui.actions import (
    acting,
    agentfile,
    approvals,
    archive,
    attention,
    blocks,
    budget,
    checkpoints,
    checks,
    cleanup,
    constitution,
    decay,
    engine,
    evolution,
    facts,
    finishing,
    handoff,
    imports,
    killing,
    knowledge,
    lanes,
    nodes,
    relations,
    relay,
    roles,
    sessions,
    settings,
    signals,
    summaries,
    tasks,
    triage,
    undo,
    work,
)
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids
from lumen_tui.storage.redaction import clean_value
from lumen_tui.storage.store import Store

Verb = Callable[..., Done]

VERBS: dict[str, Verb] = {
    "task.new": tasks.new,
    "task.cancel": tasks.cancel,
    "task.retry": tasks.retry,
    "task.edit": tasks.edit,
    "signal.send": signals.send,
    "signal.read": signals.read,
    "signal.read_all": signals.read_all,
    "node.create": nodes.create,
    "node.archive": nodes.archive,
    "node.unarchive": nodes.unarchive,
    "triage.promote": triage.promote,
    "triage.archive": triage.archive,
    "triage.keep": triage.keep,
    "triage.merge": triage.merge,
    "decay.pin": decay.pin,
    "decay.touch": decay.touch,
    "decay.apply": decay.apply,
    "setting.change": settings.change,
    "summary.make": summaries.make,
    "cleanup.nodes": cleanup.nodes,
    "cleanup.signals": cleanup.signals,
    "node.promote": nodes.promote,
    "node.delete": nodes.delete,
    "memory.index": knowledge.index,
    "archive.insert": archive.insert,
    "archive.withdraw": archive.withdraw,
    "fact.add": facts.add,
    "fact.check": facts.check,
    "fact.confirm": facts.confirm,
    "fact.probe": facts.add_probe,
    "fact.retire": facts.retire,
    "role.hire": roles.hire,
    "role.adjust": roles.adjust,
    "role.fire": roles.fire,
    "role.rehire": roles.rehire,
    "wu.new": work.new,
    "wu.claim": lanes.claim,
    "wu.block": lanes.block,
    "wu.unblock": lanes.unblock,
    "wu.release": lanes.release,
    "wu.done": finishing.done,
    "import.lumenflow": imports.lumenflow,
    "import.beads": imports.issues,
    "relation.add": relations.add,
    "relation.remove": relations.remove,
    "session.start": sessions.start,
    "session.end": sessions.end,
    "decision.note": sessions.decide,
    "decision.answer": sessions.answer,
    "checkpoint.save": checkpoints.save,
    "handoff.give": handoff.give,
    "handoff.take": handoff.accept,
    "budget.raise": budget.raise_cap,
    "kill": killing.kill,
    "unkill": killing.unkill,
    "engine.beat": engine.beat,
    "engine.pause": engine.pause,
    "engine.resume": engine.resume,
    "engine.stop": engine.stop,
    "attention.dismiss": attention.dismiss,
    "attention.snooze": attention.snooze,
    "attention.back": attention.back,
    "approval.allow": approvals.allow,
    "approval.deny": approvals.deny,
    "approval.allow_always": approvals.allow_always,
    "approval.forget": approvals.forget,
    "evolution.accept": evolution.accept,
    "evolution.reject": evolution.reject,
    "evolution.edit": evolution.edit,
    "evolution.restore": evolution.restore,
    "constitution.approve": constitution.approve,
    "af.import": agentfile.take_in,
    "block.new": blocks.new,
    "block.append": blocks.append,
    "block.replace": blocks.replace,
    "block.patch": blocks.patch,
    "block.rethink": blocks.rethink,
    "block.adjust": blocks.adjust,
    "block.lock": blocks.lock,
    "block.unlock": blocks.unlock,
    "block.restore": blocks.restore,
    "relay.submit": relay.submit,
    "relay.release": relay.release,
    "relay.drop": relay.drop,
    "undo": undo.undo,
    "redo": undo.redo,
}


def perform(store: Store, verb: str, arguments: Mapping[str, Any], *, by: str, now: float, client: str = "") -> Done:
    """Carry out one verb durably, as one entry of the journal of actions, which undo can take back.

    ActionError or StoreError where it could not be carried out; nothing was written then. `client` is where the
    operator gave the command: see `actions.acting`.

    Secrets are removed from the arguments first, so that nothing the verb writes, counts or compares contains one.
    """
    function = VERBS.get(verb)
    if function is None:
        raise ActionError(f"there is no verb {verb!r}", candidates=checks.nearest(verb, VERBS))
    try:
        bound = inspect.signature(function).bind(store, by=by, now=now, **clean_value(dict(arguments)))
    except TypeError as error:
        raise ActionError(f"{verb}: {error}") from error
    if problem := store.layout.absent():
        raise ActionError(problem)
    try:
        ids.check_label(by, "operator")
        with acting.acting_for(by, client, now):
            return function(*bound.args, **bound.kwargs)
    except (ids.BadId, ValueError, msgspec.ValidationError) as error:
        raise ActionError(str(error)) from error
