"""The model of a demo: a script behind the Anthropic Messages API on a port of this machine.

Workers of a demo are real: they ask this server over HTTP as they would ask a vendor, and what it tells them to call is
really carried out. It thinks nothing: each task of the demo has its scene, and other tasks are told that this is a
script.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

from lumen_tui.providers.base import JsonObject

SURVEY = "Survey /usr and the logs of the shop: what changed since yesterday's list?"
PUSH = "Push the branch retry-budget, so that CI runs on it"
WATCH = "Wait until the deployment of 2.4 shows up in the log, then report its duration"
ASK = "Prepare the move of the session store: choose where sessions live"
_PLACES = ("/usr/lib", "/usr/share", "/usr/bin", "/usr/sbin", "/usr/include", "/etc")
_REMARKS = (
    "No entry here is younger than yesterday's list, so I go on with the next part.",
    "Two entries are new since yesterday, both owned by packages; I note them for the result.",
    "The sizes agree with yesterday's list to the byte. I take the next folder.",
    "One link points elsewhere than before. I look whether a package moved it.",
)
_PIECE = 12  # characters of one part of a streamed text
_BETWEEN = 0.08  # seconds between two parts
_THINKING = 2.5  # seconds until an answer begins
_WAIT = 600.0  # seconds of one wait, the most that a command may take
SURVEYED = 400  # steps of the survey
_NO_SCENE = (
    "This is a demo: the model behind it is a script that knows a few scenes. With ANTHROPIC_API_KEY set, and "
    "`make run`, a model answers here."
)
_QUESTION = {
    "question": "Where do sessions live after the move? Postgres keeps them over a restart and costs 4 ms a request; "
    "Redis costs nothing and loses them with the machine.",
    "default": "Postgres",
    "options": ["Postgres", "Redis", "Leave them in memory for now"],
    "wait_minutes": 600,
}
_LETTER = """Where things are
- Release 2.4 waits for the push of retry-budget, which needs your approval.
- The survey of /usr runs; what it finds arrives as discoveries.

Constraints
- Nothing is deployed without the operator's word.
"""


class ScriptedAnswer(Struct, frozen=True):
    """One answer of the model: what it says, and the call that it makes; without a call it is done."""

    say: str
    tool: str = ""
    arguments: JsonObject = {}

    @property
    def content(self) -> list[JsonObject]:
        """The blocks of the answer, as the API names them."""
        blocks: list[JsonObject] = [{"type": "text", "text": self.say}]
        if self.tool:
            blocks.append(
                {"type": "tool_use", "id": f"toolu_{time.monotonic_ns():x}", "name": self.tool, "input": self.arguments}
            )
        return blocks


def answer(request: JsonObject, project: str) -> ScriptedAnswer:
    """Return the answer to a request: the scene is found by the task's objective, the place in it by the calls made."""
    messages = request.get("messages") or []
    opening = _text(messages[0].get("content")) if messages else ""
    calls = sum(block.get("type") == "tool_use" for message in messages for block in _blocks(message))
    names = {tool.get("name") for tool in request.get("tools") or []}
    if "deposit" in names:
        return _loop(calls)
    scene = next((scene for objective, scene in _SCENES.items() if objective in opening), None)
    if scene is None or "write_result" not in names:
        return ScriptedAnswer(_NO_SCENE)
    return scene(calls, _text(messages[-1].get("content")), project)


