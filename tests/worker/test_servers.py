"""Workers with MCP servers: real ones from the package index, and what a worker that is killed leaves of one."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
import tomli_w
from lumen_repository import Repository
from lumen_until import until

from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.mcp.inspection import inspect_server

pytestmark = pytest.mark.usefixtures("sandbox")
SMALL = (Path(__file__).parents[1] / "tools" / "mcp" / "server.py").read_text()  # a sandbox may not show the file
KEY = "sk-ant-0123456789abcdef"
CLERK = """+++
purpose = "p"
tools = ["write_result"]
write = {write}
mcp = {mcp}
+++

Work.
"""


def give(layout: Layout, role: str, *, log: Path | None = None, **servers: list[str]) -> Store:
    """Configure servers, ask them what they offer, accept that, and hire a role that has them.

    With a `log` they may write, and $SERVER_LOG is there.
    """
    more: dict[str, object] = {"writes": True, "env": ["SERVER_LOG"]} if log else {"writes": False}
    tables = {name: {"command": command, "risk": "low", **more} for name, command in servers.items()}
    writable = {"sandbox": {"writable": [str(log.parent)]}} if log else {}
    layout.config.write_text(tomli_w.dumps({"mcp": {"servers": tables}, **writable}))
    store = Store(layout.root)
    environ = {"PATH": os.environ["PATH"], "HOME": str(layout.root), "SERVER_LOG": str(log)}
    for name, server in load_config(layout)[0].mcp.servers.items():
        inspect_server(store, name, server, now=time.time(), environ=environ, note=print)
        perform(store, named("tool.accept", {"name": name}), by="ann", now=time.time())
    text = CLERK.format(mcp=list(servers), write=str(bool(log)).lower()).replace("'", '"')
    perform(store, named("role.hire", {"name": role, "text": text}), by="ann", now=time.time())
    return store


def program(name: str) -> str:
    """A server that is installed beside this Python, or on PATH."""
    found = shutil.which(name, path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    if not found:
        pytest.skip(f"{name} is not installed: pip install {name}, in an environment whose bin is on PATH")
    return found


def test_two_servers_of_the_package_index_are_used_by_a_worker(make_task, server, api, tmp_path):
    clock, git = program("mcp-server-time"), program("mcp-server-git")
    repository = Repository(tmp_path / "shop")
    repository.commit(a__txt="one\n")
    task = make_task("what time is it, and what was committed", role="clerk")
    give(task.layout, "clerk", time=[clock, "--local-timezone", "UTC"], git=[git])
    server.script = [
        ("find_tools", {"query": "current time"}),
        ("call_tool", {"name": "time__get_current_time", "arguments": {"timezone": "Europe/Berlin"}}),
        ("call_tool", {"name": "git__git_log", "arguments": {"repo_path": str(repository.root)}}),
        ("call_tool", {"name": "git__git_log", "arguments": {"repo_path": str(tmp_path / "nowhere")}}),
        ("write_result", {"text": "ok"}),
    ]
    ended = task.run(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)
    assert ended["status"] == "done", task.instead()
    assert [event.get("ok", True) for event in task.kinds("result")] == [True, True, True, False, True]
    sent = [request.body for request in api.asked]
    assert [tool["name"] for tool in sent[0]["tools"]].count("find_tools") == 1
    assert not any("__" in tool["name"] for tool in sent[0]["tools"])
    assert "- git__git_log: Shows the commit logs" in str(sent[0]["tools"])
    assert all(body["tools"] == sent[0]["tools"] for body in sent)
    told = str(sent[-1]["messages"])
    assert '"Europe/Berlin"' in told.replace("\\", "") and "Commit" in told
    assert not running(clock) and not running(git)


def running(words: str) -> list[str]:
    """The processes whose command line has these words."""
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and words in command_line(pid)]


def command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def test_a_server_ends_with_a_worker_that_is_killed(make_task, server, tmp_path):
    mark = f"mark-{tmp_path.name}-{os.getpid()}"
    server.script = [("call_tool", {"name": "small__hang", "arguments": {}})]
    task = make_task("anything", role="clerk")
    give(task.layout, "clerk", small=[sys.executable, "-c", SMALL, mark])
    until(lambda: not running(mark))
    worker = task.start(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)
    until(lambda: task.kinds("call") and running(mark), task.instead)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait(30)
    until(lambda: not running(mark))


def test_a_call_that_a_kill_cut_off_may_have_happened_and_is_not_made_again(make_task, server, api, tmp_path):
    log = tmp_path / "granted" / "log"
    log.parent.mkdir()
    environ = {"SERVER_LOG": str(log), "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
    server.script = [("call_tool", {"name": "small__hang", "arguments": {}}), ("write_result", {"text": "ok"})]
    task = make_task("anything", role="clerk")
    give(task.layout, "clerk", log=log, small=[sys.executable, "-c", SMALL])
    worker = task.start(warm=True, **environ)
    until(lambda: calls_in(log), task.instead)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait(30)
    task.write("run.json", {"attempt": 3, "started_at": "2026-01-01T00:00:00Z"})
    ended = task.run(warm=True, **environ)
    assert ended["status"] == "done", task.instead()
    (uncertain,) = task.kinds("uncertain")
    assert "may have happened, as the worker ended meanwhile: small__hang" in uncertain["text"]
    assert "It may have happened, wholly, in part or not at all, and was not made again" in str(api.asked[-1].body)
    assert len(calls_in(log)) == 1


def calls_in(log: Path) -> list[str]:
    """The calls of tools that a server was asked for."""
    return [line for line in log.read_text().splitlines() if line.startswith("tools/call")] if log.exists() else []
