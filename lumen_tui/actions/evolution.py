"""What a person decides about what was learnt: accept, reject, edit, go back to a version."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec

from lumen_tui.actions import acting, checks, edits
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import constitution, gate, ids, times
from lumen_tui.model.evolution import Observation, Status, Trust, objections
from lumen_tui.model.gate import Rules
from lumen_tui.model.records import Change
from lumen_tui.model.text import one_line
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution import evolved, versions, writing
from lumen_tui.store.evolution.constitution import read_standing
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.policy.redaction import redactor

KIND, FILES_KIND = "observation", "evolved"
_FIELDS = ("status", "text", "trust", "contradicts", "reasons")
_OUTSIDE = (Status.PROPOSED, Status.REJECTED, Status.SUPERSEDED)  # what files do not tell, so that undo has to
_IN_SIGHT = (Status.ACCEPTED, Status.PROPOSED)  # of new ones: the others changed nothing
Known = dict[str, Observation]


def accept(store: Store, *, by: str, now: float, ids: str | Sequence[str]) -> Done:
    """Take proposals over into evolved/. One that contradicts another takes its place."""

    def decide(one: Observation, known: Known) -> list[Observation]:
        if one.status is Status.ACCEPTED:
            raise ActionError(f"{_named([one])} is accepted already", missing=True)
        _must_pass(store, one)
        changed = [msgspec.structs.replace(one, status=Status.ACCEPTED, reasons=objections(one), contradicts="")]
        other = known.get(one.contradicts)
        if other is not None and other.status is Status.ACCEPTED:
            changed.append(msgspec.structs.replace(other, status=Status.SUPERSEDED, reasons=(f"by {one.id}",)))
        return changed

    return _judge(store, ids, decide, verb="evolution.accept", said="{} accepted", by=by, now=now)


def reject(store: Store, *, by: str, now: float, ids: str | Sequence[str], reason: str) -> Done:
    """Turn proposals down, or take accepted ones out again. The same is not proposed a second time."""
    why = checks.reason(reason)

    def decide(one: Observation, _: Known) -> list[Observation]:
        if one.status is Status.REJECTED:
            raise ActionError(f"{_named([one])} is rejected already", missing=True)
        return [msgspec.structs.replace(one, status=Status.REJECTED, reasons=(why,))]

    return _judge(store, ids, decide, verb="evolution.reject", said="{} rejected", by=by, now=now, reason=why)


def edit(store: Store, *, by: str, now: float, ids: str | Sequence[str], text: str) -> Done:
    """Say it in other words. The words are a person's now, and stand; the evidence stays what it was."""
    words = " ".join(text.split())

    def decide(one: Observation, _: Known) -> list[Observation]:
        changed = msgspec.structs.replace(
            one, text=words, status=Status.ACCEPTED, trust=Trust.PERSON, reasons=(), contradicts=""
        )
        if words == one.text and one.status is Status.ACCEPTED:
            raise ActionError("nothing was changed", missing=True)
        _must_pass(store, changed)
        return [changed]

    return _judge(store, ids, decide, verb="evolution.edit", said="{} edited", by=by, now=now)


def _must_pass(store: Store, one: Observation) -> None:
    """What must never be learnt is not learnt on a person's word either: evolved/ can be edited by hand."""
    found = gate.forbidden(one, gate_rules(store.layout))
    if len(one.text.split()) < 2 or len(one.text) > gate.MOST_TEXT:
        found = (*found, f"a statement has 2 words to {gate.MOST_TEXT} characters")
    if found:
        raise ActionError(f"{one.id} cannot be accepted: {'; '.join(found)}. Edit it first")


