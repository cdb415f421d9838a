"""State folders with facts, an engine whose clock the test moves, and things in the world that facts are about."""

from __future__ import annotations

import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_folder import StateFolder

from lumen_tui.engine.engine import Engine
from lumen_tui.model.freshness import FactState
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.memory import facts

START = 1_790_000_000.0


# Probes are processes, which on a busy machine take their time; what is looked at here is what they find.
PATIENT = "[freshness]\nseconds = 60\neach_seconds = 60\n"


class World(StateFolder):
    """A state folder, a clock, one engine."""

    BY = "ann"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "state", START)
        self.folder = folder
        self.layout.create()
        self.settings(PATIENT)
        self._engine: Engine | None = None

    def settings(self, text: str) -> None:
        (self.root / "lumen.toml").write_text(text)

    def fact(self, claim: str, *probes: str, by: str = "lumen", **more: object) -> str:
        """A fact that the agent claims, so that nothing but its probes confirms it."""
        return self.do("fact.add", by=by, claim=claim, probes=list(probes), **more).target

    def state(self, fact_id: str) -> FactState:
        return next(state for state in facts.states(self.layout) if state.fact.id == fact_id)

    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = Engine.open(self.root, self.clock)
        return self._engine

    async def beat(self) -> None:
        """A beat five minutes after the last, with its probes through."""
        self.clock.wall += 300
        self.engine().beat(self.clock.wall)
        self.engine().freshness.finish(self.clock.wall)

    def attention(self) -> list[str]:
        return [
            need.target for need in SnapshotReader(self.root).snapshot(self.clock.wall).attention if need.need == "fact"
        ]

    def events(self, kind: str) -> list[str]:
        return [event.text for event in self.engine().log.since(0) if event.kind == kind]

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close("done")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


class Site(http.server.ThreadingHTTPServer):
    """A local server whose answers a test decides."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.status = {"/a": 200, "/b": 200}
        self.kind = "text/plain"
        self.closed = False
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def end(self) -> None:
        if not self.closed:
            self.closed = True
            self.shutdown()
            self.server_close()


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.send_response(self.server.status.get(self.path, 404))
        self.send_header("Content-Type", self.server.kind)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.end()


@pytest.fixture
def other_site() -> Iterator[Site]:
    made = Site()
    yield made
    made.end()


class Repository:
    """A git repository with one commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q")
        self.commit("first")

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def commit(self, text: str) -> None:
        self.git("commit", "-q", "--allow-empty", "-m", text)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo")


@pytest.fixture
def second_repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo2")
