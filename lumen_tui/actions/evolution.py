"""A person's decisions about what was learnt and about the constitution: accept, reject, edit, restore, approve."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import msgspec

from lumen_tui.actions import acting, checks, edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import constitution, ids, learning_rules, times
from lumen_tui.model.constitution import DEFAULT
from lumen_tui.model.evolution import Observation, ObservationStatus, Trust, Version, objections
from lumen_tui.model.learning_rules import Rules
from lumen_tui.model.records import Change
from lumen_tui.model.requests.evolution import (
    AcceptLearnings,
    ApproveConstitution,
    EditLearnings,
    RejectLearnings,
    RestoreVersion,
)
from lumen_tui.model.text import is_safe, one_line
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution import evolved, versions, writing
from lumen_tui.store.evolution.constitution import (
    approve_constitution,
    approved_constitution,
    read_approval,
    read_constitution,
)
from lumen_tui.store.evolution.text_files import read_text
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.policy.fence import redactor

KIND = "observation"  # of a change
FILES_KIND = "evolved"
APPROVAL_KIND = "constitution"  # of a change
FILE_KIND = "constitution file"
_SHIPPED = {"text": "shipped"}  # a file that an approval made
_SHIPPED_KEY = "constitution and its file"  # of one change for both, in entries of earlier versions
_MOST = 20_000  # bytes; both sides of a change must fit into one journal line
_FIELDS = ("status", "text", "trust", "contradicts", "reasons")
_OUTSIDE = (
    ObservationStatus.PROPOSED,
    ObservationStatus.REJECTED,
    ObservationStatus.SUPERSEDED,
)  # what files do not tell, so that undo has to
_IN_SIGHT = (ObservationStatus.ACCEPTED, ObservationStatus.PROPOSED)  # of new ones: the others changed nothing
Known = dict[str, Observation]


def accept(store: Store, request: AcceptLearnings, *, by: str, now: float) -> Done:
    """Ask the gate once more under the lock of evolved/, and supersede what it contradicts in the same action."""

    def decide(observation: Observation, known: Known) -> list[Observation]:
        if observation.status is ObservationStatus.ACCEPTED:
            raise ActionError(f"{_named([observation])} is accepted already", missing=True)
        _check_gate(store, observation)
        changed = [
            msgspec.structs.replace(
                observation, status=ObservationStatus.ACCEPTED, reasons=objections(observation), contradicts=""
            )
        ]
        other = known.get(observation.contradicts)
        if other is not None and other.status is ObservationStatus.ACCEPTED:
            changed.append(
                msgspec.structs.replace(other, status=ObservationStatus.SUPERSEDED, reasons=(f"by {observation.id}",))
            )
        return changed

    return _judge(store, request.ids, decide, verb="evolution.accept", template="{} accepted", by=by, now=now)


def reject(store: Store, request: RejectLearnings, *, by: str, now: float) -> Done:
    """Set the status under the lock of evolved/ and write its files again."""
    clean_reason = checks.reason(request.reason)

    def decide(observation: Observation, _: Known) -> list[Observation]:
        if observation.status is ObservationStatus.REJECTED:
            raise ActionError(f"{_named([observation])} is rejected already", missing=True)
        return [msgspec.structs.replace(observation, status=ObservationStatus.REJECTED, reasons=(clean_reason,))]

    return _judge(
        store, request.ids, decide, verb="evolution.reject", template="{} rejected", by=by, now=now, reason=clean_reason
    )


def edit(store: Store, request: EditLearnings, *, by: str, now: float) -> Done:
    """Ask the gate about the new words under the lock of evolved/, and accept them as those of a person."""
    words = " ".join(request.text.split())

    def decide(observation: Observation, _: Known) -> list[Observation]:
        changed = msgspec.structs.replace(
            observation, text=words, status=ObservationStatus.ACCEPTED, trust=Trust.PERSON, reasons=(), contradicts=""
        )
        if words == observation.text and observation.status is ObservationStatus.ACCEPTED:
            raise ActionError("nothing was changed", missing=True)
        _check_gate(store, changed)
        return [changed]

    return _judge(store, request.ids, decide, verb="evolution.edit", template="{} edited", by=by, now=now)


def _check_gate(store: Store, observation: Observation) -> None:
    """Refuse what must never be learnt, even from a person: evolved/ can be edited by hand."""
    problems = learning_rules.forbidden(observation, gate_rules(store.layout))
    if len(observation.text.split()) < 2 or len(observation.text) > learning_rules.MOST_TEXT:
        problems = (*problems, f"a statement has 2 words to {learning_rules.MOST_TEXT} characters")
    if problems:
        raise ActionError(f"{observation.id} cannot be accepted: {'; '.join(problems)}. Edit it first")


def _judge(
    store: Store,
    ids: str | Sequence[str],
    decide: Callable[[Observation, Known], list[Observation]],
    *,
    verb: str,
    template: str,
    by: str,
    now: float,
    reason: str = "",
) -> Done:
    layout = store.layout
    with locks.waiting_lock(layout.lock(evolved.LOCK)):
        known = evolved.observations(layout)
        chosen = [known[observation_id] for observation_id in _ids(known, ids)]
        after = [new for observation in chosen for new in decide(observation, known)]
        stamped = [msgspec.structs.replace(observation, by=by, updated_at=times.iso(now)) for observation in after]
        before = [known[observation.id] for observation in stamped]
        changes = [Change(KIND, old.id, _side(old), _side(new)) for old, new in zip(before, stamped, strict=True)]
        summary = template.replace("{}", _named(chosen))
        action = edits.new_action(verb, changes, summary=summary, by=by, now=now, reason=reason)
        with journal.Transaction(layout) as transaction:
            transaction.announce(action)
            try:
                _write(store, known, stamped, by=by, now=now, reason=summary)
            except files.StoreError:
                transaction.partly_done()  # the records may be there, and the files not
                raise
    return Done(summary=summary, target=chosen[0].id, action_id=action.id)


def _write(store: Store, known: Known, changed: list[Observation], *, by: str, now: float, reason: str) -> None:
    """Write the records, and the files that follow from them."""
    known |= {observation.id: observation for observation in changed}
    evolved.add(store.layout, changed)
    config = load_config(store.layout)[0].evolution
    rebuilt = writing.rebuild(store.layout, known, config, now=now, by=by, reason=reason, free=True)
    ours = {observation.id for observation in changed}
    if late := [observation for observation in rebuilt.put_off if observation.id in ours]:
        raise ActionError(f"{late[0].reasons[0]}: reject what is no longer needed there, or raise [evolution] file_kb")


def _ids(known: Known, selection: str | Sequence[str]) -> list[str]:
    names = [selection] if isinstance(selection, str) else list(selection)
    if not names:
        raise ActionError("nothing is selected: name at least one observation")
    return list(dict.fromkeys([full for name in names for full in _asked_by(known, name) or [_full_id(known, name)]]))


def _asked_by(known: Known, session: str) -> list[str]:
    """Return what a session put to the operator as one question; empty for anything but a session's name."""
    waiting = evolved.waiting(known)
    return [observation.id for observation in waiting if session in {source.session for source in observation.sources}]


