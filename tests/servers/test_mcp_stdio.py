"""`lumen-tui mcp` as a process: both generations of the protocol, tasks with an approval, and bad clients."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lumen_folder import StateFolder
from lumen_until import until

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, call_hash
from lumen_tui.servers.access import TOKEN
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store import approvals

TASKS = "io.modelcontextprotocol/tasks"
META = "io.modelcontextprotocol/"
LEGACY = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "Zed", "version": "1"}}


def meta(**capabilities: object) -> dict[str, object]:
    """What a client of the stateless protocol says on each request."""
    return {
        f"{META}protocolVersion": "2026-07-28",
        f"{META}clientCapabilities": capabilities,
        f"{META}clientInfo": {"name": "Zed", "version": "1"},
    }


class Wire:
    """A server as a process, and its client by hand."""

    def __init__(self, root: Path, *words: str, **environ: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "LUMEN_STATE": str(root), "USER": "ana", **environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lumen_tui", "mcp", *words],
            env={**env, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.notifications: list[dict[str, object]] = []
        self._number = 0

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> dict:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the server has closed its end"
        message: dict = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, **params: object) -> dict:
        """Send a request and return its answer, whole; notifications before it are kept."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(json.dumps(message).encode() + b"\n")
        while (answer := self.receive()).get("id") != self._number:
            self.notifications.append(answer)
        return answer

    def modern(self, method: str, *, capabilities: dict | None = None, **params: object) -> dict:
        """Return the result of a request of the stateless protocol."""
        answer = self.ask(method, **params, _meta=meta(**(capabilities or {})))
        assert "result" in answer, answer
        return answer["result"]

    def begin(self) -> dict:
        answer = self.ask("initialize", **LEGACY)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return answer["result"]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                assert pipe
                pipe.close()


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    made = StateFolder(tmp_path / "state", SystemClock())
    made.layout.create()
    return made


@pytest.fixture
def start(folder: StateFolder) -> Iterator[Callable[..., Wire]]:
    started: list[Wire] = []

    def begin(*words: str, **environ: str) -> Wire:
        started.append(Wire(folder.root, *words, **environ))
        return started[-1]

    yield begin
    for wire in started:
        wire.close()


def asked(folder: StateFolder, task_id: str, command: str = "make deploy") -> Approval:
    """Put a call of a task on file, as its worker does."""
    digest, now = call_hash("shell", {"command": command}), folder.now
    request = Approval(
        id=approvals.id_for(task_id, digest, 0),
        task_id=task_id,
        tool="shell",
        hash=digest,
        asked_at=times.iso(now),
        expires_at=times.iso(now + 3600),
        arguments={"command": command},
        role="builder",
    )
    return approvals.ask(folder.layout, request)


def test_the_handshake_and_the_stateless_protocol_are_both_spoken_on_one_pipe(start) -> None:
    wire = start()
    found = wire.modern("server/discover")
    assert found["resultType"] == "complete" and "2026-07-28" in found["supportedVersions"]
    assert found["capabilities"]["extensions"] == {TASKS: {}}
    begun = wire.begin()
    assert begun["protocolVersion"] == "2025-11-25" and "resultType" not in begun
    assert wire.ask("ping")["result"] == {}
    old, new = wire.ask("tools/list")["result"], wire.modern("tools/list")
    assert [tool["name"] for tool in old["tools"]] == [tool["name"] for tool in new["tools"]]
    assert {"ttlMs", "cacheScope", "resultType"} <= new.keys() and not {"ttlMs", "resultType"} & old.keys()


@pytest.mark.parametrize("version", ["2025-06-18", "2024-11-05", "1999-01-01"])
def test_an_older_version_is_spoken_and_an_unknown_one_gets_the_newest_handshake(start, version: str) -> None:
    answer = start().ask("initialize", **{**LEGACY, "protocolVersion": version})["result"]
    assert answer["protocolVersion"] == ("2025-11-25" if version == "1999-01-01" else version)


