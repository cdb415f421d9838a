"""Ended tasks at a real collector: what it gets, and that nothing is lost or has other ids after a kill."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from lumen_kills import killed_before, state_calls
from lumen_program import lumen, start_lumen
from lumen_until import until
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.engine.traces import TraceCursor, TraceExporter, pause
from lumen_tui.model.loop import TASK_ENDED, EngineEvent
from lumen_tui.model.outward_config import TracesConfig
from lumen_tui.model.spendbook import HOLD, SENT, SETTLE, LedgerEntry
from lumen_tui.model.traces import provider, spans_of, trace_id
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout


class Collector(ThreadingHTTPServer):
    """A collector of OTLP/HTTP that keeps what it takes. `answers` come first, each once: a status and a body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, bytes]] = []
        self.before_answer = threading.Event()
        self.before_answer.set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"

    @property
    def spans(self) -> list[dict[str, Any]]:
        return [
            span
            for request in self.requests
            for resource in request["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]

    @property
    def ids(self) -> Counter[str]:
        return Counter(span["spanId"] for span in self.spans)


class Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = self.server.answers.pop(0) if self.server.answers else (200, b"{}")
        if status == 200 and b"rejectedSpans" not in answer:
            self.server.requests.append(body)
            self.server.headers.append(dict(self.headers))
        self.server.before_answer.wait(60)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.before_answer.set()
    collector.shutdown()
    collector.server_close()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A state folder in which a real engine saw one task to its end, with two calls of a model in the ledger."""
    root, folder = tmp_path / "state", tmp_path / "data"
    folder.mkdir()
    (folder / "secret-name.bin").write_bytes(bytes(5000))
    see_through(root, f"What are the 5 largest files in {folder}?")
    layout = Layout(root)
    task = the_task(layout).name
    ledger = Journal(layout.spend)
    for number in (1, 2):
        at = f"2026-03-01T07:00:0{number}.000Z"
        ledger.append(LedgerEntry(f"spd-{number}", HOLD, at, task=task, model="m-1", tokens=9000, unsent=True))
        ledger.append(LedgerEntry(f"spd-{number}", SENT, at.replace(".000", ".250")))
        ledger.append(LedgerEntry(f"spd-{number}", SETTLE, at.replace(".000", ".900"), usd=0.5, prompt=70, read=7))
    ledger.append(LedgerEntry("spd-3", HOLD, "2026-03-01T07:00:05Z", task="tsk-other", model="m-1"))
    return layout


def the_task(layout: Layout) -> Path:
    """The folder of the only task, live or archived."""
    (folder,) = [spec.parent for spec in layout.tasks.rglob("tsk-*/spec.json")]
    return folder


def see_through(root: Path, objective: str) -> None:
    """Have a task done, and its end recorded, which an engine does with the next beat."""
    for words in (["run", objective], ["--engine-only", "--once"]):
        done = run(root, *words)
        assert done.returncode == 0, done.stderr


def run(root: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return lumen([*words, "--state", str(root)], env={**os.environ, **variables}, cwd=root.parent)


def aimed(layout: Layout, collector: Collector, **headers: str) -> TraceExporter:
    settings = f'[traces]\nendpoint = "{collector.endpoint}"\nseconds = 30.0\n'
    layout.config.write_text(settings, encoding="utf-8")
    return TraceExporter(layout, TracesConfig(endpoint=collector.endpoint, headers=headers, seconds=30.0))


def attributes(span: dict[str, Any]) -> dict[str, object]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_a_task_is_a_trace_of_its_calls_by_the_conventions(layout: Layout, collector: Collector) -> None:
    aimed(layout, collector)
    done = run(layout.root, "traces", "export")
    assert (done.returncode, done.stderr) == (0, "")
    by_name = {span["name"]: span for span in collector.spans}
    assert list(by_name) == [
        *("invoke_agent researcher", "chat m-1", "execute_tool disk_usage", "execute_tool write_result"),
    ]
    root = by_name["invoke_agent researcher"]
    assert {span["traceId"] for span in collector.spans} == {trace_id(attributes(root)["lumen.task.id"])}
    assert {span.get("parentSpanId") for span in collector.spans} == {None, root["spanId"]}
    assert max(collector.ids.values()) == 1
    assert all(len(span["traceId"]) == 32 and len(span["spanId"]) == 16 for span in collector.spans)
    assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in collector.spans)
    chat = attributes(by_name["chat m-1"])
    assert chat["gen_ai.operation.name"] == "chat"
    assert (chat["gen_ai.request.model"], chat["gen_ai.provider.name"]) == ("m-1", "offline")
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.cache_read.input_tokens"]) == ("70", "7")
    span = by_name["chat m-1"]
    assert int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) == 650_000_000  # from its sending on
    assert attributes(by_name["execute_tool disk_usage"])["gen_ai.tool.name"] == "disk_usage"


def test_every_request_is_one_by_the_protobuf_schema(layout: Layout, collector: Collector) -> None:
    """The official schema; in JSON it has ids in hex, which protobuf's own JSON takes in base64."""
    exporter = aimed(layout, collector)
    exporter.send(exporter.batch())
    (request,) = collector.requests
    sent = json.dumps(request)
    ids = set(collector.ids) | {span["traceId"] for span in collector.spans}
    for name in ids:
        sent = sent.replace(f'"{name}"', f'"{base64.b64encode(bytes.fromhex(name)).decode()}"')
    parsed = json_format.Parse(sent, ExportTraceServiceRequest(), ignore_unknown_fields=False)
    (scope,) = parsed.resource_spans[0].scope_spans
    assert [span.name for span in scope.spans] == [span["name"] for span in collector.spans]
    assert {(len(span.trace_id), len(span.span_id)) for span in scope.spans} == {(16, 8)}
    assert {span.parent_span_id for span in scope.spans} == {b"", scope.spans[0].span_id}
    kinds = {span.name.split()[0]: Span.SpanKind.Name(span.kind) for span in scope.spans}
    assert kinds == {
        "invoke_agent": "SPAN_KIND_INTERNAL", "chat": "SPAN_KIND_CLIENT", "execute_tool": "SPAN_KIND_INTERNAL"
    }  # fmt: skip


def test_providers_have_the_names_of_the_conventions() -> None:
    brains = ("claude: sonnet", "anthropic claude-opus-5-5", "openai gpt", "offline: largest-files", "")
    assert [provider(brain) for brain in brains] == ["anthropic", "anthropic", "openai", "offline", "unknown"]


def test_killed_anywhere_nothing_is_lost_and_what_comes_twice_is_the_same(
    layout: Layout, collector: Collector, sampled: Callable[[list[int], int], list[int]]
) -> None:
    exporter = aimed(layout, collector)
    calls = state_calls(layout.root, lambda: exporter.send(exporter.batch()))
    whole = {span["spanId"]: span for span in collector.spans}
    for call in sampled([*range(len(calls))], 12):
        for leaving in (layout.traces, *layout.root.glob(".traces.json.*")):  # the harness repeats random names
            leaving.unlink(missing_ok=True)
        collector.requests.clear()
        assert killed_before(call, layout.root, lambda: exporter.send(exporter.batch()))
        while (batch := exporter.batch()).spans:
            exporter.send(batch)
        assert {span["spanId"]: span for span in collector.spans} == whole
        assert all(span == whole[span["spanId"]] for span in collector.spans)
        assert exporter.cursor().sent == len(whole)


def test_no_word_of_a_task_leaves_the_machine(layout: Layout, collector: Collector) -> None:
    aimed(layout, collector)
    assert run(layout.root, "traces", "export").returncode == 0
    sent = json.dumps(collector.requests)
    assert "largest" not in sent.replace("offline", "")
    assert "secret-name" not in sent


def test_what_was_taken_is_not_sent_again(layout: Layout, collector: Collector) -> None:
    aimed(layout, collector)
    assert run(layout.root, "traces", "export").returncode == 0
    assert run(layout.root, "traces", "export").returncode == 3
    assert len(collector.requests) == 1
    see_through(layout.root, f"What are the 5 largest files in {layout.tasks}?")
    assert run(layout.root, "traces", "export").returncode == 0
    assert max(collector.ids.values()) == 1
    assert "up to event" in run(layout.root, "traces", "status").stdout


def test_killed_between_answer_and_cursor_the_same_ids_come_again(layout: Layout, collector: Collector) -> None:
    aimed(layout, collector)
    collector.before_answer.clear()
    exporter = start_lumen(
        ["traces", "export", "--state", str(layout.root)], env=dict(os.environ), cwd=layout.root.parent
    )
    until(lambda: collector.requests)
    exporter.kill()
    exporter.wait()
    collector.before_answer.set()
    assert not layout.traces.exists()
    assert run(layout.root, "traces", "export").returncode == 0
    first, second = collector.requests
    assert first == second
    assert set(collector.ids.values()) == {2}


@pytest.mark.parametrize(
    "answer", [(503, b""), (429, b""), (400, b""), (200, b'{"partialSuccess":{"rejectedSpans":"2"}}')]
)
def test_what_is_refused_stays_and_is_sent_later(
    layout: Layout, collector: Collector, answer: tuple[int, bytes]
) -> None:
    exporter = aimed(layout, collector)
    collector.answers = [answer]
    with pytest.raises(NotSent):
        exporter.send(exporter.batch())
    assert exporter.cursor() == TraceCursor()
    exporter.send(exporter.batch())
    assert len(collector.spans) == 5
    assert exporter.cursor().sent == 5


def test_it_follows_and_ends_when_it_is_asked_to(layout: Layout, collector: Collector) -> None:
    aimed(layout, collector)
    collector.answers = [(503, b"")]
    words = ["traces", "export", "--follow", "--state", str(layout.root)]
    exporter = start_lumen(words, env=dict(os.environ), cwd=layout.root.parent)
    try:
        until(lambda: collector.requests)
        assert run(layout.root, "traces", "export").returncode == 2  # one at a time
        see_through(layout.root, f"What are the 5 largest files in {layout.tasks}?")
        until(lambda: len(collector.requests) == 2)
    finally:
        exporter.send_signal(signal.SIGTERM)
    assert exporter.wait() == 0
    assert max(collector.ids.values()) == 1


def test_the_waits_between_tries_grow_to_five_minutes() -> None:
    waits = [pause(tries) for tries in range(60)]
    assert waits[0] < 1.3
    assert max(waits) <= 375
    assert all(earlier < later * 1.7 for earlier, later in pairwise(waits))


def test_headers_are_references_to_secrets(
    layout: Layout, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = aimed(layout, collector, authorization="env:LUMEN_TEST_OTLP")
    monkeypatch.delenv("LUMEN_TEST_OTLP", raising=False)
    with pytest.raises(NotSent, match="LUMEN_TEST_OTLP is not set"):
        exporter.send(exporter.batch())
    monkeypatch.setenv("LUMEN_TEST_OTLP", "Bearer abc123")
    exporter.send(exporter.batch())
    assert collector.headers[0]["authorization"] == "Bearer abc123"


def test_a_collector_that_cannot_prove_its_name_gets_nothing(layout: Layout, tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    try:
        subprocess.run([*words, "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("needs openssl")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    got: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        try:
            with context.wrap_socket(listener.accept()[0], server_side=True) as peer:
                got.append(peer.recv(1000))
        except OSError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        endpoint = f"https://127.0.0.1:{listener.getsockname()[1]}/v1/traces"
        exporter = TraceExporter(layout, TracesConfig(endpoint=endpoint, seconds=20.0))
        with pytest.raises(NotSent, match=r"(?i)certificate"):
            exporter.send(exporter.batch())
        thread.join(30)
    assert [data for data in got if data] == []


@pytest.mark.parametrize("endpoint", ["http://collector.example/v1/traces", "file:///etc/passwd", "https://u:p@h/x"])
def test_an_address_over_which_secrets_would_leak_is_refused(layout: Layout, endpoint: str) -> None:
    exporter = TraceExporter(layout, TracesConfig(endpoint=endpoint))
    with pytest.raises(NotSent):
        exporter.send(exporter.batch())


def test_many_tasks_go_in_bounded_requests_and_each_once(layout: Layout, collector: Collector) -> None:
    exporter = aimed(layout, collector)
    task = the_task(layout)
    journal, seq = Journal(layout.events), 1000
    for number in range(250):
        copy = layout.tasks / f"tsk-many{number}"
        copy.mkdir(mode=0o700)
        for name in ("spec.json", "exit.json", "events.jsonl"):
            data = (task / name).read_bytes().replace(task.name.encode(), copy.name.encode())
            (copy / name).write_bytes(data)
        journal.append(EngineEvent(seq + number, "2026-03-01T07:00:00Z", TASK_ENDED, task_id=copy.name))
    while (batch := exporter.batch()).spans:
        exporter.send(batch)
    assert len(collector.requests) == 3
    assert set(collector.ids.values()) == {1}
    assert len(collector.spans) == 5 + 250 * 3
    assert exporter.cursor() == TraceCursor(1249, "2026-03-01T07:00:00Z", 755, 0)


def test_a_cursor_that_cannot_be_read_sends_nothing(layout: Layout, collector: Collector) -> None:
    exporter = aimed(layout, collector)
    layout.traces.write_bytes(b"\xff{")
    with pytest.raises(StoreError, match="remove it"):
        exporter.batch()
    assert run(layout.root, "traces", "export").returncode == 1
    assert collector.requests == []


def test_a_task_that_another_ordered_is_in_the_trace_of_that_one() -> None:
    from lumen_tui.model.tasks import Exit, Spec
    from lumen_tui.model.traces import EndedTask

    ended = Exit("tsk-b", "failed", "2026-03-01T07:00:00Z")
    child = spans_of(EndedTask(Spec(id="tsk-b", objective="o", parent="tsk-a"), ended, top="tsk-a"))
    parent = spans_of(EndedTask(Spec(id="tsk-a", objective="o"), ended, top="tsk-a"))
    assert child[0]["traceId"] == parent[0]["traceId"]
    assert child[0]["parentSpanId"] == parent[0]["spanId"]
    assert child[0]["status"] == {"code": 2, "message": "failed"}
