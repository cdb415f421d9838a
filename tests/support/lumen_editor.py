"""An editor: `lumen-tui acp` as a process, and its client by hand, which keeps every line that comes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder
from lumen_program import Child, start_lumen
from lumen_questions import asking_role
from lumen_until import until

from lumen_tui.model.tasks import Spec, Status
from lumen_tui.storage import process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.tasks import task_files

NO_SDK = "the official SDK of ACP (agent-client-protocol) is not installed"
REPO = Path(__file__).resolve().parents[2]
Message = dict[str, Any]


class Editor:
    """One server and its client. What comes is read by a thread, so that a test waits for a fact."""

    def __init__(self, root: Path, *words: str, **environ: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "LUMEN_STATE": str(root), "USER": "ana", **environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lumen_tui", "acp", *words],
            env={**env, "PYTHONPATH": str(REPO)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.messages: list[Message] = []
        self.methods: dict[object, str] = {}  # of our requests, by id
        self._number = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.messages.append(json.loads(line))

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, **message: object) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def start(self, method: str, **params: object) -> int:
        """Send a request and return its id."""
        self._number += 1
        self.methods[self._number] = method
        self.say(id=self._number, method=method, params=params)
        return self._number

    def wait(self, fact: Callable[[Message], object]) -> Message:
        """Return the first message that the fact holds for."""
        until(lambda: any(map(fact, list(self.messages))), lambda: self.messages[-5:])
        return next(message for message in self.messages if fact(message))

    def answer(self, request: int) -> Message:
        """Wait for the answer to a request and return it whole."""
        return self.wait(lambda message: message.get("id") == request and "method" not in message)

    def ask(self, method: str, **params: object) -> Message:
        return self.answer(self.start(method, **params))

    def begin(self, **capabilities: object) -> Message:
        """Shake hands and return the result."""
        info = {"name": "Zed", "version": "1"}
        answer = self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities, clientInfo=info)
        result: Message = answer["result"]
        return result

    def open(self, cwd: Path) -> str:
        """Begin a session and return its id."""
        return str(self.ask("session/new", cwd=str(cwd), mcpServers=[])["result"]["sessionId"])

    def prompt(self, session: str, text: str) -> int:
        return self.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def asked(self, method: str) -> Message:
        """Wait for a request of the server."""
        return self.wait(lambda message: message.get("method") == method)

    def updates(self, kind: str = "", since: int = 0) -> list[Message]:
        """Return the updates that have come, of one kind where it is named."""
        told = [
            message["params"]["update"]
            for message in self.messages[since:]
            if message.get("method") == "session/update"
        ]
        return [update for update in told if kind in ("", update["sessionUpdate"])]

    def words(self, since: int = 0) -> str:
        return "".join(update["content"]["text"] for update in self.updates("agent_message_chunk", since))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                assert pipe
                pipe.close()


CONFIG = '[heartbeat]\nsettle_seconds = 0.1\n[workers]\nwarm_minutes = 0\n[models]\nprovider = "openai"\n'
EVERY = ("--scope", "read", "--scope", "act", "--scope", "approve")


class Office(StateFolder):
    """A state folder with a project, an engine, and editors."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        super().__init__(root / "state", SystemClock())
        self._environ = {**os.environ, **environ}
        self.layout.create()
        self.layout.config.write_text(f'{CONFIG}[sandbox]\nwritable = ["{root / "project"}"]\n')
        self.layout.role("builder").write_text(asking_role("shell", "edit_file", "write_result"))
        self.project = root / "project"
        self.project.mkdir()
        self.editors: list[Editor] = []
        self.engines: list[Child] = []

    def start_engine(self) -> None:
        words = ["--engine-only", "--state", str(self.root)]
        self.engines.append(start_lumen(words, env=self._environ, cwd=self.root))

    def editor(self, *words: str) -> Editor:
        self.editors.append(Editor(self.root, *words))
        return self.editors[-1]

    def session(self, editor: Editor, role: str = "builder", **capabilities: object) -> str:
        editor.begin(**capabilities)
        session = editor.open(self.project)
        assert "result" in editor.ask("session/set_mode", sessionId=session, modeId=role)
        return session

    def task(self) -> str:
        """Return the id of the newest task."""
        return max(task_files.all_ids(self.layout), key=lambda name: self.spec(name).created_at)

    def spec(self, task_id: str) -> Spec:
        spec = task_files.read_spec(self.layout, task_id)
        assert spec is not None
        return spec

    def status(self, task_id: str) -> Status:
        folder = task_files.folder_of(self.layout, task_id)
        assert folder is not None
        return task_files.status_of(folder)

    def clean(self) -> None:
        for editor in self.editors:
            editor.close()
        for engine in self.engines:
            engine.kill()
            engine.wait()
        for path in self.layout.tasks.glob("*/run.lock"):
            process.kill_lock_holders(str(path))


_RESULTS = {
    "initialize": "InitializeResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/prompt": "PromptResponse",
}
_PARAMS = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": "CreateFormSessionElicitationRequest",
    "$/cancel_request": "CancelRequestNotification",
}


def strange(message: Message, methods: dict[object, str]) -> str:
    """Return what of a message of the server is not as the models of the official SDK have it; empty where all is.

    The models pass over what they do not know and replace what does not fit, so what they read must be what was sent.
    """
    schema = pytest.importorskip("acp.schema", reason=NO_SDK)

    if "method" in message:
        name, body = _PARAMS.get(message["method"]), message["params"]
    elif "error" in message:
        name, body = "Error", message["error"]
    else:
        name, body = _RESULTS.get(methods.get(message["id"], "")), message["result"]
    if name is None:
        return f"no message of the protocol: {message}"
    try:
        read = getattr(schema, name).model_validate(body).model_dump(by_alias=True, exclude_unset=True, mode="json")
    except ValueError as error:
        return str(error)
    return "" if read == body else f"{body} was read as {read}"
