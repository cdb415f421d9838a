"""REST over a real server: what a program with a token may read and do, and what everybody else is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import httpx2
import pytest
from jsonschema import Draft202012Validator
from lumen_clock import HandClock
from lumen_until import until

from lumen_tui.model.access import Scope
from lumen_tui.servers.access import TokenBook
from lumen_tui.servers.catalogue import OPERATIONS, Counter
from lumen_tui.servers.following import FollowingDesk
from lumen_tui.servers.http.app import HttpApi, application
from lumen_tui.servers.http.door import Door
from lumen_tui.servers.http.routes import ROUTES, openapi
from lumen_tui.store.settings import access

PROBLEM = "application/problem+json"
APPROVE = (Scope.READ, Scope.APPROVE)


def problem(response: httpx2.Response, status: int, title: str) -> str:
    """Return why a request was refused, after a look at the form of the refusal."""
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM), response.text
    body = response.json()
    assert (body["status"], body["title"], body["type"]) == (status, title, f"urn:lumen-tui:{title}")
    return str(body["detail"])


# ---- the table


def test_each_operation_of_the_catalogue_has_one_route() -> None:
    assert sorted(route.operation.name for route in ROUTES) == sorted(OPERATIONS)
    assert all((route.method == "GET") == (route.operation.scope is Scope.READ) for route in ROUTES)


def test_the_openapi_document_describes_each_route_whole(served) -> None:
    document = httpx2.get(f"{served.url}/openapi.json", trust_env=False).json()
    assert document == json.loads(json.dumps(openapi()))
    described = {
        described["operationId"]: (path, method, described)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
        if "operationId" in described
    }
    assert described.keys() == OPERATIONS.keys()
    for path, _, operation in described.values():
        parameters = {one["name"]: one for one in operation["parameters"]}
        in_path = {name for name, one in parameters.items() if one["in"] == "path"}
        assert in_path == {part[1:-1] for part in path.split("/") if part.startswith("{")}
        assert all(parameters[name]["required"] for name in in_path)
        schemas = [one["schema"] for one in parameters.values()]
        if "requestBody" in operation:
            schemas.append(operation["requestBody"]["content"]["application/json"]["schema"])
        for schema in schemas:
            Draft202012Validator.check_schema(schema)
            assert "$ref" not in json.dumps(schema)
    assert document["components"]["schemas"]["Problem"]["required"] == ["type", "title", "status", "detail"]


# ---- reads and acts


def test_everything_that_needs_no_argument_is_read_and_is_what_the_catalogue_answers(served) -> None:
    served.folder.do("signal.send", message="The pump is on", to="*")
    unit = served.folder.do("wu.new", title="Mend the pump", lane="core").target
    reader = served.client("reader", Scope.READ)
    listed = [route for route in ROUTES if route.method == "GET" and not route.required]
    assert len(listed) >= 9
    for route in listed:
        response = reader.get(f"/v1{route.path}")
        assert response.status_code == 200, (route.path, response.text)
        assert response.headers["cache-control"] == "no-store"
        assert isinstance(response.json(), dict)
    until(lambda: "The pump is on" in reader.get("/v1/signals").text)
    assert reader.get("/v1/units", params={"limit": 1}).json()["units"][0]["id"] == unit
    assert reader.get(f"/v1/units/{unit}").json()["unit"]["title"] == "Mend the pump"
    assert "pump" in str(reader.get("/v1/search", params={"query": "pump"}).json()["hits"])


def test_what_a_program_did_is_in_its_next_read_and_in_its_name(served) -> None:
    client = served.client()
    task = client.post("/v1/tasks", json={"objective": "Look at the pump"}).json()["target"]
    shown = client.get(f"/v1/tasks/{task}").json()
    assert (shown["objective"], shown["created_by"]) == ("Look at the pump", "http:zed")
    assert [one["id"] for one in client.get("/v1/tasks", params={"status": "open"}).json()["tasks"]] == [task]
    ended = client.post(f"/v1/tasks/{task}/cancel", json={"reason": "no pump"})
    assert (ended.status_code, ended.json()["target"]) == (200, task)


def test_what_is_sent_again_under_one_key_is_done_once(served) -> None:
    client = served.client()
    for path, body in (
        ("/v1/tasks", {"objective": "Look at the pump"}),
        ("/v1/signals", {"message": "The pump is off"}),
        ("/v1/memory", {"text": "The pump is old"}),
    ):
        answers = [client.post(path, json=body, headers={"idempotency-key": f"key{path[4:]}"}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200] * 3
        assert len({answer.json()["target"] for answer in answers}) == 1, path
    assert len(client.get("/v1/tasks").json()["tasks"]) == 1


def test_a_request_that_does_not_fit_says_which_argument(served) -> None:
    client = served.client()
    assert "limit" in problem(client.get("/v1/tasks?limit=many"), 422, "invalid")
    assert "limit" in problem(client.get("/v1/tasks?limit=1000000"), 422, "invalid")
    assert "twice" in problem(client.get("/v1/tasks?limit=1&limit=2"), 422, "invalid")
    assert "depth" in problem(client.get("/v1/tasks?depth=1"), 422, "invalid")
    assert "objective" in problem(client.post("/v1/tasks", json={}), 422, "invalid")
    assert "path" in problem(client.post("/v1/tasks/tsk-a/cancel", json={"task_id": "tsk-b"}), 422, "invalid")
    for body in (b"[1]", b"{", b'{"objective": "\xff"}', b'"x"', b"[" * 100_000):
        assert "JSON" in problem(client.post("/v1/tasks", content=body), 422, "invalid")
    problem(client.get("/v1/tasks/tsk-none"), 404, "missing")
    problem(client.get("/v1/tasks/..%2f..%2fetc"), 404, "unknown")
    problem(client.get("/v1/nothing"), 404, "unknown")
    problem(client.delete("/v1/tasks"), 405, "method")
    assert client.get("/v1/tasks").json()["tasks"] == []


# ---- who may


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
def test_without_a_token_that_is_valid_nothing_is_answered_and_no_log_names_one(served) -> None:
    over = served.token("old", seconds=-1.0)
    for token in ("", "lumen-access-none", over, "x" * 5000):
        for method, path in (("GET", "/v1/status"), ("POST", "/v1/tasks"), ("GET", "/v1/approvals")):
            response = served.client(token=token).request(method, path)
            problem(response, 401, "unauthorized")
            assert response.headers["www-authenticate"] == "Bearer"
            assert not token or token not in response.text
    basic = httpx2.get(f"{served.url}/v1/status", auth=("ana", over), trust_env=False)
    problem(basic, 401, "unauthorized")
    good = served.client()
    assert good.get("/v1/status").status_code == 200
    twice = [("authorization", good.headers["authorization"])] * 2
    problem(httpx2.get(f"{served.url}/v1/status", headers=twice, trust_env=False), 401, "unauthorized")
    another = [("authorization", good.headers["authorization"].replace("Bearer", "Token"))]
    problem(httpx2.get(f"{served.url}/v1/status", headers=another, trust_env=False), 401, "unauthorized")
    log = served.log.read_text()
    assert "refused GET from 127.0.0.1" in log and "lumen-access" not in log and "xxxx" not in log


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
def test_each_scope_opens_its_own_and_no_more(served) -> None:
    waiting = served.ask()
    clients = {scope: served.client(scope.value, scope) for scope in Scope}
    answer = {"hash": waiting.hash, "allow": True}
    requests = {
        Scope.READ: lambda client: client.get("/v1/status"),
        Scope.ACT: lambda client: client.post("/v1/signals", json={"message": "hello"}),
        Scope.APPROVE: lambda client: client.post(f"/v1/approvals/{waiting.id}/answer", json=answer),
    }
    for needed, request in requests.items():
        for scope, client in clients.items():
            if scope is not needed:
                assert f"needs the scope {needed}" in problem(request(client), 403, "denied")
        assert request(clients[needed]).status_code == 200


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
def test_a_token_that_is_revoked_ends_on_the_open_connection(served) -> None:
    client = served.client()
    assert client.get("/v1/status").status_code == 200
    access.revoke(served.layout, "zed")
    problem(client.get("/v1/status"), 401, "unauthorized")
    problem(client.post("/v1/tasks", json={"objective": "one more"}), 401, "unauthorized")


def test_a_program_that_asks_too_often_is_told_when_to_come_back_and_no_other_waits(serving) -> None:
    served = serving("--limit", "3")
    eager, other = served.client("eager"), served.client("other")
    answers = [eager.get("/v1/attention") for _ in range(20)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 6 <= len(answers) - len(refused) < 20
    assert "too many requests" in problem(refused[0], 429, "busy") and int(refused[0].headers["retry-after"]) >= 1
    assert other.get("/v1/attention").status_code == 200


# ---- answers of a person


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_an_approval_is_answered_once_and_only_as_it_was_shown(served) -> None:
    waiting = served.ask()
    client = served.client("phone", *APPROVE)
    until(lambda: client.get("/v1/approvals").json()["waiting"])
    (shown,) = client.get("/v1/approvals").json()["waiting"]
    assert shown["hash"] == waiting.hash and "make deploy" in shown["call"]
    path, answer = f"/v1/approvals/{waiting.id}/answer", {"hash": shown["hash"], "allow": True, "reason": "go on"}
    forged = {**answer, "hash": "0" * 64}
    assert "not the one that was shown" in problem(client.post(path, json=forged), 409, "refused")
    problem(client.post(path, json={"allow": True}), 422, "invalid")
    assert client.post(path, json=answer).status_code == 200
    problem(client.post(path, json=answer), 409, "refused")  # replayed
    problem(client.post(path, json={**answer, "allow": False}), 409, "refused")
    decided = client.get(f"/v1/approvals/{waiting.id}").json()
    assert (decided["state"], decided["decision"]["by"]) == ("allowed", "http:phone")
    assert client.get("/v1/approvals").json()["waiting"] == []


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_an_answer_to_one_call_counts_for_no_other(served) -> None:
    first, second = served.ask("make deploy"), served.ask("rm -rf build")
    client = served.client("phone", *APPROVE)
    answer = {"hash": first.hash, "allow": True}
    problem(client.post(f"/v1/approvals/{second.id}/answer", json=answer), 409, "refused")
    assert client.get(f"/v1/approvals/{second.id}").json()["state"] == "waiting"


# ---- pages of other origins


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:80"])
def test_a_foreign_host_is_refused_before_the_token_is_looked_at(served, host: str) -> None:
    client = served.client()
    problem(client.get("/v1/status", headers={"host": host}), 403, "foreign")
    problem(client.get("/health", headers={"host": host}), 403, "foreign")


@pytest.mark.threat("S9", "strangers, foreign origins, floods and half requests at the HTTP server")
def test_a_page_may_ask_only_from_its_own_origin(serving: Callable) -> None:
    served = serving("--name", "Lumen.example")
    client = served.client()
    for origin in ("https://evil.example", "null", "http://localhost", "http://127.0.0.1:1"):
        problem(client.get("/v1/status", headers={"origin": origin}), 403, "foreign")
    assert client.get("/v1/status", headers={"origin": served.url}).status_code == 200
    named = {"host": "lumen.example", "origin": "https://lumen.example"}
    assert client.get("/v1/status", headers=named).status_code == 200
    preflight = client.options("/v1/status", headers={"origin": served.url})
    assert "access-control-allow-origin" not in preflight.headers


# ---- health


def test_health_is_that_of_the_command_line_and_tells_strangers_one_word(served) -> None:
    stranger = served.client(token="")
    for path in ("/health", "/ready"):
        response = stranger.get(path)
        assert (response.status_code, response.json()) == (503, {"status": "fail"})
        assert response.headers["content-type"] == "application/health+json"
    told = served.client().get("/health").json()
    assert told["checks"]["engine"][0]["status"] == "fail" and told["checks"]["engine"][0]["output"]
    problem(served.client("deaf", Scope.ACT).get("/health"), 403, "denied")


def test_reads_go_on_while_the_state_folder_changes_under_them(served) -> None:
    client = served.client()
    for number in range(5):
        served.folder.do("signal.send", message=f"number {number}", to="*")
        until(lambda number=number: client.get("/v1/signals").json()["total"] == number + 1)


async def test_what_many_ask_for_at_once_is_made_once(unserved, monkeypatch) -> None:
    """At the turn of each second no answer holds any more, as ages are in them."""
    headers = {"authorization": f"Bearer {unserved.token()}"}
    clock = HandClock(unserved.now)
    desk = FollowingDesk(unserved.folder.root, clock=clock)
    desk.follow()
    made: list[float] = []
    status = desk.status
    monkeypatch.setattr(desk, "status", lambda: made.append(clock.now()) or status())
    api = HttpApi(desk, Counter(desk), Door(TokenBook(desk.layout), ()), lambda text: None)
    transport = httpx2.ASGITransport(application(api))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        for second in range(3):
            answers = await asyncio.gather(*(client.get("/v1/status") for _ in range(20)))
            assert {answer.status_code for answer in answers} == {200}
            assert len(made) == second + 1
            clock.wall += 1.0
    desk.close()
