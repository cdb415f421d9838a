"""The Anthropic provider against a local server that speaks the Messages API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.anthropic import Anthropic
from lumen_tui.providers.base import Job, Outcome, ProviderError, Said, Spent, ToolCall
from lumen_tui.providers.choose import choose_provider, model_id, provider_name
from lumen_tui.providers.prices import cost

ROLE = Role(name="researcher", purpose="p", tier="sonnet")
SPEC = Spec(id="tsk-a", objective="o")


class Reply(Struct):
    text: str
    ok: bool = True
    data: dict[str, Any] = {}


class Tool(Struct):
    name: str = "list_dir"
    description: str = "lists"
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {"path": {}}})


def message(content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop,
        "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 20},
    }  # fmt: skip


def text(words: str, stop: str = "end_turn") -> tuple[int, dict[str, Any]]:
    return 200, message([{"type": "text", "text": words}], stop)


def failure(status: int, words: str = "no") -> tuple[int, dict[str, Any]]:
    return status, {"type": "error", "error": {"type": "some_error", "message": words}}


class Server(HTTPServer):
    answers: ClassVar[list[tuple[int, dict[str, Any]]]] = []
    asked: ClassVar[list[dict[str, Any]]] = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = f"{self.headers.get('x-api-key')} {self.headers.get('authorization')}"  # which one depends on the SDK
        Server.asked.append({"path": self.path, "key": key, **body})
        status, answer = Server.answers.pop(0) if len(Server.answers) > 1 else Server.answers[0]
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("retry-after-ms", "5")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    Server.answers, Server.asked = [], []
    found = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=found.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()


def talk(server: Server, *answers: tuple[int, dict[str, Any]], reply: Reply | None = None) -> tuple[list[Any], Outcome]:
    Server.answers = list(answers)
    env = {"ANTHROPIC_API_KEY": "sk-ant-test-key", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}"}
    job = Job(system="be good", objective="list it", context="old", constraints=("Read only",), tools=(Tool(),))
    conversation = Anthropic("claude-haiku-4-5", env).converse(job)
    steps: list[Any] = []
    answer = None
    while True:
        try:
            step = conversation.send(answer)
        except StopIteration as end:
            return steps, end.value
        steps.append(step)
        answer = (reply or Reply("a\nb")) if isinstance(step, ToolCall) else None


def test_one_round_with_a_tool(server):
    use = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "tu_1", "name": "list_dir", "input": {"path": "/tmp"}},
    ]
    steps, outcome = talk(server, (200, message(use, "tool_use")), text("Two entries."))
    assert outcome == Outcome(ok=True, text="Two entries.")
    assert [type(step) for step in steps] == [Spent, Said, ToolCall, Spent]
    assert steps[2] == ToolCall("list_dir", {"path": "/tmp"})
    assert steps[0].usage.tokens == 120
    assert steps[0].usage.usd == pytest.approx(0.0002)
    first, second = Server.asked
    assert first["path"] == "/v1/messages"
    assert "sk-ant-test-key" in first["key"]
    assert first["system"] == "be good"
    assert first["tools"][0]["input_schema"]["type"] == "object"
    assert "<context>\nold\n</context>" in first["messages"][0]["content"]
    assert "- Read only" in first["messages"][0]["content"]
    assert second["messages"][1]["content"][1]["id"] == "tu_1"
    result = second["messages"][2]["content"][0]
    assert (result["tool_use_id"], result["content"], result["is_error"]) == ("tu_1", "a\nb", False)


@pytest.mark.parametrize(
    ("model", "tokens", "dollars"),
    [
        ("claude-haiku-5-5", (1_000, 0, 0, 1_000), 0.0006), ("claude-haiku-5-5", (200_000, 0, 0, 1_000), 0.1025),
        ("claude-opus-5-5", (0, 1_000_000, 0, 0), 5.0), ("claude-haiku-4-5-20251001", (1_000_000, 0, 0, 0), 1.0),
        ("some-new-model", (1_000_000, 0, 0, 1_000_000), 60.0),
    ],
)  # fmt: skip
def test_the_price_of_a_call(model, tokens, dollars):
    assert cost(model, *tokens).usd == pytest.approx(dollars)


def test_a_refused_call_is_marked_as_an_error(server):
    use = [{"type": "tool_use", "id": "tu_1", "name": "shell", "input": {}}]
    talk(server, (200, message(use, "tool_use")), text("ok"), reply=Reply("refused", ok=False))
    assert Server.asked[1]["messages"][2]["content"][0]["is_error"] is True


def test_a_rate_limit_is_waited_out(server):
    steps, outcome = talk(server, failure(429), text("fine"))
    assert outcome.text == "fine"
    assert len(Server.asked) == 2
    assert len(steps) == 1


@pytest.mark.parametrize(
    ("status", "words", "said"),
    [
        (401, "invalid x-api-key", "ANTHROPIC_API_KEY was refused"), (404, "model", "set its id under"),
        (400, "prompt is too long: 300000 tokens", "too long for the model"), (413, "x", "too long for the model"),
        (400, "bad", "refused (400): "), (429, "slow", "rate limit"), (529, "busy", "overloaded"),
        (500, "oops", "failed (500)"), (403, "not you", "may not"),
    ],
)  # fmt: skip
def test_errors_are_plain(server, status, words, said):
    with pytest.raises(ProviderError) as error:
        talk(server, failure(status, words))
    assert said in str(error.value)
    assert "sk-ant-test-key" not in str(error.value)


def test_an_answer_that_was_cut_goes_on(server):
    _, outcome = talk(server, text("part one", "max_tokens"), text("part two"))
    assert outcome.ok
    assert Server.asked[1]["messages"][-1]["role"] == "user"
    _, outcome = talk(server, text("again", "max_tokens"))
    assert not outcome.ok
    assert "length limit" in outcome.reason


def test_a_refusal_is_a_failure(server):
    _, outcome = talk(server, text("", "refusal"))
    assert not outcome.ok
    assert "declined" in outcome.reason


def test_no_server_and_no_key():
    env = {"ANTHROPIC_API_KEY": "k" * 20, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY is not set"):
        choose_provider(ModelsConfig(provider="anthropic"), ROLE, SPEC, {})
    provider = choose_provider(ModelsConfig(), ROLE, SPEC, env)
    assert provider.brain == "anthropic claude-sonnet-5-5"


def test_the_choice_of_provider_and_model():
    config = ModelsConfig(sonnet="my-sonnet")
    assert provider_name(config, {}) == "offline"
    assert provider_name(config, {"ANTHROPIC_API_KEY": "x"}) == "anthropic"
    assert provider_name(ModelsConfig(provider="offline"), {"ANTHROPIC_API_KEY": "x"}) == "offline"
    assert choose_provider(config, ROLE, SPEC, {}).brain == "offline"
    assert model_id(config, ROLE, SPEC) == "my-sonnet"
    assert model_id(config, ROLE, Spec(id="a", objective="o", model="opus")) == "claude-opus-5-5"
    assert model_id(config, ROLE, Spec(id="a", objective="o", model="some-id")) == "some-id"
    for name in ("openai", "claude", "nonsense"):
        with pytest.raises(ProviderError, match="not available: set provider"):
            choose_provider(ModelsConfig(provider=name), ROLE, SPEC, {})