def _full_id(known: Known, name: str) -> str:
    """Return the id that begins like that; its prefix may be omitted."""
    matches = [known_id for known_id in known if name.strip() and known_id.startswith((name, f"evo-{name}"))]
    if name in matches or len(matches) == 1:
        return name if name in matches else matches[0]
    if matches:
        raise ambiguous(name, matches)
    ids.check_name(name, "observation id")
    raise ActionError(f"there is no observation {name!r}", missing=True)


def _named(chosen: list[Observation]) -> str:
    return f"“{one_line(chosen[0].text, 60)}”" if len(chosen) == 1 else f"{len(chosen)} observations"


def _side(observation: Observation) -> Side:
    table: Side = {name: getattr(observation, name) for name in _FIELDS}
    return {
        **table,
        "status": str(observation.status),
        "trust": str(observation.trust),
        "reasons": list(observation.reasons),
    }


def observation_now(store: Store, change: Change) -> Side | None:
    """For undo: the current record of an observation; a missing one counts as withdrawn."""
    observation = evolved.observations(store.layout).get(change.key)
    if observation is None:
        sides = (change.before or {}, change.after or {})
        return next((side for side in sides if side.get("status") == ObservationStatus.WITHDRAWN), None)
    return _side(observation)


def put_observation(store: Store, change: Change) -> None:
    """For undo: bring an observation, and the files, to the change's `after`."""
    put_observations(store, [change])


