"""Tasks on the wire: a task folder is the handle, its worker's calls and questions are what it asks for.

Both forms: the extension of 2026-07-28 (tasks/get, tasks/update, tasks/cancel) and the tasks of 2025-11-25
(tasks/result, tasks/list). A call that waits for a person is asked of a client only where it may answer.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import ids, times
from lumen_tui.model.access import Scope
from lumen_tui.model.approvals import Approval
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.documents import Document
from lumen_tui.servers import reads, wording
from lumen_tui.servers.catalogue import Counter, OperationError
from lumen_tui.servers.jsonrpc import INTERNAL_ERROR, Result, invalid
from lumen_tui.servers.mcp import tools
from lumen_tui.servers.mcp.wire import Exchange, input_required, missing_tasks
from lumen_tui.servers.wording import ANSWER_FORM
from lumen_tui.tools.mcp.messages import JsonRpcError

_POLL = 0.2  # seconds between two looks at a task
_LONGEST = 1800.0  # seconds that a call waits for a task; the task goes on
_POLL_MS = 1000  # what a client is advised
_RELATED = "io.modelcontextprotocol/related-task"


def run(counter: Counter, exchange: Exchange) -> Result:
    """Carry out `run_task`: give a handle to a client that knows tasks, and the result to any other."""
    exchange.must_may(Scope.READ)
    if exchange.modern and exchange.params.get("requestState") is not None:
        return _called_again(counter, exchange)
    as_task = None if exchange.modern else exchange.params.get("task")
    if as_task is not None and not isinstance(as_task, dict):
        raise invalid("task must be an object")
    try:
        task_id = str(counter.invoke(exchange.who, "create_task", exchange.mapping("arguments"))["target"])
    except OperationError as error:
        return tools.failure(error)
    if exchange.takes_tasks:
        return {"resultType": "task", **described(counter, exchange, task_id)}
    if as_task is not None:
        return {"task": _legacy(described(counter, exchange, task_id))}
    return _awaited(counter, exchange, task_id)


def _called_again(counter: Counter, exchange: Exchange) -> Result:
    """Go on waiting for the task of a call that its client makes again, with answers to what it was asked for."""
    task_id = exchange.text("requestState")
    view = _view(counter, exchange, task_id)
    if view.spec.created_by != exchange.who.by:
        raise invalid("requestState is none that was given out")
    for request, response in _responses(counter, exchange, view):
        with contextlib.suppress(JsonRpcError):  # somebody else has answered it, or it is asked for again
            _answer(counter, exchange, request, response)
    return _awaited(counter, exchange, task_id)


def _awaited(counter: Counter, exchange: Exchange, task_id: str) -> Result:
    """Wait for the end of a task and tell of what it does; a request that is cancelled cancels the task.

    A client of the stateless protocol is asked for what the task needs by the end of this call, and makes it again.
    """
    began, told, steps = time.monotonic(), "", 0
    asked: set[str] = set()
    while time.monotonic() - began < _LONGEST:
        view = _view(counter, exchange, task_id)
        if reads.is_over(view):
            return result_of(counter, exchange, view)
        message = _message(counter, exchange, view)
        if message != told:
            told, steps = message, steps + 1
            exchange.progress(steps, message)
        if forms := _unanswered(counter, exchange, view):
            return input_required(forms, task_id)
        _put_forms(counter, exchange, task_id, asked)
        if exchange.cancelled.wait(_POLL):
            counter.invoke(exchange.who, "cancel_task", {"task_id": task_id, "reason": "the request was cancelled"})
            return {}
    text = f"{task_id} goes on: read_task has its result later"
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _unanswered(counter: Counter, exchange: Exchange, view: TaskView) -> Result:
    """Return the forms for what a task asks for, but not for what the client has just left open."""
    declined = {key for key, answer in exchange.mapping("inputResponses").items() if not _accepted(answer)}
    asked = {_key(request): _form(request) for request in _asked(counter, exchange, view)}
    return {key: form for key, form in asked.items() if key not in declined}


def _put_forms(counter: Counter, exchange: Exchange, task_id: str, asked: set[str]) -> None:
    """Put what a task asks before the client's user, each once, where the client takes forms and may answer."""
    if exchange.ask is None or not _may_answer(exchange):
        return
    for request in reads.questions_of(counter.desk, task_id):
        if request.id in asked:
            continue
        asked.add(request.id)
        form = _form(request)

        def is_moot(waiting: str = request.id) -> bool:
            return all(one.id != waiting for one in reads.questions_of(counter.desk, task_id))

        response = exchange.ask(str(form["method"]), _object(form["params"]), is_moot)
        if response is not None:
            with contextlib.suppress(JsonRpcError):  # somebody else has answered it, or the call has changed
                _answer(counter, exchange, request, response)


