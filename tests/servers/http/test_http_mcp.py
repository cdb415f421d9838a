"""MCP over streamable HTTP on the wire: sessions, streams, headers, and who may go on with what."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.client import HTTPConnection
from typing import Any

import httpx2
import pytest
from lumen_questions import put_call
from lumen_until import until

from lumen_tui.model.access import Scope
from lumen_tui.servers.http.sessions import MOST_OF_ONE
from lumen_tui.store import approvals
from lumen_tui.store.settings import access

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"


class McpClient:
    """A client that says what a test wants it to say; `version` names the generation of its protocol."""

    def __init__(self, client: httpx2.Client, version: str = MODERN, **capabilities: object) -> None:
        self.http = client
        self.version = version
        self.capabilities = capabilities
        self.headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": version}

    def begin(self) -> McpClient:
        params = {"protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": {"name": "test"}}
        response = self.send("initialize", params)
        assert response.json()["result"]["protocolVersion"] == self.version
        self.headers["mcp-session-id"] = response.headers["mcp-session-id"]
        return self

    def body(self, method: str, params: dict[str, Any], request_id: object = 1) -> dict[str, Any]:
        if self.version == MODERN:
            meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": self.capabilities}
            params = {**params, "_meta": {**meta, **params.get("_meta", {})}}
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}

    def headers_of(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        if self.version != MODERN:
            return self.headers
        name = params.get("uri") if method == "resources/read" else params.get("name")
        return {**self.headers, "mcp-method": method, **({"mcp-name": str(name)} if name else {})}

    def send(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> httpx2.Response:
        given = {**self.headers_of(method, params or {}), **{name.replace("_", "-"): v for name, v in headers.items()}}
        return self.http.post("/mcp", json=self.body(method, params or {}), headers=given)

    def call(self, name: str, **arguments: object) -> dict[str, Any]:
        return dict(self.send("tools/call", {"name": name, "arguments": arguments}).json()["result"])

    @contextmanager
    def stream(self, method: str, params: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
        headers = self.headers_of(method, params)
        with self.http.stream("POST", "/mcp", json=self.body(method, params), headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            yield messages(response)


def messages(response: httpx2.Response) -> Iterator[dict[str, Any]]:
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def error(response: httpx2.Response, status: int) -> int:
    assert response.status_code == status, response.text
    return int(response.json()["error"]["code"])


# ---- the stateless protocol


def test_a_stateless_request_says_all_of_itself_and_gets_no_session(served) -> None:
    client = McpClient(served.client())
    response = client.send("tools/list")
    assert "mcp-session-id" not in response.headers
    assert response.json()["result"]["resultType"] == "complete"
    assert client.call("send_signal", message="hello")["structuredContent"]["target"].startswith("sig-")
    assert "mcp:zed" in served.layout.signals.read_text()


def test_headers_that_do_not_say_what_the_body_says_are_refused(served) -> None:
    client = McpClient(served.client())
    assert error(client.send("tools/list", mcp_method="tools/call"), 400) == -32020
    assert error(client.send("tools/call", {"name": "status"}, mcp_name="create_task"), 400) == -32020
    assert error(client.send("tools/list", mcp_protocol_version=HANDSHAKE), 400) == -32020
    bare = client.http.post("/mcp", json=client.body("tools/list", {}))
    assert error(bare, 400) == -32020
    empty = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert error(client.http.post("/mcp", json=empty, headers=client.headers), 400) == -32602
    assert error(client.send("no/method"), 404) == -32601
    unknown = client.body("tools/list", {"_meta": {f"{META}protocolVersion": "2030-01-01"}})
    headers = client.headers_of("tools/list", {})
    assert error(client.http.post("/mcp", json=unknown, headers=headers), 400) == -32020
    headers["mcp-protocol-version"] = "2030-01-01"
    assert error(client.http.post("/mcp", json=unknown, headers=headers), 400) == -32022
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        assert error(client.send(method, {"taskId": "tsk-one"}), 400) == -32020


def test_white_space_around_a_header_is_no_part_of_it(served) -> None:
    client = McpClient(served.client())
    params = {"name": "status", "arguments": {}}
    headers = {**client.http.headers, **client.headers_of("tools/call", params), "mcp-name": " status\t "}
    link = HTTPConnection(served.url.removeprefix("http://"), timeout=60)
    link.request("POST", "/mcp", json.dumps(client.body("tools/call", params)), headers)
    assert link.getresponse().status == 200
    link.close()


def test_what_is_no_message_is_refused_by_name(served) -> None:
    client = McpClient(served.client())
    for body, code in ((b"{", -32700), (b"\xff", -32700), (b"[]", -32600), (b'{"id": 1}', -32600), (b"7", -32600)):
        assert error(client.http.post("/mcp", content=body, headers=client.headers), 400) == code
    for wrong in (True, None, 1.5, [1]):
        body = {**client.body("tools/list", {}), "id": wrong}
        assert error(client.http.post("/mcp", json=body, headers=client.headers_of("tools/list", {})), 400) == -32600
    assert client.http.get("/mcp", headers=client.headers).status_code == 405
    assert client.http.put("/mcp", headers=client.headers).status_code == 405
    assert client.http.post("/mcp", content=b"x" * 2_000_000).status_code == 413


def test_a_subscription_tells_of_changes_until_its_stream_is_closed(served) -> None:
    client = McpClient(served.client())
    wanted = {"notifications": {"resourceSubscriptions": ["lumen://status"]}}
    with client.stream("subscriptions/listen", wanted) as told:
        assert next(told)["method"] == "notifications/subscriptions/acknowledged"
        served.folder.do("task.new", objective="Look at the pump")
        update = next(told)
        assert (update["method"], update["params"]["uri"]) == ("notifications/resources/updated", "lumen://status")


def test_who_goes_away_from_a_task_that_it_waits_for_cancels_it(served) -> None:
    client = McpClient(served.client())
    asked = {"name": "run_task", "arguments": {"objective": "Look at the pump"}, "_meta": {"progressToken": 7}}
    with client.stream("tools/call", asked) as told:
        progress = next(told)
        assert (progress["method"], progress["params"]["progressToken"]) == ("notifications/progress", 7)
    until(lambda: "task.cancel" in served.layout.actions.read_text())


def test_one_program_cannot_take_every_place_where_requests_wait(served) -> None:
    greedy, other = McpClient(served.client("greedy")), McpClient(served.client("other"))
    wanted = {"notifications": {"resourceSubscriptions": []}}
    with ExitStack() as open_streams:
        listening = [open_streams.enter_context(greedy.stream("subscriptions/listen", wanted)) for _ in range(8)]
        assert all(next(told)["method"].endswith("acknowledged") for told in listening)
        refused = greedy.send("subscriptions/listen", wanted)
        assert "end some first" in refused.json()["error"]["message"]
        with other.stream("subscriptions/listen", wanted) as told:
            assert next(told)["method"] == "notifications/subscriptions/acknowledged"
    until(lambda: "error" not in _listened(greedy, wanted))


def _listened(client: McpClient, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the first message of a subscription, or the refusal."""
    headers = client.headers_of("subscriptions/listen", wanted)
    body = client.body("subscriptions/listen", wanted)
    with client.http.stream("POST", "/mcp", json=body, headers=headers) as response:
        if response.headers["content-type"].startswith("application/json"):
            return dict(json.loads(response.read()))
        return next(messages(response))