def put_observations(store: Store, changes: list[Change]) -> None:
    """For undo: bring several observations to their `after` with one new version of the files."""
    with locks.waiting_lock(store.layout.lock(evolved.LOCK)):
        known = evolved.observations(store.layout)
        pairs = [(known[change.key], change.after or {}) for change in changes if change.key in known]
        turned = [
            msgspec.convert({**msgspec.to_builtins(observation), **side}, Observation) for observation, side in pairs
        ]
        if not turned:
            return
        now = max(times.epoch(observation.updated_at or observation.at) for observation in turned)
        as_now = str(turned[0].status) if len({observation.status for observation in turned}) == 1 else "as before"
        reason = f"{_named(turned)} {'is' if len(turned) == 1 else 'are'} {as_now} again"
        _write(store, known, turned, by=turned[-1].by or acting.caller().by, now=now, reason=reason)


def learning(
    layout: Layout, changed: Iterable[tuple[Observation | None, Observation]], *, now: float
) -> AbstractContextManager[None]:
    """Return a context that records what a learning pass is about to write, before and after, as an action.

    Undo withdraws what is new: what was read stays read, so that it is not learnt again.
    """
    changes = [
        Change(
            KIND, new.id, _side(old) if old else {**_side(new), "status": str(ObservationStatus.WITHDRAWN)}, _side(new)
        )
        for old, new in changed
        if (old or new.status in _IN_SIGHT) and (old is None or _side(old) != _side(new))
    ]
    if not changes:
        return nullcontext()
    order = acting.caller()
    by = acting.LEARNING if order.actions is None else order.by
    statuses = [(change.after or {})["status"] for change in changes]
    counts = (
        (statuses.count(ObservationStatus.ACCEPTED), "learnt"),
        (statuses.count(ObservationStatus.PROPOSED), "proposed"),
    )
    summary = ", ".join([f"{count} {outcome}" for count, outcome in counts if count]) or f"{len(changes)} changed"
    first = one_line(str((changes[0].after or {})["text"]), 60)
    action = edits.new_action("evolve", changes, summary=f"{summary} from sessions: “{first}”", by=by, now=now)
    return journal.carrying_out(layout, action)


def restore(store: Store, request: RestoreVersion, *, by: str, now: float) -> Done:
    """Write the texts as one action; observations that they take in or out are recorded behind it."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(evolved.LOCK)):
        target = next((entry for entry in versions.listed(layout) if entry.version == request.version), None)
        if target is None:
            raise ActionError(f"there is no version {request.version}: `evolve --versions` lists them", missing=True)
        texts = _contents(store, target)
        before = versions.digest_of(versions.on_disk(layout))
        if before == target.digest:
            raise ActionError(f"evolved/ is as in version {request.version} already", missing=True)
        summary = f"evolved/ put back to version {request.version}"
        changes = [Change(FILES_KIND, FILES_KIND, {"digest": before}, {"digest": target.digest})]
        known = evolved.observations(layout)
        config = load_config(layout)[0].evolution
        action = edits.new_action("evolution.restore", changes, summary=summary, by=by, now=now)
        with journal.carrying_out(layout, action):
            _, changed = writing.restore(
                layout, texts, config, now=now, by=by, reason=f"as in version {request.version}"
            )
        outside = [
            Change(KIND, entry.id, _side(known[entry.id]), _side(entry))
            for entry in changed
            if known[entry.id].status in _OUTSIDE
        ]
        if outside:
            journal.record(layout, edits.new_action("evolution.restore", outside, summary=summary, by=by, now=now))
    return Done(summary=summary, target=FILES_KIND, action_id=action.id)


def _contents(store: Store, version: Version) -> dict[str, bytes]:
    try:
        return versions.contents(store.layout, version)
    except versions.DamagedVersion as error:
        raise ActionError(f"{error}: nothing was changed") from error


def files_now(store: Store, _: Change) -> Side | None:
    """For undo: the hash of the current files."""
    return {"digest": versions.digest_of(versions.on_disk(store.layout))}


def may_files(store: Store, change: Change) -> None:
    """For undo: refuse if the files of that moment are not kept."""
    _contents(store, _version_of(store, change))


def _version_of(store: Store, change: Change) -> Version:
    """Return the newest version with the hash of the change's `after`."""
    digest = (change.after or {}).get("digest")
    matches = [version for version in versions.listed(store.layout) if version.digest == digest]
    if not matches:
        raise ActionError("the files as they were then are not kept: nothing was changed")
    return matches[-1]


