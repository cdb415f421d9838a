"""What became of what needs a person: the newest of it, and who answered it with what words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from lumen_tui.model import times
from lumen_tui.model.approvals import EXPIRED, Decision
from lumen_tui.model.attention import CHANGES, PROPOSALS, unsnoozed
from lumen_tui.model.notifying import ToldTransition
from lumen_tui.model.records import AuditEntry
from lumen_tui.model.snapshot import Need
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import Ending, QueueHistory, Transition
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.attention.receipts import newest_receipts
from lumen_tui.store.attention.transitions import newest_first
from lumen_tui.store.audit import journal

_LOOKED_AT = 500  # newest actions
_NOTE = 160  # characters
_ENDINGS = {"attention.dismiss": Ending.DISMISSED, "attention.snooze": Ending.SNOOZED}
_ASKED = (Need.APPROVAL, Need.QUESTION)


def newest(layout: Layout, limit: int) -> tuple[Transition, ...]:
    """Return the last transitions, the newest first, their texts safe."""
    return tuple(islice(newest_first(layout), limit))


def with_told(layout: Layout, transitions: Iterable[Transition]) -> tuple[ToldTransition, ...]:
    """Return transitions with the mouths that told them."""
    receipts = newest_receipts(layout)
    return tuple(
        ToldTransition(**msgspec.structs.asdict(each), told=tuple(receipts.get(each.id, {}).values()))
        for each in transitions
    )


def with_endings(
    layout: Layout, gone: Iterable[Transition], history: QueueHistory, snoozed: frozenset[str], reader: str
) -> list[Transition]:
    """Return transitions of what left the queue with who or what ended it.

    `snoozed` has the targets that come back; `reader` is the operator whose signals the queue has.
    """
    left = list(gone)
    acts = journal.recent(layout, _LOOKED_AT) if left else []
    return [_ended(layout, each, _last_act(each, acts, history), snoozed, reader) for each in left]


def _ended(
    layout: Layout, gone: Transition, act: AuditEntry | None, snoozed: frozenset[str], reader: str
) -> Transition:
    if gone.need in _ASKED and (answer := approvals.decision(layout, gone.target)):
        return _answered(gone, answer)
    if act is not None:
        ending = _ENDINGS.get(act.verb, Ending.ANSWERED)
        return _with(gone, ending, act.by, act.reason if act.verb in _ENDINGS else act.summary)
    if gone.target in snoozed:
        return _with(gone, Ending.SNOOZED)
    if gone.need == Need.P0_SIGNAL:
        return _with(gone, Ending.ANSWERED, reader, "read")
    return _with(gone, Ending.SETTLED)


def _answered(gone: Transition, answer: Decision) -> Transition:
    if answer.ended:
        return _with(gone, Ending.EXPIRED if answer.ended == EXPIRED else Ending.WITHDRAWN, note=answer.reason)
    verdict = answer.answer or ("allowed" if answer.allowed else "denied")
    return _with(gone, Ending.ANSWERED, answer.who, f"{verdict}: {answer.reason}" if answer.reason else verdict)


def _last_act(gone: Transition, acts: Iterable[AuditEntry], history: QueueHistory) -> AuditEntry | None:
    """Return what somebody did last with the item since it appeared, unless that was taken back."""
    known = history.open.get(gone.item)
    since = times.iso(known.since) if known else ""
    names = {gone.target, gone.target.removeprefix(CHANGES), gone.target.removeprefix(PROPOSALS)}
    for act in acts:
        if act.at < since:
            return None
        if unsnoozed(act.target) in names and not (act.undone or act.undoes):
            return act
    return None


def _with(gone: Transition, ending: Ending, by: str = "", note: str = "") -> Transition:
    return msgspec.structs.replace(gone, ending=ending.value, by=one_line(by, 60), note=one_line(note, _NOTE))
