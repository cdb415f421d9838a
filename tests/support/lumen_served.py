"""`lumen-tui serve` as a process, and programs with tokens of it over real sockets."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import httpx2
from lumen_folder import StateFolder
from lumen_program import Child, start_lumen
from lumen_questions import put_call
from lumen_until import until

from lumen_tui.model.access import Scope
from lumen_tui.model.approvals import Approval
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.settings import access

USUAL = (Scope.READ, Scope.ACT)
_DAY = 86400.0


class Served:
    """A state folder that a process serves, and clients of it."""

    def __init__(self, root: Path) -> None:
        """Make the folder. `close` ends what was started."""
        self.folder = StateFolder(root, SystemClock())
        self.layout = self.folder.layout
        self.layout.create()
        self.log = root.parent / "serve.log"
        self.process: Child | None = None
        self.url = ""
        self._clients: list[httpx2.Client] = []

    @property
    def now(self) -> float:
        return self.folder.clock.now()

    def start(self, *words: str) -> Served:
        """Start the server and wait until it answers."""
        self.process = self.run("--port", "0", *words)
        process = self.process
        until(lambda: "serving" in self.log.read_text() or process.poll() is not None, self.log.read_text)
        match = re.search(r"at (https?://\S+)", self.log.read_text())
        assert match, self.log.read_text()
        self.url = match[1]
        return self

    def run(self, *words: str) -> Child:
        """Start `lumen-tui serve` with these words."""
        wanted = ("PATH", "HOME", "NOTIFY_SOCKET", "WATCHDOG_USEC")
        env = {name: os.environ[name] for name in wanted if name in os.environ}
        line = ["serve", "--state", str(self.folder.root), *words]
        with open(self.log, "wb") as output:
            return start_lumen(line, env=env, cwd=self.folder.root, output=output)

    def refusal(self, *words: str) -> str:
        """Return what `serve` prints where it does not begin; its exit code must be 2."""
        assert self.run(*words).wait() == 2, self.log.read_text()
        return self.log.read_text()

    def token(self, name: str = "zed", *scopes: Scope, seconds: float = _DAY) -> str:
        """Return a new token; without scopes it may read and act."""
        wanted = frozenset(scopes or USUAL)
        return access.add(self.layout, name, wanted, by="ana", now=self.now, seconds=seconds)

    def client(self, name: str = "zed", *scopes: Scope, token: str | None = None, **options: object) -> httpx2.Client:
        """Return a client with a token of these scopes, or with the one given."""
        token = self.token(name, *scopes) if token is None else token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        client = httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30, **options)  # type: ignore[arg-type]
        self._clients.append(client)
        return client

    def ask(self, command: str = "make deploy", **more: object) -> Approval:
        """Put a call of a queued task on file, so that it waits for an answer."""
        task = self.folder.do("task.new", objective="Deploy it").target
        return put_call(self.layout, task, self.now, command, **more)

    def end(self) -> int:
        """End the server as a service manager does; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