def _judge(
    store: Store, ids: str | Sequence[str], decide: Any, *, verb: str, said: str, by: str, now: float, reason: str = ""
) -> Done:
    layout = store.layout
    with locks.waiting_lock(layout.lock(evolved.LOCK)):
        known = evolved.observations(layout)
        chosen = [known[found] for found in _ids(known, ids)]
        after = [new for one in chosen for new in decide(one, known)]
        stamped = [msgspec.structs.replace(one, by=by, updated_at=times.iso(now)) for one in after]
        before = [known[one.id] for one in stamped]
        changes = [Change(KIND, old.id, _side(old), _side(new)) for old, new in zip(before, stamped, strict=True)]
        summary = said.replace("{}", _named(chosen))
        action = edits.new_action(verb, changes, summary=summary, by=by, now=now, reason=reason)
        with journal.carrying_out(layout, action):
            _write(store, known, stamped, by=by, now=now, why=summary)
    return Done(summary=summary, target=chosen[0].id, action_id=action.id)


def _write(store: Store, known: Known, changed: list[Observation], *, by: str, now: float, why: str) -> None:
    """Write the records, and the files that follow from them."""
    known |= {one.id: one for one in changed}
    evolved.add(store.layout, changed)
    config = load_config(store.layout)[0].evolution
    done = writing.rebuild(store.layout, known, config, now=now, by=by, why=why, free=True)
    ours = {one.id for one in changed}
    if late := [one for one in done.put_off if one.id in ours]:
        raise ActionError(f"{late[0].reasons[0]}: reject what is no longer needed there, or raise [evolution] file_kb")


def _ids(known: Known, wanted: str | Sequence[str]) -> list[str]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        raise ActionError("nothing is selected: name at least one observation")
    return list(dict.fromkeys([_whole(known, name) for name in names]))


def _whole(known: Known, name: str) -> str:
    """The id that begins like that; the kind may be left out."""
    found = [one for one in known if one == name or one.startswith((name, f"evo-{name}"))] if name.strip() else []
    if name in found or len(found) == 1:
        return name if name in found else found[0]
    if found:
        raise ambiguous(name, found)
    ids.check_name(name, "observation id")
    raise ActionError(f"there is no observation {name!r}", missing=True)


def _named(chosen: list[Observation]) -> str:
    return f"“{one_line(chosen[0].text, 60)}”" if len(chosen) == 1 else f"{len(chosen)} observations"


def _side(one: Observation) -> dict[str, Any]:
    table: dict[str, Any] = {name: getattr(one, name) for name in _FIELDS}
    return {**table, "status": str(one.status), "trust": str(one.trust), "reasons": list(one.reasons)}


def observation_now(store: Store, change: Change) -> dict[str, Any] | None:
    """For undo: what is recorded of an observation now; one that is not there counts as withdrawn."""
    found = evolved.observations(store.layout).get(change.key)
    if found is None:
        sides = (change.before or {}, change.after or {})
        return next((side for side in sides if side.get("status") == Status.WITHDRAWN), None)
    return _side(found)


def put_observation(store: Store, change: Change) -> None:
    """For undo: bring an observation to the change's `after`, and the files with it."""
    put_observations(store, [change])


def put_observations(store: Store, changes: list[Change]) -> None:
    """The same for several, with one version of the files."""
    with locks.waiting_lock(store.layout.lock(evolved.LOCK)):
        known = evolved.observations(store.layout)
        found = [(known[change.key], change.after or {}) for change in changes if change.key in known]
        turned = [msgspec.convert({**msgspec.to_builtins(one), **side}, Observation) for one, side in found]
        if not turned:
            return
        now = max(times.epoch(one.updated_at or one.at) for one in turned)
        as_now = str(turned[0].status) if len({one.status for one in turned}) == 1 else "as before"
        why = f"{_named(turned)} {'is' if len(turned) == 1 else 'are'} {as_now} again"
        _write(store, known, turned, by=turned[-1].by or acting.word().by, now=now, why=why)