def test_requests_of_every_kind_are_counted(serving) -> None:
    served = serving("--limit", "3")
    client = McpClient(served.client())
    answers = [client.send("prompts/list").status_code for _ in range(20)]
    assert answers[:6] == [200] * 6 and 429 in answers
    streams = served.client("streams")
    codes = []
    for _ in range(20):
        with streams.stream("GET", "/v1/events") as response:
            codes.append(response.status_code)
    assert 429 in codes


def test_a_stream_ends_with_the_token_and_tells_nothing_more(served) -> None:
    client = McpClient(served.client())
    wanted = {"notifications": {"resourceSubscriptions": ["lumen://status"]}}
    with client.stream("subscriptions/listen", wanted) as told:
        next(told)
        access.revoke(served.layout, "zed")
        served.folder.do("task.new", objective="Look at the secret")
        assert list(told) == []


# ---- sessions


def test_a_session_is_of_the_program_that_began_it_and_of_nobody_else(served) -> None:
    own = McpClient(served.client("own"), HANDSHAKE).begin()
    assert own.call("send_signal", message="hello")["isError"] is False
    other = McpClient(served.client("other"), HANDSHAKE)
    other.headers["mcp-session-id"] = own.headers["mcp-session-id"]
    for response in (other.send("tools/list"), other.http.delete("/mcp", headers=other.headers)):
        assert (response.status_code, response.json()["title"]) == (404, "missing")
    assert own.send("tools/list").status_code == 200
    assert own.http.delete("/mcp", headers=own.headers).status_code == 204
    assert own.send("tools/list").status_code == 404
    assert McpClient(served.client("new"), HANDSHAKE).send("tools/list").status_code == 400


