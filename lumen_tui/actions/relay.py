"""Relays: submit a text based on what its author has seen; a person releases or drops what was held."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lumen_tui.actions import checks, edits, refusal
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import fields, ids, relay, times
from lumen_tui.model.records import Action, Change
from lumen_tui.model.relay import Submission, SubmissionAnswer, SubmissionStatus
from lumen_tui.model.requests.blocks import DropTexts, ReleaseTexts, SubmitToRelay
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import relays as kept

KIND = "relay"
Changed = list[tuple[Submission | None, Submission]]


class Submitted(Done, frozen=True):
    """The outcome of a submission, with the relay's full answer."""

    answer: SubmissionAnswer | None = None


def submit(store: Store, request: SubmitToRelay, *, by: str, now: float) -> Submitted:
    """Append under the lock of the relay, which decides whether it is held, with the action."""
    words = fields.prose(request.text, "text")
    recorded: list[str] = []

    def actions(changed: Changed) -> bytes:
        action = _action(
            "relay.submit", request.relay_name, changed, f"submitted to {request.relay_name}", by=by, now=now
        )
        recorded.append(action.id)
        return journal.begun_lines(action)

    _must_be_known(store, request.relay_name, request.base)
    answer = kept.submit(
        store.layout,
        request.relay_name,
        words,
        by=by,
        base=request.base,
        now=now,
        key=fields.label(request.key, "key"),
        actions=actions,
    )
    summary = "\n".join(relay.words(answer))
    return Submitted(summary=summary, target=answer.id, action_id=next(iter(recorded), ""), answer=answer)


def _must_be_known(store: Store, name: str, base: int) -> None:
    if base and not os.path.exists(kept.path_of(store.layout, name)):
        problem = f"there is no relay {name!r}: one begins with a text on base 0"
        raise refusal.no_such(problem, name, kept.names(store.layout))


def _action(verb: str, name: str, changed: Changed, summary: str, *, by: str, now: float, reason: str = "") -> Action:
    changes = [
        Change(
            KIND,
            f"{name}/{after.id}",
            _side(before.status if before else SubmissionStatus.WITHDRAWN),
            _side(after.status),
        )
        for before, after in changed
    ]
    return edits.new_action(verb, changes, summary=summary, by=by, now=now, reason=reason)


def _side(status: SubmissionStatus) -> Side:
    return {"status": str(status)}


def release(store: Store, request: ReleaseTexts, *, by: str, now: float) -> Done:
    """Decide under the lock of the relay: only as a person, and not about a text of their own."""
    return _decide(
        store, request.ids, SubmissionStatus.SENT, "relay.release", "released", by=by, now=now, note=request.note
    )


def drop(store: Store, request: DropTexts, *, by: str, now: float) -> Done:
    """Decide like `release`."""
    return _decide(
        store, request.ids, SubmissionStatus.DROPPED, "relay.drop", "dropped", by=by, now=now, note=request.reason
    )


def _decide(
    store: Store,
    selection: str | Sequence[str],
    status: SubmissionStatus,
    verb: str,
    verdict: str,
    *,
    by: str,
    now: float,
    note: str,
) -> Done:
    from lumen_tui.actions.facts import must_be_person  # not for who only reads or adds

    must_be_person(store, by, "only a person decides about what was held")
    [name, *others], submission_ids = _resolve(store, selection)
    if others:
        raise ActionError(f"these belong to several relays ({', '.join([name, *others])}): one at a time")
    recorded: list[str] = []
    summary = f"{_named(store, name, submission_ids)} {verdict}"

    def decide(submission: Submission | None, submission_id: str) -> SubmissionStatus:
        if submission is None or submission.status is not SubmissionStatus.HELD:
            became = f"{submission.status} by {submission.updated_by or submission.by}" if submission else "gone"
            raise ActionError(f"{submission_id} is {became}: it does not wait any more", missing=True)
        if status is SubmissionStatus.SENT and submission.by == by:
            raise ActionError(
                f"{submission_id} is your own: somebody else releases it, or you submit it on what is there now"
            )
        return status

    def actions(changed: Changed) -> bytes:
        action = _action(verb, name, changed, summary, by=by, now=now, reason=note)
        recorded.append(action.id)
        return journal.begun_lines(action)

    note = one_line(note, 400)
    released = kept.change(store.layout, name, submission_ids, decide, by=by, now=now, note=note, actions=actions)
    where = f" at position {released[-1].position} of {name}" if status is SubmissionStatus.SENT else ""
    return Done(summary=summary + where, target=submission_ids[0], action_id=recorded[0])


def _resolve(store: Store, selection: str | Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the relays and full ids of these submissions, each named by any unique beginning."""
    known = {submission.id: name for name, submission in kept.everything(store.layout)}
    submission_ids = []
    for text in checks.as_ids(selection):
        hits = [known_id for known_id in known if known_id == text] or [
            known_id for known_id in known if known_id.startswith((text, f"rly-{text}"))
        ]
        if not text.strip() or not hits:
            ids.check_name(text, "submission id")
            raise ActionError(f"there is no submission {text!r}: `relay held` names them", missing=True)
        if len(hits) > 1:
            raise ambiguous(text, hits)
        submission_ids.append(hits[0])
    return list(dict.fromkeys(known[known_id] for known_id in submission_ids)), list(dict.fromkeys(submission_ids))


def _named(store: Store, name: str, submission_ids: list[str]) -> str:
    box = kept.read(store.layout, name)
    submission = box.by_id.get(submission_ids[0]) if box else None
    if submission is None or len(submission_ids) > 1:
        return f"{len(submission_ids)} texts"
    return f"“{one_line(submission.title, 60)}” of {one_line(submission.by, 60)}"


def _place(change: Change) -> tuple[str, str]:
    name, _, submission_id = change.key.partition("/")
    return name, submission_id


def relay_now(store: Store, change: Change) -> Side | None:
    """For undo: the status of a submission; a missing one counts as withdrawn."""
    name, submission_id = _place(change)
    box = kept.read(store.layout, name)
    submission = box.by_id.get(submission_id) if box else None
    return _side(submission.status if submission else SubmissionStatus.WITHDRAWN)


def put_relay(store: Store, change: Change) -> None:
    """For undo: set the status of the change's `after`. A text that is sent again goes to the end."""
    name, submission_id = _place(change)
    status = SubmissionStatus((change.after or {})["status"])

    def decide(submission: Submission | None, _: str) -> SubmissionStatus:
        if submission is None:
            raise ActionError(f"{submission_id} is gone from {name}: nothing was done")
        return status

    box = kept.read(store.layout, name)
    old = box.by_id.get(submission_id) if box else None
    when = times.epoch(old.updated_at or old.at) if old else 0.0
    kept.change(store.layout, name, [submission_id], decide, by="undo", now=when)
