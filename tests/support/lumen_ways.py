"""The ways by which a call is answered from elsewhere, each with its real protocol: ntfy, mail, MCP, HTTP and ACP."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from lumen_asking import OBJECTIVE, AskingFolder
from lumen_dovecot import PASSWORD, USER, dovecot
from lumen_editor import EVERY, Editor
from lumen_ntfy import ntfy
from lumen_smtp import AGENT, ANA, posting, reply_to, text_of
from lumen_until import until

from lumen_tui.model.access import Scope
from lumen_tui.model.answers import AnswerLine
from lumen_tui.model.approvals import Approval
from lumen_tui.model.mail import MailLine
from lumen_tui.storage.journal import Journal
from lumen_tui.store import mail_sources
from lumen_tui.store.settings import access

REPO = Path(__file__).resolve().parents[2]
_TOPIC, _ANSWERS = "lumen-a-long-and-random-name", "lumen-answers"
_PASSED_OVER = "passed over: nothing is asked any more"


class Way(ABC):
    """One way. `settings` are those of the folder; `close` ends what was started."""

    settings = ""
    by = "ana"  # in whose name its answers are given

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()

    def open(self, folder: AskingFolder) -> None:
        """Connect, once the engine runs."""
        self.folder = folder

    def order(self) -> None:
        """Give a worker the task."""
        self.folder.order()

    @abstractmethod
    def wait(self, request: Approval) -> None:
        """Wait until the person has the call before them."""

    @abstractmethod
    def answer(self, request: Approval, allow: bool) -> str:
        """Answer the call as it was shown; return how that was refused, empty where it counts."""

    def close(self) -> None:
        self._stack.close()


class Phone(Way):
    """Buttons of ntfy; what they publish is heard by streaming."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._ntfy = self._stack.enter_context(ntfy())
        self.settings = (
            f'[notify]\noperator = "ana"\nmost = 100\n[notify.ntfy]\nserver = "{self._ntfy.address}"\n'
            f'topic = "{_TOPIC}"\nanswers = "{_ANSWERS}"\n'
        )

    def open(self, folder: AskingFolder) -> None:
        super().open(folder)
        until(lambda: self._ntfy.listening)

    def _shown(self, request: Approval) -> list[Any]:
        command = str(request.arguments["command"])
        return [event for event in self._ntfy.messages(_TOPIC) if command in event["message"].splitlines()]

    def wait(self, request: Approval) -> None:
        until(lambda: self._shown(request))

    def answer(self, request: Approval, allow: bool) -> str:
        journal = Journal(self.folder.layout.answers)

        def ends() -> list[AnswerLine]:
            return [line for line in journal.records(AnswerLine) if line.kind in ("done", "refused")]

        before = len(ends())
        self._ntfy.publish(_ANSWERS, self._shown(request)[0]["actions"][0 if allow else 1]["body"])
        until(lambda: len(ends()) > before)
        return ends()[-1].why


