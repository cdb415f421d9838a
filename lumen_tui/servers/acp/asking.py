"""Calls and questions of a worker that wait for a person, put before the client's user.

An answer is bound to the hash of the whole call and counts once: where somebody else has answered it, the question is
taken back. "Allow always" is not offered: a rule that allows calls is the operator's to make, in the room or with
`lumen-tui approve --always`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UNSET

from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.approvals import Approval
from lumen_tui.model.text import one_line, safe_all
from lumen_tui.servers import wording
from lumen_tui.servers.acp.narration import kind_of
from lumen_tui.servers.acp.peer import ClientRequest, Peer
from lumen_tui.servers.acp.shapes import (
    AskForm,
    AskPermission,
    CallFields,
    CallText,
    FormAnswer,
    PermissionAnswer,
    PermissionOption,
    TextContent,
)
from lumen_tui.servers.catalogue import Counter, OperationError
from lumen_tui.servers.wording import ANSWER_FORM

_ALLOW, _REJECT = "allow", "reject"
_MOST_SHOWN = 100_000  # characters of a call: a longer one can only be refused here, as a yes counts for all of it
_ALLOWING = PermissionOption(option_id=_ALLOW, name="Allow this call once", kind="allow_once")
_REJECTING = PermissionOption(option_id=_REJECT, name="Refuse it", kind="reject_once")


class OpenQuestions:
    """What one task, and those that it ordered, ask of the client's user. `say` tells what cannot be asked."""

    def __init__(
        self, counter: Counter, peer: Peer, who: Principal, session_id: str, task_id: str, say: Callable[[str], None]
    ) -> None:
        self._task_id = task_id
        self._counter = counter
        self._peer = peer
        self._who = who
        self._session_id = session_id
        self._say = say
        self._asked: dict[str, tuple[Approval, ClientRequest | None]] = {}
        self._offered: dict[str, frozenset[str]] = {}  # the options of each call

    def look(self, waiting: Iterable[Approval], call_id: str) -> bool:
        """Ask what waits and is not asked yet, and hand answers on; return whether the next prompt is to be an answer.

        `call_id` is the tool call of the task itself that is open in the conversation.
        """
        now = {request.id: request for request in waiting}
        for approval_id in [name for name in self._asked if name not in now]:
            self._drop(approval_id)
        for request in now.values():
            if request.id not in self._asked:
                about = call_id if request.task_id == self._task_id else ""
                self._asked[request.id] = (request, self._ask(request, about or request.id))
            self._hand_on(*self._asked[request.id])
        by_words = any(request.question for request in now.values()) and not self._peer.takes_forms
        return by_words and self._who.may(Scope.APPROVE)

    @property
    def has_answers(self) -> bool:
        """Whether the client has answered what is not handed on yet."""
        return any(asked is not None and asked.answer is not None for _, asked in self._asked.values())

    def close(self) -> None:
        """Take back what is still asked."""
        for approval_id in list(self._asked):
            self._drop(approval_id)

    def _drop(self, approval_id: str) -> None:
        _, asked = self._asked.pop(approval_id)
        if asked is not None:
            self._peer.withdraw(asked)

    def _ask(self, request: Approval, call_id: str) -> ClientRequest | None:
        """Put a call or a question before the user; None where that cannot be done here, which is said."""
        if not self._who.may(Scope.APPROVE):
            self._say(_elsewhere(request, f"{self._who.by} was not given the scope approve"))
            return None
        if request.question:
            return self._ask_words(request)
        return self._ask_permission(request, call_id)

    def _ask_permission(self, request: Approval, call_id: str) -> ClientRequest:
        text = wording.call(request)
        fits = len(text) <= _MOST_SHOWN
        if not fits:
            self._say(_elsewhere(request, "it is too long to be shown whole here"))
        options = (_ALLOWING, _REJECTING) if fits else (_REJECTING,)
        self._offered[request.id] = frozenset(option.option_id for option in options)
        shown = CallText(content=TextContent(text=text[:_MOST_SHOWN]))
        call = CallFields(
            tool_call_id=call_id,
            title=one_line(request.summary or request.tool),
            kind=kind_of(request.tool),
            status="pending",
            content=(shown,),
            raw_input={name: safe_all(value) for name, value in request.arguments.items()} if fits else UNSET,
        )
        params = AskPermission(session_id=self._session_id, tool_call=call, options=options)
        return self._peer.ask("session/request_permission", params)

    def _ask_words(self, request: Approval) -> ClientRequest | None:
        """Ask by a form where the client has forms; else say the question, which the next prompt answers."""
        text = wording.question(request)
        if not self._peer.takes_forms:
            self._say(f"{text}\n\nYour next message is the answer.")
            return None
        params = AskForm(session_id=self._session_id, mode="form", message=text, requested_schema=ANSWER_FORM)
        return self._peer.ask("elicitation/create", params)

    def _chosen(self, request: Approval, answer: PermissionAnswer) -> str:
        """Return the option that was selected; empty for one that was not offered, and where none was selected."""
        outcome = answer.outcome
        offered = outcome.outcome == "selected" and outcome.option_id in self._offered[request.id]
        return outcome.option_id if offered else ""

    def _hand_on(self, request: Approval, asked: ClientRequest | None) -> None:
        """Hand the client's answer on, bound to the very call; whatever is no answer leaves it open."""
        if asked is None or asked.answer is None:
            return
        self._asked[request.id] = (request, None)
        bound = {"id": request.id, "hash": request.hash}
        result = asked.result(FormAnswer if request.question else PermissionAnswer)
        try:
            if isinstance(result, FormAnswer) and result.action == "accept":
                words = (result.content or {}).get("answer")
                self._counter.invoke(self._who, "answer_question", {**bound, "answer": words})
            elif isinstance(result, PermissionAnswer) and (chosen := self._chosen(request, result)):
                self._counter.invoke(self._who, "answer_approval", {**bound, "allow": chosen == _ALLOW})
            else:
                self._say(_elsewhere(request, "it was left open here"))
        except OperationError as error:
            self._say(f"The answer did not count: {error}")


def _elsewhere(request: Approval, reason: str) -> str:
    """Return where a call or a question is answered that cannot be answered here."""
    verb = "question answer" if request.question else "approve"
    text = one_line(request.question or request.summary or request.tool, 300)
    return f"Waits for a person: {text}\n\n{reason}. Answer it in the room, or with `lumen-tui {verb} {request.id}`."