def test_the_scope_of_the_token_holds_within_a_session_too(served) -> None:
    client = McpClient(served.client("reader", Scope.READ), HANDSHAKE).begin()
    tools = {tool["name"] for tool in client.send("tools/list").json()["result"]["tools"]}
    assert "status" in tools and not tools & {"create_task", "run_task", "answer_approval"}
    assert client.call("send_signal", message="hello")["isError"] is True
    access.revoke(served.layout, "reader")
    assert client.send("tools/list").status_code == 401


def test_clients_that_never_end_their_sessions_take_no_more_than_their_share(served) -> None:
    http = served.client()
    first = McpClient(http, HANDSHAKE).begin()
    for _ in range(MOST_OF_ONE - 1):
        McpClient(http, HANDSHAKE).begin()
    assert first.send("ping").status_code == 200  # used a moment ago, so another gives way
    McpClient(http, HANDSHAKE).begin()
    assert first.send("ping").status_code == 200
    for _ in range(MOST_OF_ONE):
        McpClient(http, HANDSHAKE).begin()
    assert first.send("ping").status_code == 404


def test_a_resource_of_a_session_is_told_of_on_its_get_stream(served) -> None:
    client = McpClient(served.client(), HANDSHAKE).begin()
    assert client.send("resources/subscribe", {"uri": "lumen://status"}).json()["result"] == {}
    with client.http.stream("GET", "/mcp", headers=client.headers) as response:
        served.folder.do("task.new", objective="Look at the pump")
        update = next(messages(response))
    assert (update["method"], update["params"]["uri"]) == ("notifications/resources/updated", "lumen://status")


