"""`lumen-tui acp` drives tasks of a real engine with real workers; a local server speaks for the model."""

from __future__ import annotations

import pytest
from lumen_apiserver import held, text, tool
from lumen_editor import EVERY, Editor, Office
from lumen_questions import asking_role
from lumen_repository import Repository
from lumen_until import until

from lumen_tui.model.tasks import DECLINED, Spec, Status, TaskView
from lumen_tui.servers.acp.turn import stop_reason
from lumen_tui.store import approvals


def answered(editor: Editor, request: dict, option: str) -> None:
    editor.say(id=request["id"], result={"outcome": {"outcome": "selected", "optionId": option}})


def test_a_prompt_is_a_task_that_is_told_as_it_comes_and_ends_its_turn(running: Office, api) -> None:
    target = running.project / "port.txt"
    target.write_text("8080\n")
    edit = {"path": str(target), "old_string": "8080", "new_string": "9090"}
    api.say(tool("edit_file", edit, say="I change it."), tool("write_result", text="It is 9090 now."), text("done"))
    editor = running.editor()
    session = running.session(editor)
    end = editor.answer(editor.prompt(session, "Set the port to 9090"))
    assert end["result"] == {"stopReason": "end_turn"}
    (call,) = editor.updates("tool_call")
    assert (call["kind"], call["status"]) == ("edit", "in_progress")
    changes = [update for update in editor.updates("tool_call_update") if update["toolCallId"] == call["toolCallId"]]
    assert changes[-1]["status"] == "completed"
    assert any(change.get("locations") == [{"path": str(target)}] for change in changes)
    diff = changes[-1]["content"][0]
    assert diff == {"type": "diff", "path": str(target), "oldText": "8080", "newText": "9090"}
    assert "I change it." in editor.words() and editor.words().endswith("It is 9090 now.")
    spec = running.spec(running.task())
    assert (spec.created_by, spec.order, spec.role, spec.folder) == ("acp:zed", False, "builder", str(running.project))