def put_files(store: Store, change: Change) -> None:
    """For undo: restore the newest version with the hash of the change's `after`."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(evolved.LOCK)):
        version = _version_of(store, change)
        config = load_config(layout)[0].evolution
        last = versions.listed(layout)[-1]
        reason = f"as in version {version.version}"
        texts = _contents(store, version)
        writing.restore(layout, texts, config, now=times.epoch(last.at), by=last.by, reason=reason)


def gate_rules(layout: Layout) -> Rules:
    """Return the rules of the learning gate: the approved constitution's, and patterns of this process's secrets."""
    return Rules(constitution.never_learn(read_constitution(layout).approved), redactor(os.environ))


def approve(store: Store, _request: ApproveConstitution, *, by: str, now: float) -> Done:
    """Keep the text that was approved beside the file, so that a later edit of the file shows."""
    layout = store.layout
    text = read_text(layout.constitution)
    _check(text, approved_constitution(layout))
    at = times.iso(now)
    approval = Change(
        APPROVAL_KIND, APPROVAL_KIND, _approval_side(store), {"text": text or DEFAULT, "by": by, "at": at}
    )
    file = [Change(FILE_KIND, "evolved/constitution.md", None, _SHIPPED)] if text is None else []
    summary = "constitution approved"
    action = edits.new_action("constitution.approve", [*file, approval], summary=summary, by=by, now=now)
    with journal.carrying_out(layout, action):
        if text is None:
            files.replace(layout.constitution, DEFAULT.encode())
        approve_constitution(layout, text or DEFAULT, by=by, at=at)
    return Done(summary=summary, target=APPROVAL_KIND, action_id=action.id)


def _check(text: str | None, before: str | None) -> None:
    if text is not None and not text.strip():
        raise ActionError("evolved/constitution.md is empty: write it first")
    if text is not None and (len(text.encode("utf-8", "replace")) > _MOST or not is_safe(text)):
        raise ActionError(f"the constitution has invisible characters or over {_MOST:,} bytes: fix it first")
    if before is not None and before == text:
        raise ActionError("the constitution is approved as it is", missing=True)


def _approval_side(store: Store) -> Side | None:
    approval = read_approval(store.layout)
    return {"text": approval.text, "by": approval.by, "at": approval.at} if approval else None


def approved_now(store: Store, change: Change) -> Side | None:
    """For undo: what is approved now. Older entries name the text alone."""
    side = _approval_side(store)
    return side and {name: side[name] for name in change.after or change.before or side}


def file_now(store: Store, _: Change) -> Side | None:
    """For undo: whether the file holds the shipped text; None where there is no file."""
    text = read_text(store.layout.constitution)
    return _SHIPPED if text == DEFAULT else None if text is None else {"text": "another"}


def put_file(store: Store, change: Change) -> None:
    """For undo: remove the file that the approval made, or write it again."""
    if change.after is None:
        directories.remove(store.layout.constitution)
    else:
        files.replace(store.layout.constitution, DEFAULT.encode())


def put_approved(store: Store, change: Change) -> None:
    """For undo: approve what was approved before."""
    side = change.after or {}
    text = side.get("text")
    if change.key == _SHIPPED_KEY and text is None and read_text(store.layout.constitution) == DEFAULT:
        directories.remove(store.layout.constitution)
    elif change.key == _SHIPPED_KEY and text is not None and not store.layout.constitution.exists():
        files.replace(store.layout.constitution, DEFAULT.encode())
    approve_constitution(store.layout, text, by=side.get("by", "undo"), at=side.get("at", ""))
