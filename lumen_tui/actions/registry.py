"""The one table of verbs. Room, command line, port and tests all come through `perform`."""

from __future__ import annotations

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
from lumen_tui.model.requests.attention import (
    AllowAlways,
    AllowCalls,
    DenyCalls,
    DismissItems,
    ForgetRule,
    RestoreItems,
    SnoozeItems,
)
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.blocks import (
    AdjustBlock,
    AppendToBlock,
    DropTexts,
    LockBlock,
    NewBlock,
    PatchBlock,
    ReleaseTexts,
    ReplaceInBlock,
    RestoreBlock,
    RethinkBlock,
    SubmitToRelay,
    UnlockBlock,
)
from lumen_tui.model.requests.discoveries import (
    ArchiveDiscoveries,
    MergeDiscoveries,
    PostponeDiscoveries,
    PromoteDiscoveries,
)
from lumen_tui.model.requests.engine import (
    ChangeSettings,
    KillAgent,
    PauseAgent,
    RaiseBudget,
    Redo,
    RequestBeat,
    ResumeAgent,
    StopEngine,
    Undo,
    UnkillAgent,
)
from lumen_tui.model.requests.evolution import (
    AcceptLearnings,
    ApproveConstitution,
    EditLearnings,
    RejectLearnings,
    RestoreVersion,
)
from lumen_tui.model.requests.facts import AddFact, AddProbe, CheckFacts, ConfirmFacts, RetireFacts
from lumen_tui.model.requests.memory import (
    ApplyDecay,
    ArchiveNodes,
    CleanUpNodes,
    CreateNode,
    DeleteNodes,
    IndexProject,
    InsertPassage,
    PinNodes,
    PromoteNodes,
    Summarize,
    TouchNodes,
    UnarchiveNodes,
    WithdrawPassage,
)
from lumen_tui.model.requests.roles import AdjustRole, FireRole, HireRole, RehireRole
from lumen_tui.model.requests.sessions import (
    AnswerDecision,
    EndSession,
    GiveHandoff,
    NoteDecision,
    SaveCheckpoint,
    StartSession,
    TakeHandoff,
)
from lumen_tui.model.requests.signals import CleanUpSignals, ReadAllSignals, ReadSignals, SendSignal
from lumen_tui.model.requests.tasks import CancelTask, EditTask, NewTask, RetryTask
from lumen_tui.model.requests.work import (
    AddRelation,
    BlockWorkUnit,
    ClaimWorkUnit,
    FinishWorkUnit,
    ImportBeads,
    ImportLumenFlow,
    NewWorkUnit,
    ReleaseWorkUnit,
    RemoveRelation,
    UnblockWorkUnit,
)
from lumen_tui.storage.redaction import clean_value
from lumen_tui.storage.store import Store
from lumen_tui.store.signals.retention import Watch, unwatched

Handler = Callable[..., Done]