def _object(value: object) -> Document:
    return value if isinstance(value, dict) else {}


def _may_answer(exchange: Exchange) -> bool:
    return exchange.takes_forms and exchange.who.may(Scope.APPROVE)


def _view(counter: Counter, exchange: Exchange, task_id: str) -> TaskView:
    exchange.must_may(Scope.READ)
    try:
        return counter.desk.task(ids.check_name(task_id, "task id")).view
    except (ActionError, ids.BadId) as error:
        raise invalid(f"Failed to retrieve task: {error}") from error


def result_of(counter: Counter, exchange: Exchange, view: TaskView) -> Result:
    """Return the result of a task as that of the call that ordered it."""
    document = counter.invoke(exchange.who, "read_task", {"task_id": view.id})
    text = str(document["result"]) or view.reason or view.outcome
    facts = {name: document[name] for name in ("id", "status", "verdict", "reason", "cost", "usage", "next_offset")}
    content: list[Document] = [{"type": "text", "text": safe(text)}]
    return {"content": content, "structuredContent": facts, "isError": view.status is not Status.DONE}


def described(counter: Counter, exchange: Exchange, task_id: str) -> Result:
    """Return a task whole, with what it asks of this client, or its result."""
    view = _view(counter, exchange, task_id)
    asked = _asked(counter, exchange, view)
    status = _status(view, asked)
    task: Result = {
        "taskId": view.id,
        "status": status,
        "statusMessage": _message(counter, exchange, view),
        "createdAt": view.spec.created_at,
        "lastUpdatedAt": times.iso(view.finished or view.last_event or times.epoch(view.spec.created_at)),
        "ttlMs": None,
        "pollIntervalMs": _POLL_MS,
    }
    if asked:
        task["inputRequests"] = {_key(request): _form(request) for request in asked}
    if status == "failed":
        task["error"] = {"code": INTERNAL_ERROR, "message": one_line(view.reason or view.outcome, 200)}
    if status == "completed":
        task["result"] = result_of(counter, exchange, view)
    return task


def _status(view: TaskView, asked: list[Approval]) -> str:
    """Return the status on the wire: only a lost worker is a failure there, as a task that failed has a result."""
    if view.status is Status.CANCELLED:
        return "cancelled"
    if view.status is Status.LOST and reads.is_over(view):
        return "failed"
    if reads.is_over(view):
        return "completed"
    return "input_required" if asked else "working"


def _message(counter: Counter, exchange: Exchange, view: TaskView) -> str:
    waiting = reads.questions_of(counter.desk, view.id)
    if waiting:
        return f"waits for a person: {one_line(waiting[0].question or waiting[0].summary, 200)}"
    last = view.tail[-1].text if view.tail else ""
    reason = view.reason or last
    return f"{view.outcome}: {one_line(reason, 200)}" if reason else view.outcome


def _asked(counter: Counter, exchange: Exchange, view: TaskView) -> list[Approval]:
    """Return what the task asks for and this client may answer: with the scope, and a form to put before its user."""
    if reads.is_over(view) or not (exchange.modern and _may_answer(exchange)):
        return []
    return reads.questions_of(counter.desk, view.id)


def _key(request: Approval) -> str:
    """Return the name of a question on the wire: an answer to it is bound to this very call."""
    return f"{request.id}:{request.hash}"