class Post(Way):
    """Mail: out by a real SMTP server, and replies in by a real IMAP server."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._post = self._stack.enter_context(posting())
        self._server = self._stack.enter_context(dovecot(_certificate(folder)))
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o600)
        self.settings = (
            f'[notify]\noperator = "ana"\nmost = 100\n[mail]\naddress = "{AGENT}"\noperators = ["{ANA}"]\ntell = true\n'
            f'smtp = "smtp://localhost:{self._post.port}"\nimap = "imap://localhost:{self._server.port}"\n'
            f'imap_user = "{USER}"\nimap_password = "file:{password}"\nper_hour = 1000\n'
        )

    def open(self, folder: AskingFolder) -> None:
        super().open(folder)
        until(lambda: (source := mail_sources.read_source(folder.layout.mail_imap)) and source.looked_at)

    def _shown(self, request: Approval) -> list[Any]:
        command = str(request.arguments["command"])
        return [letter for letter in self._post.letters if command in text_of(letter).splitlines()]

    def wait(self, request: Approval) -> None:
        until(lambda: self._shown(request))

    def answer(self, request: Approval, allow: bool) -> str:
        journal = Journal(self.folder.layout.mail_log)
        before = len(list(journal.records(MailLine)))
        self._server.put(reply_to(self._shown(request)[0], "allow" if allow else "deny").as_bytes())
        until(lambda: len(list(journal.records(MailLine))) > before)
        line = list(journal.records(MailLine))[-1]
        return line.why if line.outcome == "refused" else ""


class Http(Way):
    """The HTTP API: an event says that something is asked, a POST answers."""

    by = "http:phone"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._told: list[str] = []
        self._hashes: dict[str, str] = {}

    def open(self, folder: AskingFolder) -> None:
        super().open(folder)
        server = _begun(folder, "serve", "--port", "0")
        self._stack.callback(_end, server)
        assert server.stdout
        url = server.stdout.readline().decode().split()[-1]
        token = access.add(folder.layout, "phone", frozenset(Scope), by="ana", now=folder.now, seconds=3600)
        headers = {"authorization": f"Bearer {token}"}
        client = httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=60)
        self._client = self._stack.enter_context(client)
        stream = self._stack.enter_context(client.stream("GET", "/v1/events", timeout=None))
        lines = stream.iter_lines()
        next(lines)  # it says where it begins
        threading.Thread(target=self._listen, args=(lines,), daemon=True).start()

    def _listen(self, lines: Any) -> None:
        with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError, OSError):
            self._told.extend(line for line in lines if line.startswith("data:"))

    def wait(self, request: Approval) -> None:
        until(lambda: any(request.id in line for line in self._told))
        until(lambda: self._hash(request))  # reads follow the folder as events do, each by itself

    def _hash(self, request: Approval) -> str:
        """Return the hash of a call as it was shown first."""
        waiting = self._client.get("/v1/approvals").json()["waiting"]
        self._hashes = {**{shown["id"]: shown["hash"] for shown in waiting}, **self._hashes}
        return self._hashes.get(request.id, "")

    def answer(self, request: Approval, allow: bool) -> str:
        body = {"hash": self._hashes[request.id], "allow": allow}
        response = self._client.post(f"/v1/approvals/{request.id}/answer", json=body)
        return "" if response.status_code == 200 else str(response.json()["detail"])


class Mcp(Way):
    """MCP on pipes: a client that waits for `run_task` is asked; `answer_approval` answers."""

    by = "mcp:phone"
    _META = "io.modelcontextprotocol/"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._answers: dict[int, dict[str, Any]] = {}
        self._calls = 0
        self._waits = 0
        self._state: object = None
        self._hashes: dict[str, str] = {}

    def open(self, folder: AskingFolder) -> None:
        super().open(folder)
        self._server = _begun(folder, "mcp", *EVERY, "--name", "phone")
        self._stack.callback(_end, self._server)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._server.stdout
        for line in self._server.stdout:
            message = json.loads(line)
            if "id" in message:
                self._answers[message["id"]] = message

    def _call(self, name: str, **more: object) -> int:
        """Call a tool; return the id of the request."""
        self._calls += 1
        meta = {
            f"{self._META}protocolVersion": "2026-07-28",
            f"{self._META}clientCapabilities": {"elicitation": {}},
        }
        params = {"name": name, **more, "_meta": meta}
        request = {"jsonrpc": "2.0", "id": self._calls, "method": "tools/call", "params": params}
        assert self._server.stdin
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        return self._calls

    def order(self) -> None:
        self._wait_for_task()

    def _wait_for_task(self) -> None:
        state = {"requestState": self._state} if self._state else {}
        arguments = {"objective": OBJECTIVE, "role": "builder"}
        self._waits = self._call("run_task", arguments=arguments, **state)

    def wait(self, request: Approval) -> None:
        if request.id in self._hashes:
            self._wait_for_task()
        until(lambda: self._waits in self._answers)
        asked = self._answers[self._waits]["result"]
        self._state = asked["requestState"]
        self._hashes |= {name.partition(":")[0]: name.partition(":")[2] for name in asked["inputRequests"]}

    def answer(self, request: Approval, allow: bool) -> str:
        given = {"id": request.id, "hash": self._hashes[request.id], "allow": allow}
        call = self._call("answer_approval", arguments=given)
        until(lambda: call in self._answers)
        result = self._answers[call]["result"]
        if result["isError"]:
            return str(result["content"][0]["text"])
        self._wait_for_task()
        return ""


class Acp(Way):
    """An editor whose user is asked for a permission."""

    by = "acp:zed"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def open(self, folder: AskingFolder) -> None:
        super().open(folder)
        self._editor = Editor(folder.root, *EVERY)
        self._stack.callback(self._editor.close)
        self._editor.begin()
        self._session = self._editor.open(self._folder)
        self._editor.ask("session/set_mode", sessionId=self._session, modeId="builder")

    def order(self) -> None:
        self._editor.prompt(self._session, OBJECTIVE)

    def _shown(self, request: Approval) -> list[Any]:
        asked = [one for one in self._editor.messages if one.get("method") == "session/request_permission"]
        command = request.arguments["command"]
        return [one for one in asked if one["params"]["toolCall"]["rawInput"]["command"] == command]

    def wait(self, request: Approval) -> None:
        until(lambda: self._shown(request))

    def answer(self, request: Approval, allow: bool) -> str:
        """An answer to what is not asked any more is passed over; what did not count is said in the session."""
        before, said = self.folder.decision(request), len(self._editor.messages)
        chosen = {"outcome": "selected", "optionId": "allow" if allow else "reject"}
        self._editor.say(id=self._shown(request)[0]["id"], result={"outcome": chosen})
        if before is not None:
            self._editor.ask("session/list")  # which is answered after it was looked at
            return _PASSED_OVER if self.folder.decision(request) == before else ""
        until(lambda: self.folder.decision(request) or "did not count" in self._editor.words(said))
        return self._editor.words(said) if self.folder.decision(request) is None else ""


WAYS: dict[str, Callable[[Path], Way]] = {"ntfy": Phone, "mail": Post, "mcp": Mcp, "http": Http, "acp": Acp}


def _begun(folder: AskingFolder, *words: str) -> subprocess.Popen[bytes]:
    """Start a server of the folder as a program of its user."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.root.parent), "USER": "ana", "PYTHONPATH": str(REPO)}
    line = [sys.executable, "-m", "lumen_tui", words[0], "--state", str(folder.root), *words[1:]]
    return subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _end(server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.wait()
    for pipe in (server.stdin, server.stdout):
        with contextlib.suppress(OSError):
            assert pipe
            pipe.close()


def _certificate(folder: Path) -> str:
    """Make a certificate with its key, without which the IMAP server does not start."""
    path = folder / "server.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*words, "-subj", "/CN=localhost", "-keyout", path, "-out", path], check=True, capture_output=True)
    return str(path)