def test_a_call_is_allowed_by_the_editor_once_and_bound_to_its_hash(running: Office, api) -> None:
    mark = running.project / "mark"
    api.say(tool("shell", command=f"touch {mark}"), tool("write_result", text="Made."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor)
    prompt = editor.prompt(session, "Make the mark")
    asked = editor.asked("session/request_permission")
    call = asked["params"]["toolCall"]
    assert [option["kind"] for option in asked["params"]["options"]] == ["allow_once", "reject_once"]
    assert call["rawInput"]["command"] == f"touch {mark}"
    assert f'"command":"touch {mark}","cwd":""' in call["content"][0]["content"]["text"], "all that the hash covers"
    assert call["toolCallId"] == editor.updates("tool_call")[0]["toolCallId"]
    (request,) = approvals.undecided(running.layout)
    answered(editor, asked, "allow")
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn"
    decided = approvals.decision(running.layout, request.id)
    assert decided and (decided.allowed, decided.by, decided.hash) == (True, "acp:zed", request.hash)
    assert mark.exists()
    answered(editor, asked, "reject")
    assert approvals.decision(running.layout, request.id) == decided
    statuses = [update["status"] for update in editor.updates("tool_call_update") if "status" in update]
    assert statuses[-1] == "completed" and "pending" in statuses


@pytest.mark.parametrize("answer", ["reject", "cancelled", "cancelled with yes", "other", "error"])
def test_what_is_no_yes_allows_nothing(running: Office, api, answer: str) -> None:
    mark = running.project / "mark"
    api.say(tool("shell", command=f"touch {mark}"), tool("write_result", text="Not made."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor)
    prompt = editor.prompt(session, "Make the mark")
    asked = editor.asked("session/request_permission")
    if answer == "error":
        editor.say(id=asked["id"], error={"code": -32601, "message": "no"})
    elif answer == "cancelled":
        editor.say(id=asked["id"], result={"outcome": {"outcome": "cancelled"}})
    elif answer == "cancelled with yes":
        editor.say(id=asked["id"], result={"outcome": {"outcome": "cancelled", "optionId": "allow"}})
    else:
        answered(editor, asked, answer)
    if answer != "reject":
        until(lambda: "it was left open here" in editor.words())
        (request,) = approvals.undecided(running.layout)
        assert f"lumen-tui approve {request.id}" in editor.words()
        running.do("approval.deny", approval_ids=request.id, reason="no")
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert not mark.exists()


def test_a_call_that_is_too_long_to_be_shown_can_only_be_refused(running: Office, api) -> None:
    mark = running.project / "mark"
    api.say(
        tool("shell", command=f"touch {mark} #{'x' * 100_000}"), tool("write_result", text="Not made."), text("done")
    )
    editor = running.editor(*EVERY)
    session = running.session(editor)
    prompt = editor.prompt(session, "Make the mark")
    asked = editor.asked("session/request_permission")
    assert [option["optionId"] for option in asked["params"]["options"]] == ["reject"]
    answered(editor, asked, "allow")
    until(lambda: "it was left open here" in editor.words())
    (request,) = approvals.undecided(running.layout)
    running.do("approval.deny", approval_ids=request.id)
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn" and not mark.exists()


def test_a_call_that_waited_and_the_next_of_its_kind_keep_their_own_arguments(running: Office, api) -> None:
    say = [tool("shell", command=f"echo {number}") for number in (1, 2)]
    api.say(*say, tool("write_result", text="Done."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor)
    prompt = editor.prompt(session, "Count")
    for number in (0, 1):
        until(lambda number=number: len(asks(editor)) > number)
        answered(editor, asks(editor)[number], "allow")
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn"
    calls = [update["toolCallId"] for update in editor.updates("tool_call")]
    for number, call in enumerate(calls, 1):
        changes = [update for update in editor.updates("tool_call_update") if update["toolCallId"] == call]
        given = [change["rawInput"]["command"] for change in changes if "rawInput" in change]
        assert given and set(given) == {f"echo {number}"}
    assert len(calls) == 2


def asks(editor: Editor) -> list[dict]:
    return [message for message in editor.messages if message.get("method") == "session/request_permission"]


def test_a_call_that_somebody_else_answers_is_no_longer_asked(running: Office, api) -> None:
    mark = running.project / "mark"
    api.say(tool("shell", command=f"touch {mark}"), tool("write_result", text="Not made."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor)
    prompt = editor.prompt(session, "Make the mark")
    asked = editor.asked("session/request_permission")
    (request,) = approvals.undecided(running.layout)
    running.do("approval.deny", approval_ids=request.id, reason="not today")
    withdrawn = editor.asked("$/cancel_request")
    assert withdrawn["params"] == {"requestId": asked["id"]}
    answered(editor, asked, "allow")
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn"
    decided = approvals.decision(running.layout, request.id)
    assert decided and not decided.allowed and not mark.exists()


def test_without_the_scope_approve_a_call_is_told_of_and_not_asked(running: Office, api) -> None:
    api.say(tool("shell", command="true"), tool("write_result", text="Done."), text("done"))
    editor = running.editor()
    session = running.session(editor)
    prompt = editor.prompt(session, "Do it")
    until(lambda: "lumen-tui approve" in editor.words())
    (request,) = approvals.undecided(running.layout)
    assert request.id in editor.words() and "scope approve" in editor.words()
    running.do("approval.allow", approval_ids=request.id)
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert not any(message.get("method") == "session/request_permission" for message in editor.messages)


def test_a_cancelled_prompt_cancels_its_task_and_says_so(running: Office, api) -> None:
    api.say(held(text("never")))
    editor = running.editor()
    session = running.session(editor)
    prompt = editor.prompt(session, "Think long")
    until(lambda: len(api.asked) == 1)
    second = editor.prompt(session, "And this")
    assert "under way" in editor.answer(second)["error"]["message"]
    editor.say(method="session/cancel", params={"sessionId": session})
    assert editor.answer(prompt)["result"] == {"stopReason": "cancelled"}
    until(lambda: running.status(running.task()) is Status.CANCELLED)
    api.release()


def test_a_question_is_asked_by_a_form_or_answered_by_the_next_prompt(running: Office, api) -> None:
    ask = tool("ask_operator", question="Which port?", options=["8080", "9090"], default="8080", wait_minutes=10)
    api.say(ask, tool("write_result", text="It is settled."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor)
    assert editor.answer(editor.prompt(session, "Settle the port"))["result"]["stopReason"] == "end_turn"
    assert "Which port?" in editor.words() and "2. 9090" in editor.words()
    assert editor.answer(editor.prompt(session, "2"))["result"]["stopReason"] == "end_turn"
    assert editor.words().endswith("It is settled.")
    decided = [approvals.decision(running.layout, request.id) for request in approvals.every(running.layout, done=True)]
    assert [(answer.answer, answer.by, answer.order) for answer in decided if answer] == [("9090", "acp:zed", False)]
    api.say(ask, tool("write_result", text="Settled by a form."), text("done"))
    other = running.editor(*EVERY)
    session = running.session(other, elicitation={"form": {}})
    prompt = other.prompt(session, "Settle the port once more")
    form = other.asked("elicitation/create")
    assert form["params"]["requestedSchema"]["required"] == ["answer"] and "Which port?" in form["params"]["message"]
    other.say(id=form["id"], result={"action": "accept", "content": {"answer": "9091"}})
    assert other.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert other.words().endswith("Settled by a form.")


def test_the_next_prompt_knows_what_was_said_before(running: Office, api) -> None:
    api.say(tool("write_result", text="The pump is at 8080."), text("done"))
    editor = running.editor()
    session = running.session(editor)
    editor.answer(editor.prompt(session, "Where is the pump?"))
    api.say(tool("write_result", text="Yes."), text("done"))
    editor.answer(editor.prompt(session, "Is that sure?"))
    costs = [update["cost"]["amount"] for update in editor.updates("usage_update")]
    assert 0 < costs[0] < costs[-1] and costs == sorted(costs), "they are the session's"
    first = api.asked[-1].first_text
    assert "Where is the pump?" in first and "The pump is at 8080." in first
    assert "Said before in this conversation:\n> Asked: Where is the pump?" in first


def test_without_an_engine_the_task_waits_and_says_how_to_start_one(office: Office, api) -> None:
    api.say(tool("write_result", text="At last."), text("done"))
    editor = office.editor()
    session = office.session(editor)
    prompt = editor.prompt(session, "Do it")
    until(lambda: "lumen-tui --engine-only" in editor.words())
    office.start_engine()
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert editor.words().endswith("At last.")


def test_changes_made_apart_are_said_to_wait_for_acceptance(running: Office, api, sandbox) -> None:
    running.project.rmdir()
    Repository(running.project).commit(port__txt="8080\n")
    role = asking_role("shell", "write_result").replace("write = true", 'write = true\nisolate = "worktree"')
    running.layout.role("builder").write_text(role)
    api.say(tool("shell", command="echo 9090 > new.txt"), tool("write_result", text="Done."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor)
    prompt = editor.prompt(session, "Add the port")
    answered(editor, editor.asked("session/request_permission"), "allow")
    assert editor.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert f"accepted (1): `lumen-tui changes show {running.task()}`" in editor.words()


@pytest.mark.parametrize(
    ("reason", "cap", "expected"),
    [
        ("step limit reached (40/40)", "", "max_turn_requests"),
        ("its budget is used up", "task", "max_tokens"),
        (f"{DECLINED}: it is harmful", "", "refusal"),
        ("no playbook fits", "", "end_turn"),
    ],
)
def test_why_a_task_failed_is_the_reason_why_its_turn_stopped(reason: str, cap: str, expected: str) -> None:
    view = TaskView(Spec(id="tsk-one", objective="x"), Status.FAILED, reason=reason, cap=cap)
    assert stop_reason(view) == expected


def test_a_model_that_declines_and_a_task_that_fails_are_told(running: Office, api) -> None:
    api.say(text("I will not.", stop="refusal"))
    editor = running.editor()
    session = running.session(editor)
    assert editor.answer(editor.prompt(session, "Do harm"))["result"]["stopReason"] == "refusal"
    assert "failed" in editor.words() and DECLINED in editor.words()