def test_what_is_missing_or_wrong_in_a_request_is_named(start) -> None:
    wire = start()
    assert wire.ask("tools/list")["error"]["code"] == -32602
    assert wire.ask("tools/list", _meta={f"{META}protocolVersion": "2026-07-28"})["error"]["code"] == -32602
    future = wire.ask("tools/list", _meta={**meta(), f"{META}protocolVersion": "2030-01-01"})["error"]
    assert future["code"] == -32022 and "2026-07-28" in future["data"]["supported"]
    for method, params, code in (
        ("nothing", {}, -32601),
        ("tools/call", {"name": "kill"}, -32602),
        ("tools/call", {"name": 1}, -32602),
        ("tools/call", {"name": "status", "arguments": []}, -32602),
        ("resources/read", {"uri": "lumen://tasks/../../etc/passwd"}, -32602),
        ("resources/read", {"uri": "file:///etc/passwd"}, -32602),
        ("prompts/get", {"name": "briefing"}, -32602),
        ("tools/list", {"cursor": "-1"}, -32602),
        ("tasks/get", {"taskId": "tsk-none"}, -32021),
        ("resources/subscribe", {"uri": "lumen://status"}, -32601),
    ):
        assert wire.ask(method, **params, _meta=meta())["error"]["code"] == code, method


def test_tools_resources_prompts_and_completions_of_a_real_folder(start, folder: StateFolder) -> None:
    unit = folder.do("wu.new", title="Mend the pump").target
    wire = start()
    called = wire.modern("tools/call", name="send_signal", arguments={"message": "hello", "wu_id": unit})
    assert not called["isError"] and called["structuredContent"]["target"].startswith("sig-")
    refused = wire.modern("tools/call", name="send_signal", arguments={"message": "x", "wu_id": "WU-zero"})
    assert refused["isError"]
    (signal_line,) = folder.layout.signals.read_text().splitlines()
    assert json.loads(signal_line)["sender"] == "mcp:zed" and "order" not in json.loads(signal_line)
    listed = [entry["uri"] for entry in wire.modern("resources/list")["resources"]]
    assert "lumen://wake-state" in listed
    for uri in ("lumen://capsule", "lumen://status", f"lumen://units/{unit}"):
        (content,) = wire.modern("resources/read", uri=uri)["contents"]
        assert content["uri"] == uri and content["text"]
    got = wire.modern("prompts/get", name="work-unit", arguments={"wu_id": unit})
    assert "Mend the pump" in got["messages"][0]["content"]["text"]
    ref = {"type": "ref/prompt", "name": "work-unit"}
    completed = wire.modern("completion/complete", ref=ref, argument={"name": "wu_id", "value": "wu"})
    assert completed["completion"]["values"] == [unit]


def test_a_task_asks_on_the_wire_and_its_call_is_answered_once(start, folder: StateFolder) -> None:
    every = {"extensions": {TASKS: {}}, "elicitation": {}}
    wire = start("--scope", "read", "--scope", "act")
    handle = wire.modern("tools/call", capabilities=every, name="run_task", arguments={"objective": "Deploy it"})
    assert (handle["resultType"], handle["status"]) == ("task", "working")
    task_id = handle["taskId"]
    request = asked(folder, task_id)
    held = wire.modern("tasks/get", capabilities=every, taskId=task_id)
    assert held["status"] == "working" and "waits for a person" in held["statusMessage"], "it lacks the scope approve"
    key = f"{request.id}:{request.hash}"
    answer = {key: {"action": "accept", "content": {"allow": True}}}
    wire.modern("tasks/update", capabilities=every, taskId=task_id, inputResponses=answer)
    assert approvals.decision(folder.layout, request.id) is None
    assert wire.ask("tasks/get", taskId=task_id, _meta=meta())["error"]["code"] == -32021
    assert wire.modern("tasks/cancel", capabilities=every, taskId=task_id)["resultType"] == "complete"


def test_with_the_scope_a_form_is_shown_and_bound_to_the_call(connected, asked) -> None:
    from lumen_tui.model.access import Principal, Scope
    from lumen_tui.servers.mcp import tasks
    from lumen_tui.servers.mcp.wire import Exchange

    request = asked("make deploy\n\x1b[2J")
    who = Principal("zed", "mcp", frozenset(Scope))
    client = {"version": "2026-07-28", "capabilities": {"extensions": {TASKS: {}}, "elicitation": {}}}

    def exchange(**params: object) -> Exchange:
        return Exchange(1, {"taskId": request.task_id, **params}, who, client, lambda method, said: None)

    shown = tasks.get(connected.counter, exchange())
    (key,) = shown["inputRequests"]
    assert (shown["status"], key) == ("input_required", f"{request.id}:{request.hash}")
    message = shown["inputRequests"][key]["params"]["message"]
    assert "make deploy" in message and "\x1b" not in message
    accept = {"action": "accept", "content": {"allow": True}}
    for wrong in (f"{request.id}:{'0' * 64}", "apr-none:1", ""):
        tasks.update(connected.counter, exchange(inputResponses={wrong: accept}))
    tasks.update(connected.counter, exchange(inputResponses={key: {"action": "decline"}}))
    assert approvals.decision(connected.layout, request.id) is None
    tasks.update(connected.counter, exchange(inputResponses={key: accept}))
    decided = approvals.decision(connected.layout, request.id)
    assert decided and (decided.allowed, decided.by) == (True, "mcp:zed")
    refuse = {"action": "accept", "content": {"allow": False}}
    tasks.update(connected.counter, exchange(inputResponses={key: refuse}))
    assert approvals.decision(connected.layout, request.id) == decided
    assert tasks.get(connected.counter, exchange())["status"] == "working"