def _blocks(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [block.get("text") or _text(block.get("content")) for block in content] if isinstance(content, list) else []
    return "\n".join(part for part in parts if part)


def _survey(calls: int, _answer: str, _project: str) -> ScriptedAnswer:
    place = _PLACES[calls % len(_PLACES)]
    remark = _REMARKS[calls // 2 % len(_REMARKS)]
    if calls >= SURVEYED:
        return _result("Nothing changed that matters: the new entries belong to packages.")
    if calls % 17 == 16:
        title = f"{place} holds files that no package owns (part {calls // 17 + 1} of the survey)"
        return ScriptedAnswer(
            "This is no part of my task, so I record it.", "discover", {"title": title, "priority": "P3"}
        )
    if calls % 3 == 2:
        return ScriptedAnswer(remark, "disk_usage", {"path": place})
    command = f"ls -la --time-style=long-iso {place} | sort -k6 | tail -{12 + calls % 9}"
    return ScriptedAnswer(f"Part {calls + 1}: {place}. {remark}", "shell", {"command": command})


def _push(calls: int, answer: str, project: str) -> ScriptedAnswer:
    push = {"command": "git push origin retry-budget --force-with-lease", "cwd": project}
    steps = (
        ScriptedAnswer("What does the branch change?", "grep", {"pattern": "BUDGET", "path": f"{project}/src"}),
        ScriptedAnswer("One budget for a task, as asked. I push the branch so that CI runs on it.", "shell", push),
    )
    return steps[calls] if calls < len(steps) else _result(f"What the push answered:\n\n```\n{answer[:600]}\n```")


def _watch(calls: int, answer: str, project: str) -> ScriptedAnswer:
    if calls and "deployed 2.4" in answer:
        return _result(f"The wait is over:\n\n```\n{answer[:600]}\n```")
    command = "tail -n 0 -F log/app.log | grep -m 1 'deployed 2.4'"
    arguments = {"command": command, "cwd": project, "timeout": _WAIT}
    return ScriptedAnswer("I wait for the line of the deployment.", "shell", arguments)


def _ask(calls: int, answer: str, project: str) -> ScriptedAnswer:
    if calls == 0:
        return ScriptedAnswer("First what is configured today.", "list_dir", {"path": f"{project}/src"})
    if calls == 1:
        return ScriptedAnswer("Both ways work, and going back is dear: you choose.", "ask_operator", _QUESTION)
    return _result(f"Sessions are going to live where you said: {answer[:200]}")


def _result(text: str) -> ScriptedAnswer:
    return ScriptedAnswer("That is all that was asked for.", "write_result", {"text": text})


def _loop(calls: int) -> ScriptedAnswer:
    """Return an answer to the main agent: it looks at its workers, and deposits."""
    if calls == 0:
        return ScriptedAnswer("Let me see what runs, what ended, and what waits for an answer.", "list_tasks", {})
    return ScriptedAnswer("Four workers are out. Nothing else is due, so I end this loop.", "deposit", {
        "wake_state": _LETTER, "decided": ["wait for the push before the release, as CI has to see it"],
        "next": ["read the result of the survey", "release 2.4 once CI is green"]})  # fmt: skip


_SCENES = {SURVEY: _survey, PUSH: _push, WATCH: _watch, ASK: _ask}


class ScriptedModel(ThreadingHTTPServer):
    """The server. It listens from the start on and answers once `start` was called."""

    daemon_threads = True

    def __init__(self, project: str) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.project = project
        self.numbers = itertools.count(1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a worker that was ended leaves a connection that is cut."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedModel

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = json.loads(raw or b"{}")
        if self.path.partition("?")[0].endswith("/count_tokens"):
            return self._send({"input_tokens": len(raw) // 4})
        time.sleep(_THINKING)
        reply = answer(request, self.server.project)
        message = _message(reply, request, len(raw) // 4, next(self.server.numbers))
        return self._stream(message) if request.get("stream") else self._send(message)

    def _send(self, body: JsonObject) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, message: JsonObject) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in _events(message):
            event = f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(_BETWEEN if name == "content_block_delta" else 0)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Write no log: standard error is the room's terminal."""


def _message(reply: ScriptedAnswer, request: JsonObject, prompt: int, number: int) -> JsonObject:
    content = reply.content
    usage = {"input_tokens": prompt, "output_tokens": len(json.dumps(content)) // 4}
    return {"id": f"msg_{number:06d}", "type": "message", "role": "assistant", "model": request.get("model", ""),
            "content": content, "stop_reason": "tool_use" if reply.tool else "end_turn", "stop_sequence": None,
            "usage": usage}  # fmt: skip


def _events(message: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    yield "message_start", {"message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        empty: JsonObject = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield "content_block_start", {"index": index, "content_block": {**block, **empty}}
        yield from (("content_block_delta", {"index": index, "delta": delta}) for delta in _deltas(block))
        yield "content_block_stop", {"index": index}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield "message_stop", {}


def _deltas(block: JsonObject) -> Iterator[JsonObject]:
    if block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        return
    text = block["text"]
    for start in range(0, len(text), _PIECE):
        yield {"type": "text_delta", "text": text[start : start + _PIECE]}
