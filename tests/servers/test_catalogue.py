"""Operations of other programs: what each scope opens, in whose name it is done, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from lumen_tui.actions.registry import HANDLERS
from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.approvals import Approval
from lumen_tui.model.text import is_safe, safe
from lumen_tui.queries import documents
from lumen_tui.servers.catalogue import OPERATIONS, Fault, OperationError, offered, schema_of
from lumen_tui.store import approvals

READ, ACT, APPROVE = Scope.READ, Scope.ACT, Scope.APPROVE


def fault(call: Callable[..., object], *given: object, **arguments: object) -> Fault:
    with pytest.raises(OperationError) as refused:
        call(*given, **arguments)
    return refused.value.fault


def test_a_program_without_scopes_is_offered_nothing_and_does_nothing(connected) -> None:
    nobody = Principal("zed", "mcp")
    assert offered(nobody) == []
    for name in OPERATIONS:
        assert fault(connected.counter.invoke, nobody, name, {}) is Fault.DENIED


@pytest.mark.parametrize("scope", list(Scope))
def test_each_scope_opens_its_own_operations_and_no_others(connected, scope: Scope) -> None:
    who = Principal("zed", "mcp", frozenset({scope}))
    assert {operation.scope for operation in offered(who)} == {scope}
    for name, operation in OPERATIONS.items():
        if operation.scope is not scope:
            assert fault(connected.counter.invoke, who, name, {}) is Fault.DENIED


def test_schemas_are_whole_and_refuse_unknown_fields() -> None:
    for operation in OPERATIONS.values():
        schema = schema_of(operation.arguments)
        assert schema["type"] == "object" and schema["additionalProperties"] is False, operation.name
        assert b"#/$defs/" not in msgspec.json.encode(schema) or "$defs" in schema
        for name, field in schema["properties"].items():
            assert field.get("description") or name in ("tags", "importance", "priority"), (operation.name, name)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_tasks", {"limit": 0}),
        ("list_tasks", {"limit": "all"}),
        ("list_tasks", {"offset": -1}),
        ("list_tasks", {"unheard": 1}),
        ("read_task", {}),
        ("read_task", {"task_id": "../../etc/passwd"}),
        ("read_task", {"task_id": "x" * 65}),
        ("read_unit", {"wu_id": "WU-../1"}),
        ("recall", {"id": "../memory.jsonl"}),
        ("read_approval", {"id": "../../lumen"}),
        ("search", {"query": ""}),
        ("create_task", {"objective": 1}),
        ("create_task", {"objective": "x", "id": "tsk-mine"}),
        ("create_task", {"objective": "x", "order": True}),
        ("remember", {"text": "x", "trust": "person"}),
        ("send_signal", {"message": "x", "session_id": "ses-1"}),
        ("status", []),
        ("status", None),
        ("status", "x"),
    ],
)
def test_arguments_that_do_not_fit_are_named(connected, name: str, arguments: object) -> None:
    who = Principal("zed", "mcp", frozenset({READ, ACT}))
    assert fault(connected.counter.invoke, who, name, arguments) is Fault.INVALID


def test_an_unknown_operation_is_named_and_no_verb_is_reached_by_its_own_name(connected) -> None:
    who = Principal("zed", "mcp", frozenset(Scope))
    for name in (*HANDLERS, "kill", "__class__", ""):
        assert fault(connected.counter.invoke, who, name, {}) is Fault.UNKNOWN


@pytest.mark.threat("S3", "orders in files, results, signals, relays, mail and chat are data")
def test_what_a_program_does_is_its_own_and_never_an_order(connected) -> None:
    task_id = connected.call("create_task", objective="List the largest files", folder="/tmp")["target"]
    task = connected.call("read_task", task_id=task_id)
    assert (task["created_by"], task["order"]) == ("mcp:zed", False)
    connected.call("send_signal", message="Is it done?")
    (signal,) = connected.call("list_signals")["signals"]
    assert signal["sender"] == "mcp:zed" and not signal.get("order")
    note = connected.call("remember", text="The port is 8080")["target"]
    assert (connected.call("recall", id=note)["trust"], connected.call("recall", id=note)["source"]) == (
        "untrusted",
        "mcp:zed",
    )


def test_what_a_program_does_can_be_undone_by_the_operator(connected) -> None:
    done = connected.call("send_signal", message="spam")
    connected.folder.do("undo", action_id=done["action_id"])
    assert not connected.call("list_signals")["signals"]


def test_an_order_of_the_operator_is_not_cancelled_by_a_program(connected) -> None:
    connected.folder.ORDERS = ("task.new",)
    ordered = connected.folder.do("task.new", objective="Mine").target
    assert fault(connected.call, "cancel_task", task_id=ordered, reason="no") is Fault.REFUSED
    own = connected.call("create_task", objective="Its own")["target"]
    assert "asked to cancel" in connected.call("cancel_task", task_id=own, reason="no longer needed")["summary"]


@pytest.mark.threat("S10", "floods of signals, requests, messages and calls")
def test_a_program_has_a_bounded_number_of_open_tasks(connected) -> None:
    for number in range(20):
        connected.call("create_task", objective=f"Task {number}")
    assert fault(connected.call, "create_task", objective="One more") is Fault.REFUSED
    assert connected.call("create_task", name="another", objective="Somebody else's")["target"]


def test_a_relative_folder_is_refused(connected) -> None:
    assert fault(connected.call, "create_task", objective="x", folder="src") is Fault.REFUSED


def test_the_same_key_makes_one_task(connected) -> None:
    first, second = (connected.call("create_task", objective="Once", key="k-1") for _ in range(2))
    assert first["target"] == second["target"]


def test_the_inbox_of_a_program_is_its_own(connected) -> None:
    connected.folder.do("signal.send", message="For everybody")
    (signal,) = connected.call("inbox")["signals"]
    connected.call("mark_read", signal_ids=[signal["id"]])
    assert not connected.call("inbox")["signals"]
    assert len(connected.call("inbox", name="another")["signals"]) == 1


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_a_call_is_answered_once_by_its_hash_and_only_with_the_scope(connected, asked) -> None:
    request: Approval = asked()
    (shown,) = connected.call("list_approvals")["waiting"]
    assert (shown["id"], shown["hash"], "make deploy" in shown["call"]) == (request.id, request.hash, True)
    answer = {"id": request.id, "hash": request.hash, "allow": True}
    assert fault(connected.call, "answer_approval", READ, ACT, **answer) is Fault.DENIED
    changed = {**answer, "hash": "0" * 64}
    assert fault(connected.call, "answer_approval", APPROVE, **changed) is Fault.REFUSED
    assert approvals.decision(connected.layout, request.id) is None
    assert connected.call("answer_approval", APPROVE, **answer)["target"] == request.id
    decided = approvals.decision(connected.layout, request.id)
    assert decided and (decided.allowed, decided.by, decided.hash) == (True, "mcp:zed", request.hash)
    for allow in (True, False):
        assert fault(connected.call, "answer_approval", APPROVE, **{**answer, "allow": allow}) is Fault.REFUSED
    assert approvals.decision(connected.layout, request.id) == decided


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_an_answer_after_the_time_is_over_denies(connected, asked) -> None:
    request: Approval = asked()
    connected.folder.now = request.expires + 1
    answer = {"id": request.id, "hash": request.hash, "allow": True}
    assert fault(connected.call, "answer_approval", APPROVE, **answer) is Fault.REFUSED
    decided = approvals.decision(connected.layout, request.id)
    assert decided and not decided.allowed


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_an_answer_to_a_question_is_the_programs_word(connected, asked) -> None:
    request: Approval = asked(question="Which port?", options=("80", "8080"))
    answer = {"id": request.id, "hash": request.hash, "answer": "2"}
    assert fault(connected.call, "answer_question", READ, ACT, **answer) is Fault.DENIED
    connected.call("answer_question", APPROVE, **answer)
    decided = approvals.decision(connected.layout, request.id)
    assert decided and (decided.answer, decided.by, decided.order) == ("8080", "mcp:zed", False)
    assert fault(connected.call, "answer_question", APPROVE, **answer) is Fault.REFUSED


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_hostile_text_comes_out_safe(connected) -> None:
    connected.folder.do("node.create", content="a\x1b]52;c;aGk=\x07b\u202ec\u200bd")
    (node,) = connected.call("list_discoveries")["discoveries"]
    assert not set(node["content"]) & set("\x1b\x07\u202e\u200b")
    connected.call("send_signal", message="x\x1b[2Jy", to="lumen")
    (signal,) = connected.call("list_signals")["signals"]
    assert "\x1b" not in signal["message"]


@pytest.mark.threat("S10", "floods of signals, requests, messages and calls")
def test_a_flood_is_held_back_by_scope_and_lets_up(connected) -> None:
    sent = 0
    with pytest.raises(OperationError) as refused:
        for sent in range(1000):
            connected.call("send_signal", message=f"{sent}")
    assert refused.value.fault is Fault.BUSY and refused.value.retry_after > 0
    assert sent == 60
    assert connected.call("status")["agent"]
    connected.folder.now += refused.value.retry_after + 0.01
    assert connected.call("send_signal", message="again")["target"]


@pytest.mark.threat("S8", "modes of all files under any umask; folders that others may write")
def test_a_folder_that_others_can_write_is_not_acted_in(connected) -> None:
    connected.folder.root.chmod(0o777)
    assert fault(connected.call, "send_signal", message="x") is Fault.REFUSED


HOSTILE = [
    "\x1b[31m",
    "a\x00b",
    "\x7f",
    "\u202e",
    "\ud800",
    "\\u001b",
    "\\\x1b",
    '"\x1b',
    "\\n\x9b",
    "a\r\nb",
    "\u200b",
]
PLAIN = ["", "plain", "two\nlines", 'said "so"', "back\\slash", "\\n", '\\"', "tab\there", "Grüße, ↑", "\\\\n\\\\"]


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
@pytest.mark.parametrize("text", [*HOSTILE, *PLAIN], ids=ascii)
def test_what_is_answered_is_safe_however_it_is_found_to_be(text: str) -> None:
    document = {"text": text, "list": [text, {text: text}], "number": 5, "none": None}
    answered = documents.plain(document)
    assert answered["text"] == safe(text)
    assert list(answered["list"]) == [safe(text), {safe(text): safe(text)}]
    assert is_safe(str(answered["text"])) and (answered["number"], answered["none"]) == (5, None)