def test_a_subscription_is_acknowledged_first_and_tells_of_changes(start, folder: StateFolder) -> None:
    wire = start()
    asked_for = {"notifications": {"resourceSubscriptions": ["lumen://wake-state"]}, "_meta": meta()}
    wire.send(json.dumps({"jsonrpc": "2.0", "id": 77, "method": "subscriptions/listen", "params": asked_for}).encode())
    wire.send(b"\n")
    first = wire.receive()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"] == {f"{META}subscriptionId": 77}
    folder.layout.wake_state.write_text("Woken.")
    told = wire.receive()
    assert told["method"] == "notifications/resources/updated" and told["params"]["uri"] == "lumen://wake-state"
    assert wire.process.stdin
    wire.process.stdin.close()
    over = wire.receive()
    assert over["id"] == 77 and over["result"]["resultType"] == "complete"


def test_rubbish_floods_and_huge_lines_are_answered_and_the_next_request_too(start) -> None:
    wire = start()
    for line, code in (
        (b"{bad", -32700),
        (b"\xff\xfe{}", -32700),
        (b"[" * 100_000, -32700),
        (b"[1]", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600),
    ):
        wire.send(line + b"\n")
        assert wire.receive()["error"]["code"] == code, line[:40]
    wire.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}\n\n   \n')
    wire.send(b'{"jsonrpc":"2.0","id":5,"result":{}}\n')
    piece = b"x" * (1 << 20)
    for _ in range(100):
        wire.send(piece)
    wire.send(b"\n")
    assert wire.receive()["error"]["code"] == -32600
    assert wire.begin()["protocolVersion"] == "2025-11-25"
    with open(f"/proc/{wire.process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak < 200_000, f"{peak} kB for a line of 100 MB"


def test_a_client_that_breaks_off_ends_the_server_and_what_it_wrote_is_whole(start, folder: StateFolder) -> None:
    wire = start()
    wire.modern("tools/call", name="remember", arguments={"text": "kept"})
    wire.send(b'{"jsonrpc":"2.0","id":1,"meth')
    assert wire.process.stdin
    wire.process.stdin.close()
    until(lambda: wire.process.poll() is not None)
    assert wire.process.returncode == 0
    other = start()
    other.modern("tools/call", name="remember", arguments={"text": "kept as well"})
    other.process.send_signal(signal.SIGKILL)
    other.process.wait()
    assert len(folder.layout.archival.read_text().splitlines()) == 2


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
def test_scopes_of_the_command_line_hold_and_no_secret_reaches_the_log(start) -> None:
    reader = start("--scope", "read")
    names = [tool["name"] for tool in reader.modern("tools/list")["tools"]]
    assert "status" in names and not {"create_task", "run_task", "answer_approval"} & set(names)
    assert reader.modern("tools/call", name="send_signal", arguments={"message": "x"})["isError"]
    secret = "lumen-access-SECRETSECRETSECRET"
    refused = start("--scope", "read", **{TOKEN: secret})
    out, err = refused.process.communicate(timeout=60)
    assert refused.process.returncode == 2 and out == b"" and secret.encode() not in err
    below = start("--scope", "approve", CLAUDECODE="1")
    out, err = below.process.communicate(timeout=60)
    assert below.process.returncode == 2 and (b"needs a token" in err or b"may not answer" in err)


def test_the_first_answer_loads_neither_the_catalogue_nor_a_snapshot(folder: StateFolder) -> None:
    code = (
        "import sys, os; from lumen_tui.__main__ import run_plain; run_plain(['mcp', '--state', sys.argv[1]]);"
        "heavy = ('lumen_tui.servers.catalogue', 'lumen_tui.queries', 'argparse', 'asyncio', 'json', 'mcp');"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": LEGACY})
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder.root)], input=line + "\n", capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["result"]["protocolVersion"] == "2025-11-25"
    assert done.stderr.strip().endswith("[]")