def learning(
    layout: Layout, changed: Iterable[tuple[Observation | None, Observation]], *, now: float
) -> AbstractContextManager[None]:
    """What a pass over sessions is about to write of observations, before and after, as an action of whoever had it
    made. Undo withdraws what is new: what was read stays read, so that it is not learnt again.
    """
    changes = [
        Change(KIND, new.id, _side(old) if old else {**_side(new), "status": str(Status.WITHDRAWN)}, _side(new))
        for old, new in changed if (old or new.status in _IN_SIGHT) and (old is None or _side(old) != _side(new))
    ]  # fmt: skip
    if not changes:
        return nullcontext()
    word = acting.word()
    by = acting.LEARNING if word.actions is None else word.by
    statuses = [(change.after or {})["status"] for change in changes]
    counts = ((statuses.count(Status.ACCEPTED), "learnt"), (statuses.count(Status.PROPOSED), "proposed"))
    said = ", ".join([f"{count} {what}" for count, what in counts if count]) or f"{len(changes)} changed"
    first = one_line(str((changes[0].after or {})["text"]), 60)
    action = edits.new_action("evolve", changes, summary=f"{said} from sessions: “{first}”", by=by, now=now)
    return journal.carrying_out(layout, action)


def restore(store: Store, *, by: str, now: float, version: int) -> Done:
    """Put evolved/ back to a version, byte for byte. That is a new version: nothing behind it is lost."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(evolved.LOCK)):
        wanted = next((one for one in versions.listed(layout) if one.version == version), None)
        if wanted is None:
            raise ActionError(f"there is no version {version}: `evolve --versions` lists them", missing=True)
        texts = _contents(store, wanted)
        before = versions.digest_of(versions.on_disk(layout))
        if before == wanted.digest:
            raise ActionError(f"evolved/ is as in version {version} already", missing=True)
        said = f"evolved/ put back to version {version}"
        changes = [Change(FILES_KIND, FILES_KIND, {"digest": before}, {"digest": wanted.digest})]
        known, config = evolved.observations(layout), load_config(layout)[0].evolution
        action = edits.new_action("evolution.restore", changes, summary=said, by=by, now=now)
        with journal.carrying_out(layout, action):
            _, changed = writing.restore(layout, texts, config, now=now, by=by, why=f"as in version {version}")
        outside = [
            Change(KIND, one.id, _side(known[one.id]), _side(one))
            for one in changed if known[one.id].status in _OUTSIDE
        ]  # fmt: skip
        if outside:
            journal.record(layout, edits.new_action("evolution.restore", outside, summary=said, by=by, now=now))
    return Done(summary=said, target=FILES_KIND, action_id=action.id)


def _contents(store: Store, version: versions.Version) -> dict[str, bytes]:
    try:
        return versions.contents(store.layout, version)
    except versions.DamagedVersion as error:
        raise ActionError(f"{error}: nothing was changed") from error


def files_now(store: Store, _: Change) -> dict[str, Any] | None:
    """For undo: the hash of the files as they stand."""
    return {"digest": versions.digest_of(versions.on_disk(store.layout))}


def may_files(store: Store, change: Change) -> None:
    """For undo: refuse where the files as they were then are not kept."""
    _contents(store, _version_of(store, change))


def _version_of(store: Store, change: Change) -> versions.Version:
    """The newest version with the hash of the change's `after`."""
    wanted = (change.after or {}).get("digest")
    found = [one for one in versions.listed(store.layout) if one.digest == wanted]
    if not found:
        raise ActionError("the files as they were then are not kept: nothing was changed")
    return found[-1]


def put_files(store: Store, change: Change) -> None:
    """For undo: the newest version with the hash of the change's `after`."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(evolved.LOCK)):
        found = _version_of(store, change)
        config, last = load_config(layout)[0].evolution, versions.listed(layout)[-1]
        why = f"as in version {found.version}"
        texts = _contents(store, found)
        writing.restore(layout, texts, config, now=times.epoch(last.at), by=last.by, why=why)


def gate_rules(layout: Layout) -> Rules:
    """The approved constitution's, and what the secrets of this process look like."""
    return Rules(constitution.never_learn(read_standing(layout).approved), redactor(os.environ))
