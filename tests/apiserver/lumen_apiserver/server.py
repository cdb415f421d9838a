"""The server itself: one thread for each connection, every request recorded."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any

from lumen_apiserver import binding
from lumen_apiserver.answers import Answer
from lumen_apiserver.caching import Cache
from lumen_apiserver.handler import Handler
from lumen_apiserver.request import Request, tokens
from lumen_apiserver.script import Made, Rule, Script, load


class ApiServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 from the moment it is made; `close` ends it and every answer under way."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script = Script()
        self.cache = Cache()
        self.requests: list[Request] = []
        self.check = True
        self.window = 0  # the model's context window in tokens; 0: without end
        self.binds = False  # whether thinking is wanted back, and only where nothing before it has changed
        self.hanging_up = threading.Event()
        self.on_request: Callable[[Request], None] = lambda request: None
        self.on_bill: Callable[[Request, dict[str, Any]], None] = lambda request, usage: None
        self._gates: list[threading.Event] = []
        self._lock = threading.Lock()
        self._calls = 0
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        """For ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def openai_url(self) -> str:
        """For an OpenAI client's base_url."""
        return f"{self.url}/v1"

    @property
    def anthropic_env(self) -> dict[str, str]:
        """What a program needs to talk to this server."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-ant-local-0123456789abcdef"}

    @property
    def openai_env(self) -> dict[str, str]:
        """The same for one whose `models.provider` is openai."""
        return {"OPENAI_BASE_URL": self.openai_url, "OPENAI_API_KEY": "sk-local-0123456789abcdef"}

    @property
    def asked(self) -> list[Request]:
        """The requests for an answer of a model, without counts and probes."""
        return [request for request in self.requests if request.kind in ("messages", "chat")]

    def say(self, *answers: Made, again: bool = True) -> None:
        """The answers of the next requests, in order; the last one is given again and again unless `again` is off."""
        self.script.main.answers, self.script.main.again = list(answers), again

    def when(self, match: Callable[[Request], bool], *answers: Made, again: bool = False) -> None:
        """Answers for the requests that match; earlier rules are asked first, all rules before `say`."""
        self.script.rules.append(Rule(match, list(answers), again))

    def otherwise(self, answer: Made) -> None:
        """The answer where no rule and no list has one."""
        self.script.rest = answer

    def load(self, data: Any) -> None:
        """A script as in a file, see script.load."""
        load(self.script, data)

    def release(self) -> None:
        """Let every held answer go."""
        with self._lock:
            gates, self._gates = self._gates, []
        for gate in gates:
            gate.set()

    def close(self) -> None:
        self.hanging_up.set()
        self.release()
        self.shutdown()
        self.server_close()

    # ---- for the handler

    def record(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
        self.on_request(request)

    def answer(self, request: Request) -> tuple[Answer, int]:
        """The scripted answer with ids on its calls, and its number."""
        answer = self.script.choose(request)
        with self._lock:
            self._calls += 1
            number = self._calls
            if answer.gate is not None:
                self._gates.append(answer.gate)
        content = tuple(_with_id(block, number, place) for place, block in enumerate(answer.content))
        if self.binds:
            content = binding.signed(content, request)
        return dataclasses.replace(answer, content=content), number

    def usage(self, request: Request, answer: Answer) -> dict[str, Any]:
        """What the answer cost, as the API would bill it."""
        with self._lock:
            billed = self.cache.bill(request)
        usage = billed | {"output_tokens": tokens(list(answer.content))} | answer.usage
        self.on_bill(request, usage)
        return usage

    def wait(self, seconds: float) -> None:
        """A delay that ends with the server."""
        if seconds > 0:
            self.hanging_up.wait(seconds)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is no error here."""


def _with_id(block: dict[str, Any], number: int, place: int) -> dict[str, Any]:
    if block.get("type") == "tool_use" and not block.get("id"):
        return block | {"id": f"toolu_{number:04d}_{place}"}
    return block