def _form(request: Approval) -> Document:
    """Return the form for a call or a question, with the whole of what is asked."""
    if request.question:
        message, schema = wording.question(request), ANSWER_FORM
    else:
        fields = {"allow": {"type": "boolean", "title": "Allow"}, "reason": {"type": "string", "title": "Reason"}}
        message = f"{request.role} wants to make this call.\n\n{wording.call(request)}"
        schema = {"type": "object", "properties": fields, "required": ["allow"]}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def get(counter: Counter, exchange: Exchange) -> Result:
    _must_know_tasks(exchange)
    task = described(counter, exchange, exchange.text("taskId"))
    return task if exchange.modern else _legacy(task)


def update(counter: Counter, exchange: Exchange) -> Result:
    """Answer what a task asks for; whatever is not asked, or not any more, is passed over."""
    _must_know_tasks(exchange)
    view = _view(counter, exchange, exchange.text("taskId"))
    for request, response in _responses(counter, exchange, view):
        _answer(counter, exchange, request, response)
    return {}


def _responses(counter: Counter, exchange: Exchange, view: TaskView) -> list[tuple[Approval, Mapping[str, object]]]:
    """Return what a task asks for with the client's answers to it."""
    asked = {_key(request): request for request in _asked(counter, exchange, view)}
    given = exchange.mapping("inputResponses")
    return [(asked[key], response) for key, response in given.items() if key in asked and isinstance(response, dict)]


def _accepted(response: object) -> bool:
    """Return whether a form was filled in; one that was declined or closed leaves the question open."""
    return isinstance(response, dict) and response.get("action") == "accept"


def _answer(counter: Counter, exchange: Exchange, request: Approval, response: Mapping[str, object]) -> None:
    """Hand an answer on."""
    content = response.get("content")
    if not _accepted(response) or not isinstance(content, dict):
        return
    given: Document = {"id": request.id, "hash": request.hash}
    try:
        if request.question:
            counter.invoke(exchange.who, "answer_question", {**given, "answer": content.get("answer")})
        else:
            answer = {**given, "allow": content.get("allow"), "reason": content.get("reason") or ""}
            counter.invoke(exchange.who, "answer_approval", answer)
    except OperationError as error:
        raise invalid(str(error)) from error


def cancel(counter: Counter, exchange: Exchange) -> Result:
    _must_know_tasks(exchange)
    view = _view(counter, exchange, exchange.text("taskId"))
    if reads.is_over(view) and not exchange.modern:
        raise invalid(f"Cannot cancel task: {view.outcome} already")
    if not reads.is_over(view):
        try:
            counter.invoke(exchange.who, "cancel_task", {"task_id": view.id, "reason": f"by {exchange.who.by}"})
        except OperationError as error:
            raise invalid(f"Cannot cancel task: {error}") from error
    return {} if exchange.modern else {**_legacy(described(counter, exchange, view.id)), "status": "cancelled"}


def result(counter: Counter, exchange: Exchange) -> Result:
    """Wait for a task of 2025-11-25 and return its result."""
    task_id = exchange.text("taskId")
    while not exchange.cancelled.is_set():
        view = _view(counter, exchange, task_id)
        if reads.is_over(view):
            meta = {_RELATED: {"taskId": task_id}}
            return {**result_of(counter, exchange, view), "_meta": meta}
        exchange.cancelled.wait(_POLL)
    return {}


def listed(counter: Counter, exchange: Exchange) -> list[Result]:
    """Return the tasks of this program, of 2025-11-25."""
    exchange.must_may(Scope.READ)
    own = [view for view in counter.desk.snapshot().tasks[:200] if view.spec.created_by == exchange.who.by]
    return [_legacy(described(counter, exchange, view.id)) for view in own]


def _legacy(task: Mapping[str, object]) -> Result:
    """Return a task as 2025-11-25 has it: its result is read apart, and one whose result is an error has failed."""
    kept = ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt")
    failed: Result = {"status": "failed"} if _object(task.get("result")).get("isError") else {}
    durations = {"ttl": task["ttlMs"], "pollInterval": task["pollIntervalMs"]}
    return {**{name: task[name] for name in kept}, **failed, **durations}


def _must_know_tasks(exchange: Exchange) -> None:
    if exchange.modern and not exchange.takes_tasks:
        raise missing_tasks()
