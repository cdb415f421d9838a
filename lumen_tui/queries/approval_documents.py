"""What is answered as JSON of approvals and questions, by the command line and by servers alike."""

from __future__ import annotations

import msgspec

from lumen_tui.model.approvals import Approval, Decision, preview_rule
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.tasks import task_files

_QUESTION = ("id", "task_id", "role", "asked_at", "expires_at", "question", "options", "default", "hash")


def approval_state(layout: Layout, request: Approval, now: float) -> str:
    """Return `waiting`, or what became of the request."""
    answer = approvals.decision(layout, request.id)
    if answer is not None:
        return answer.ended or _verdict(request, answer)
    if now >= request.expires:
        return "expired"
    if request.lasting:
        return "waiting"
    folder = task_files.folder_of(layout, request.task_id)
    return "withdrawn" if folder is None or task_files.status_of(folder).ended else "waiting"


def _verdict(request: Approval, answer: Decision) -> str:
    return "answered" if request.question else "allowed" if answer.allowed else "denied"


def approval_document(layout: Layout, request: Approval, state: str) -> dict[str, object]:
    """Return a call that waits or waited for a yes or a no, whole, and its answer."""
    answer = approvals.decision(layout, request.id)
    return {
        **msgspec.to_builtins(request),
        "state": state,
        "decision": msgspec.to_builtins(answer) if answer else None,
        "always": preview_rule(request),
    }


def question_document(layout: Layout, request: Approval, state: str) -> dict[str, object]:
    """Return a question to the operator, and its answer."""
    answer = approvals.decision(layout, request.id)
    facts: dict[str, object] = {name: getattr(request, name) for name in _QUESTION}
    given = {name: getattr(answer, name) for name in ("by", "via", "at", "answer", "order")} if answer else None
    return {**facts, "state": state, "answered": given}
