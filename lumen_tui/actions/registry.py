"""The one table of verbs. Room, command line, port and tests all come through `perform`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from lumen_tui.actions import acting, refusal
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids
from lumen_tui.model.requests.base import Request
from lumen_tui.storage import files
from lumen_tui.storage.redaction import clean_value
from lumen_tui.storage.rewriting import Watch, unwatched
from lumen_tui.storage.store import Store

R = TypeVar("R", bound=Request)
Handler = Callable[..., Done]  # store, request, by, now

# The function in this package that carries out each verb; its module is imported when the verb is used.
HANDLERS: dict[str, str] = {
    "task.new": "tasks.new",
    "task.cancel": "tasks.cancel",
    "task.retry": "tasks.retry",
    "task.edit": "tasks.edit",
    "task.tell": "steering.tell",
    "task.limit": "steering.limit",
    "question.answer": "approvals.answer",
    "signal.send": "signals.send",
    "signal.read": "signals.read",
    "signal.read_all": "signals.read_all",
    "node.create": "nodes.create",
    "node.archive": "nodes.archive",
    "node.unarchive": "nodes.unarchive",
    "triage.promote": "triage.promote",
    "triage.archive": "triage.archive",
    "triage.keep": "triage.keep",
    "triage.merge": "triage.merge",
    "triage.edit": "triage.edit",
    "decay.pin": "decay.pin",
    "decay.touch": "decay.touch",
    "decay.apply": "decay.apply",
    "setting.change": "settings.change",
    "summary.make": "finishing.summarize",
    "summary.rewrite": "finishing.rewrite",
    "cleanup.nodes": "cleanup.nodes",
    "cleanup.signals": "cleanup.signals",
    "node.promote": "nodes.promote",
    "node.delete": "nodes.delete",
    "memory.index": "knowledge.index",
    "archive.insert": "knowledge.insert",
    "archive.withdraw": "knowledge.withdraw",
    "fact.add": "facts.add",
    "fact.check": "fact_readings.check",
    "fact.confirm": "facts.confirm",
    "fact.probe": "facts.add_probe",
    "fact.retire": "facts.retire",
    "role.hire": "roles.hire",
    "role.adjust": "roles.adjust",
    "role.fire": "roles.fire",
    "role.rehire": "roles.rehire",
    "wu.new": "work.new",
    "wu.split": "work.split",
    "wu.claim": "lanes.claim",
    "wu.block": "lanes.block",
    "wu.unblock": "lanes.unblock",
    "wu.release": "lanes.release",
    "wu.done": "finishing.done",
    "import.lumenflow": "imports.lumenflow",
    "import.beads": "imports.issues",
    "relation.add": "relations.add",
    "relation.remove": "relations.remove",
    "session.start": "sessions.start",
    "session.end": "sessions.end",
    "decision.note": "sessions.decide",
    "decision.answer": "sessions.answer",
    "checkpoint.save": "checkpoints.save",
    "handoff.give": "sessions.give",
    "handoff.take": "sessions.accept",
    "budget.raise": "settings.raise_cap",
    "kill": "killing.kill",
    "unkill": "killing.unkill",
    "engine.beat": "engine.beat",
    "engine.pause": "engine.pause",
    "engine.resume": "engine.resume",
    "engine.stop": "engine.stop",
    "attention.dismiss": "attention.dismiss",
    "attention.snooze": "attention.snooze",
    "attention.back": "attention.back",
    "operator.claim": "operators.claim",
    "operator.release": "operators.release",
    "operator.note": "operators.note",
    "approval.allow": "approvals.allow",
    "approval.deny": "approvals.deny",
    "approval.allow_always": "approvals.allow_always",
    "approval.forget": "approvals.forget",
    "evolution.accept": "evolution.accept",
    "evolution.reject": "evolution.reject",
    "evolution.edit": "evolution.edit",
    "evolution.restore": "evolution.restore",
    "evolution.mark": "evals.mark",
    "evolution.propose": "promotion.propose",
    "evolution.withdraw": "promotion.withdraw",
    "evolution.promote": "promotion.promote",
    "evolution.take": "taking.take",
    "evolution.split": "abtests.split",
    "evolution.rollback": "promotion.roll_back",
    "constitution.approve": "evolution.approve",
    "af.import": "agentfile.take_in",
    "block.new": "blocks.new",
    "block.append": "blocks.append",
    "block.replace": "blocks.replace",
    "block.patch": "blocks.patch",
    "block.rethink": "blocks.rethink",
    "block.adjust": "blocks.adjust",
    "block.lock": "blocks.lock",
    "block.unlock": "blocks.unlock",
    "block.restore": "blocks.restore",
    "relay.submit": "relay.submit",
    "relay.release": "relay.release",
    "relay.drop": "relay.drop",
    "changes.accept": "changelists.accept",
    "changes.drop": "changelists.drop",
    "changes.write": "changelists.write",
    "changes.commit": "branches.commit",
    "changes.push": "branches.push",
    "changes.give": "branches.give",
    "schedule.add": "schedules.add",
    "schedule.remove": "schedules.remove",
    "schedule.pause": "schedules.pause",
    "schedule.resume": "schedules.resume",
    "schedule.run": "schedules.run",
    "chat.send": "chat.send",
    "chat.stop": "chat.stop",
    "chat.fresh": "chat.fresh",
    "tool.accept": "toolservers.accept",
    "tool.withdraw": "toolservers.withdraw",
    "host.cordon": "hosts.cordon",
    "host.uncordon": "hosts.uncordon",
    "host.drain": "hosts.drain",
    "host.remove": "hosts.remove",
    "undo": "undo.undo",
    "redo": "undo.redo",
}

_AREAS = (
    "attention",
    "blocks",
    "changes",
    "chat",
    "discoveries",
    "engine",
    "evolution",
    "facts",
    "hosts",
    "memory",
    "operators",
    "roles",
    "schedules",
    "sessions",
    "signals",
    "tasks",
    "tools",
    "work",
)


def handler(verb: str) -> Handler:
    """Return the function that carries out a verb."""
    module, _, function = HANDLERS[verb].partition(".")
    carry_out: Handler = getattr(importlib.import_module(f"lumen_tui.actions.{module}"), function)
    return carry_out


@functools.cache
def request_types() -> dict[str, type[Request]]:
    """Return the type of each verb's request, by the verb's name. Imports all of them."""
    for area in _AREAS:
        importlib.import_module(f"lumen_tui.model.requests.{area}")
    importlib.import_module("lumen_tui.actions.agentfile")  # its request holds a plan that is made there
    return {str(kind.__struct_config__.tag): kind for kind in Request.__subclasses__()}


def named(verb: str, arguments: Mapping[str, Any]) -> Request:
    """Return the request for a verb that is named in words, with its arguments. ActionError where they do not fit."""
    kind = request_types().get(verb)
    if kind is None:
        raise ActionError(f"there is no verb {verb!r}", candidates=refusal.nearest(verb, HANDLERS))
    return fitted(kind, arguments)


def fitted(kind: type[R], arguments: Mapping[str, Any]) -> R:
    """Return the request of this type with these arguments. ActionError where they do not fit."""
    try:
        return msgspec.convert(dict(arguments), kind)
    except msgspec.ValidationError as error:
        raise ActionError(f"{kind.__struct_config__.tag}: {error}") from error


def perform(
    store: Store,
    request: Request,
    *,
    by: str,
    now: float,
    client: str = "",
    watch: Watch = unwatched,
    order: bool = False,
) -> Done:
    """Carry out one request durably, as one entry of the journal of actions, which undo can take back.

    ActionError or StoreError where it could not be carried out; nothing was written then. `client` is where the
    operator gave the command, `order` whether it is seen to be theirs: see `actions.acting`. `watch` gets the share
    that is done of what takes long.

    Secrets are removed from the fields first, so that nothing the verb writes, counts or compares contains one.
    """
    if problem := store.layout.absent():
        raise ActionError(problem)
    try:
        ids.check_label(by, "operator")
        clean_request = msgspec.structs.replace(request, **clean_value(msgspec.structs.asdict(request)))
        with acting.acting_for(by, client, now, watch, order=order):
            return handler(request.verb)(store, clean_request, by=by, now=now)
    except (ids.BadId, ValueError, msgspec.ValidationError) as error:
        raise ActionError(str(error)) from error
    except OSError as error:
        raise files.fail(error.filename or store.root, error) from error
