"""What a crash says on a terminal and in engine.log: words made safe, secrets masked, no values of variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lumen_hostile import ESCAPES, UNSEEN, left, mark, planted, secrets_of
from lumen_terminal import Terminal

from lumen_tui.model.text import is_safe
from lumen_tui.storage.layout import Layout

REPO = Path(__file__).resolve().parents[2]
WORDS = f"{mark('words')} {ESCAPES} {UNSEEN}\n{planted('words')}\n{secrets_of('environ')['assigned']}"
ENGINE = "lumen_tui.engine.engine.Engine.beat"
ROOM = "lumen_tui.tui.app.LumenApp._check_bindings"  # at the first key
# Programs whose method fails with these words, in a variable as well; `end` is what they fail by.
PROGRAM = """
import asyncio, gc, importlib, os, sys, threading
words = open(sys.argv[1]).read()
module, kind, method = sys.argv[2].rsplit(".", 2)
owner = getattr(importlib.import_module(module), kind)
def fail(self, *_, **__):
    kept = "in a variable: " + words
    raise RuntimeError(words)
def thread(self, *_, **__):
    failing = threading.Thread(target=fail, args=(self,))
    failing.start()
    failing.join()
    sys.exit(1)
def task(self, *_, **__):
    async def failing():
        fail(self)
    async def wait():
        started = asyncio.ensure_future(failing())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        del started
        gc.collect()
        os._exit(1)
    self.waiting = asyncio.ensure_future(wait())
    return real(self, *_, **__)
real = getattr(owner, method)
setattr(owner, method, {"fail": fail, "thread": thread, "task": task}[sys.argv[3]])
sys.argv[1:] = sys.argv[4:]
from lumen_tui.__main__ import start
sys.exit(start())
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Layout(tmp_path / "state").create()
    (tmp_path / "words").write_text(WORDS)
    return tmp_path / "state"


def program(root: Path, owner: str, by: str, *words: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(root.parent / "words"), owner, by, "--state", str(root), *words]


def environ() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    secret = {"DEPLOY_TOKEN": secrets_of("environ")["assigned"]}
    return {**kept, **secret, "PYTHONPATH": str(REPO), "TERM": "xterm-256color"}


@pytest.mark.threat("S7", "secrets by every way, live: state, backups, servers, phones, exports, crashes")
@pytest.mark.threat("S1", "hostile text in what commands and servers print")
@pytest.mark.parametrize("by", ["fail", "thread", "task"])
def test_an_engine_that_crashes(root: Path, by: str) -> None:
    words = program(root, ENGINE, by, "--engine-only", "--once" if by != "task" else "--beats=50")
    ended = subprocess.run(words, env=environ(), capture_output=True, timeout=60)
    said = (ended.stdout + ended.stderr).decode()
    assert ended.returncode != 0 and "RuntimeError" in said and mark("words") in said, said
    assert all(map(is_safe, said.split("\n")))
    assert list(left(said.encode())) == []


@pytest.mark.threat("S7", "secrets by every way, live: state, backups, servers, phones, exports, crashes")
@pytest.mark.threat("S1", "what a terminal is sent, byte by byte")
def test_a_room_that_crashes(root: Path) -> None:
    terminal = Terminal(root, *program(root, ROOM, "fail"), **environ())
    try:
        terminal.wait_for("Wake-state")
        terminal.press("j")
        terminal.wait_for("RuntimeError")
        assert terminal.end() != 0
    finally:
        os.close(terminal.fd)
    said = terminal.sent.decode()
    assert mark("words") in said and "in a variable" not in said
    assert terminal.foreign() == ""
    assert list(left(terminal.sent)) == []