HANDLERS: dict[type[Request], Handler] = {
    NewTask: tasks.new,
    CancelTask: tasks.cancel,
    RetryTask: tasks.retry,
    EditTask: tasks.edit,
    SendSignal: signals.send,
    ReadSignals: signals.read,
    ReadAllSignals: signals.read_all,
    CreateNode: nodes.create,
    ArchiveNodes: nodes.archive,
    UnarchiveNodes: nodes.unarchive,
    PromoteDiscoveries: triage.promote,
    ArchiveDiscoveries: triage.archive,
    PostponeDiscoveries: triage.keep,
    MergeDiscoveries: triage.merge,
    PinNodes: decay.pin,
    TouchNodes: decay.touch,
    ApplyDecay: decay.apply,
    ChangeSettings: settings.change,
    Summarize: summaries.make,
    CleanUpNodes: cleanup.nodes,
    CleanUpSignals: cleanup.signals,
    PromoteNodes: nodes.promote,
    DeleteNodes: nodes.delete,
    IndexProject: knowledge.index,
    InsertPassage: archive.insert,
    WithdrawPassage: archive.withdraw,
    AddFact: facts.add,
    CheckFacts: facts.check,
    ConfirmFacts: facts.confirm,
    AddProbe: facts.add_probe,
    RetireFacts: facts.retire,
    HireRole: roles.hire,
    AdjustRole: roles.adjust,
    FireRole: roles.fire,
    RehireRole: roles.rehire,
    NewWorkUnit: work.new,
    ClaimWorkUnit: lanes.claim,
    BlockWorkUnit: lanes.block,
    UnblockWorkUnit: lanes.unblock,
    ReleaseWorkUnit: lanes.release,
    FinishWorkUnit: finishing.done,
    ImportLumenFlow: imports.lumenflow,
    ImportBeads: imports.issues,
    AddRelation: relations.add,
    RemoveRelation: relations.remove,
    StartSession: sessions.start,
    EndSession: sessions.end,
    NoteDecision: sessions.decide,
    AnswerDecision: sessions.answer,
    SaveCheckpoint: checkpoints.save,
    GiveHandoff: handoff.give,
    TakeHandoff: handoff.accept,
    RaiseBudget: budget.raise_cap,
    KillAgent: killing.kill,
    UnkillAgent: killing.unkill,
    RequestBeat: engine.beat,
    PauseAgent: engine.pause,
    ResumeAgent: engine.resume,
    StopEngine: engine.stop,
    DismissItems: attention.dismiss,
    SnoozeItems: attention.snooze,
    RestoreItems: attention.back,
    AllowCalls: approvals.allow,
    DenyCalls: approvals.deny,
    AllowAlways: approvals.allow_always,
    ForgetRule: approvals.forget,
    AcceptLearnings: evolution.accept,
    RejectLearnings: evolution.reject,
    EditLearnings: evolution.edit,
    RestoreVersion: evolution.restore,
    ApproveConstitution: constitution.approve,
    agentfile.ImportAgentFile: agentfile.take_in,
    NewBlock: blocks.new,
    AppendToBlock: blocks.append,
    ReplaceInBlock: blocks.replace,
    PatchBlock: blocks.patch,
    RethinkBlock: blocks.rethink,
    AdjustBlock: blocks.adjust,
    LockBlock: blocks.lock,
    UnlockBlock: blocks.unlock,
    RestoreBlock: blocks.restore,
    SubmitToRelay: relay.submit,
    ReleaseTexts: relay.release,
    DropTexts: relay.drop,
    Undo: undo.undo,
    Redo: undo.redo,
}

REQUESTS: dict[str, type[Request]] = {str(kind.__struct_config__.tag): kind for kind in HANDLERS}


def named(verb: str, arguments: Mapping[str, Any]) -> Request:
    """Return the request for a verb that is named in words, with its arguments. ActionError where they do not fit."""
    kind = REQUESTS.get(verb)
    if kind is None:
        raise ActionError(f"there is no verb {verb!r}", candidates=checks.nearest(verb, REQUESTS))
    try:
        return msgspec.convert(dict(arguments), kind)
    except msgspec.ValidationError as error:
        raise ActionError(f"{verb}: {error}") from error


def perform(store: Store, request: Request, *, by: str, now: float, client: str = "", watch: Watch = unwatched) -> Done:
    """Carry out one request durably, as one entry of the journal of actions, which undo can take back.

    ActionError or StoreError where it could not be carried out; nothing was written then. `client` is where the
    operator gave the command: see `actions.acting`. `watch` gets the share that is done of what takes long.

    Secrets are removed from the fields first, so that nothing the verb writes, counts or compares contains one.
    """
    if problem := store.layout.absent():
        raise ActionError(problem)
    try:
        ids.check_label(by, "operator")
        clean_request = msgspec.structs.replace(request, **clean_value(msgspec.structs.asdict(request)))
        with acting.acting_for(by, client, now, watch):
            return HANDLERS[type(request)](store, clean_request, by=by, now=now)
    except (ids.BadId, ValueError, msgspec.ValidationError) as error:
        raise ActionError(str(error)) from error