def events(response: httpx2.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the id and the message of each event."""
    place = ""
    for line in response.iter_lines():
        if line.startswith("id: "):
            place = line.removeprefix("id: ")
        if line.startswith("data: "):
            yield place, json.loads(line.removeprefix("data: "))


def test_a_client_goes_on_behind_the_last_message_that_it_got(served) -> None:
    client = McpClient(served.client(), HANDSHAKE).begin()
    assert client.send("resources/subscribe", {"uri": "lumen://status"}).json()["result"] == {}

    def after(place: str) -> AbstractContextManager[httpx2.Response]:
        return client.http.stream("GET", "/mcp", headers={**client.headers, "last-event-id": place})

    with client.http.stream("GET", "/mcp", headers=client.headers) as response:
        served.folder.do("task.new", objective="Look at the pump")
        assert next(events(response))[0] == "0-1"
    served.folder.do("task.new", objective="Look at the valve")  # while nobody reads
    with after("0-1") as response:
        told = events(response)
        assert next(told)[0] == "0-2"
        with after("0-0") as other:
            again = events(other)
            assert [next(again)[0] for _ in range(2)] == ["0-1", "0-2"]
            assert "0-2" not in [place for place, _ in told]  # who goes on ends who was there before


def test_what_a_request_tells_comes_to_who_goes_on_after_its_connection_ended(served) -> None:
    client = McpClient(served.client("phone", *Scope), HANDSHAKE, elicitation={}).begin()
    asked = {"name": "run_task", "arguments": {"objective": "Deploy it"}, "_meta": {"progressToken": "p"}}
    with client.http.stream("POST", "/mcp", json=client.body("tools/call", asked, 7), headers=client.headers) as begun:
        place, progress = next(events(begun))
    assert (place, progress["method"]) == ("1-1", "notifications/progress")
    (task,) = (folder.name for folder in served.layout.tasks.glob("tsk-*"))
    waiting = put_call(served.layout, task, served.now)
    with client.http.stream("GET", "/mcp", headers={**client.headers, "last-event-id": place}) as response:
        form = next(message for _, message in events(response) if message["method"] == "elicitation/create")
        reply = {"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": {"allow": True}}}
        assert client.http.post("/mcp", json=reply, headers=client.headers).status_code == 202
        until(lambda: approvals.decision(served.layout, waiting.id) is not None)


@pytest.mark.parametrize("place", ["0-99", "9-1", "0", "-", "0--1", "0-" + "9" * 40, "0-x", "../0-1"])
def test_a_place_that_never_was_is_refused_and_costs_the_session_nothing(served, place: str) -> None:
    client = McpClient(served.client(), HANDSHAKE).begin()
    answer = client.http.get("/mcp", headers={**client.headers, "last-event-id": place})
    assert (answer.status_code, answer.json()["title"]) == (400, "invalid")
    assert client.send("ping").json()["result"] == {}


def test_nobody_goes_on_with_the_stream_of_another_program(served) -> None:
    client = McpClient(served.client(), HANDSHAKE).begin()
    other = McpClient(served.client("other"), HANDSHAKE)
    headers = {**other.headers, "mcp-session-id": client.headers["mcp-session-id"], "last-event-id": "0-0"}
    assert other.http.get("/mcp", headers=headers).status_code == 404


@pytest.mark.parametrize("allow", [True, False])
def test_a_call_of_a_task_is_put_before_the_user_of_a_client_that_waits_for_it(served, allow: bool) -> None:
    client = McpClient(served.client("phone", *Scope), HANDSHAKE, elicitation={}).begin()
    asked = {"name": "run_task", "arguments": {"objective": "Deploy it"}, "_meta": {"progressToken": "p"}}
    with client.stream("tools/call", asked) as told:
        assert next(told)["method"] == "notifications/progress"
        (task,) = (folder.name for folder in served.layout.tasks.glob("tsk-*"))
        waiting = put_call(served.layout, task, served.now)
        form = next(message for message in told if message["method"] == "elicitation/create")
        assert "make deploy" in form["params"]["message"]
        answer = {"action": "accept", "content": {"allow": allow}}
        reply = {"jsonrpc": "2.0", "id": form["id"], "result": answer}
        for _ in range(2):  # the second is one to what nobody asks any more
            assert client.http.post("/mcp", json=reply, headers=client.headers).status_code == 202
        until(lambda: approvals.decision(served.layout, waiting.id) is not None)
    decision = approvals.decision(served.layout, waiting.id)
    assert decision is not None and (decision.allowed, decision.by) == (allow, "mcp:phone")


def again(client: McpClient, state: object, **responses: object) -> Future[dict[str, Any]]:
    """Make the call of a task again, with answers to what it asked for."""
    params = {"name": "run_task", "arguments": {"objective": "Deploy it"}, "requestState": state}
    return in_background(client, {**params, "inputResponses": responses})


def in_background(client: McpClient, params: dict[str, Any]) -> Future[dict[str, Any]]:
    """Make a call that waits."""

    def wait(done: Future[dict[str, Any]]) -> None:
        with client.http.stream("POST", "/mcp", json=client.body("tools/call", params), headers=headers) as response:
            lines = [line for line in response.iter_lines() if "jsonrpc" in line]
            done.set_result(json.loads(lines[-1].removeprefix("data: ")))

    headers, future = client.headers_of("tools/call", params), Future[dict[str, Any]]()
    threading.Thread(target=wait, args=(future,), daemon=True).start()
    return future


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_a_stateless_client_that_waits_for_a_task_is_asked_and_calls_again(served) -> None:
    client = McpClient(served.client("phone", *Scope), elicitation={})
    first = in_background(client, {"name": "run_task", "arguments": {"objective": "Deploy it"}})
    until(lambda: any(served.layout.tasks.glob("tsk-*")))
    (task,) = (folder.name for folder in served.layout.tasks.glob("tsk-*"))
    one = put_call(served.layout, task, served.now)
    asked = first.result(60)["result"]
    (key,), state = asked["inputRequests"], asked["requestState"]
    assert asked["resultType"] == "input_required"
    assert "make deploy" in asked["inputRequests"][key]["params"]["message"]
    allow = {"action": "accept", "content": {"allow": True}}
    for wrong in (f"{state}x", "", "tsk-none", 7):
        assert error_in(again(client, wrong, **{key: allow})) == -32602
    stranger = McpClient(served.client("other", *Scope), elicitation={})
    assert error_in(again(stranger, state, **{key: allow})) == -32602
    assert approvals.decision(served.layout, one.id) is None
    wrong_form = {"action": "accept", "content": {"allow": "yes"}}
    assert list(again(client, state, **{key: wrong_form}).result(60)["result"]["inputRequests"]) == [key]
    second = again(client, state, **{key: allow})
    until(lambda: approvals.decision(served.layout, one.id))
    assert approvals.decision(served.layout, one.id).by == "mcp:phone"
    two = put_call(served.layout, task, served.now, "rm -rf build")
    (other,) = second.result(60)["result"]["inputRequests"]
    assert other.startswith(two.id)
    again(client, state, **{key: {**allow, "content": {"allow": False}}, other: {"action": "decline"}})
    three = put_call(served.layout, task, served.now, "make clean")
    asked = again(client, state, **{other: {"action": "decline"}}).result(60)["result"]
    assert [name.partition(":")[0] for name in asked["inputRequests"]] == [three.id], "what was left open stays open"
    assert approvals.decision(served.layout, one.id).allowed
    assert approvals.decision(served.layout, two.id) is None
    assert len(list(served.layout.tasks.glob("tsk-*"))) == 1


def error_in(answer: Future[dict[str, Any]]) -> int:
    return int(answer.result(60)["error"]["code"])


def test_a_form_is_not_put_before_a_client_that_may_not_answer(served) -> None:
    client = McpClient(served.client(), HANDSHAKE, elicitation={}).begin()
    asked = {"name": "run_task", "arguments": {"objective": "Deploy it"}, "_meta": {"progressToken": "p"}}
    with client.stream("tools/call", asked) as told:
        next(told)
        (task,) = (folder.name for folder in served.layout.tasks.glob("tsk-*"))
        put_call(served.layout, task, served.now)
        message = next(told)
    assert message["method"] == "notifications/progress" and "waits for a person" in message["params"]["message"]


def test_the_server_ends_soon_with_streams_of_mcp_open(served) -> None:
    client = McpClient(served.client(), HANDSHAKE).begin()
    with client.http.stream("GET", "/mcp", headers=client.headers) as response:
        modern = McpClient(served.client("modern"))
        with modern.stream("subscriptions/listen", {"notifications": {"resourceSubscriptions": []}}) as told:
            next(told)
            assert served.end() == 0
            assert list(told) == [] and list(messages(response)) == []
