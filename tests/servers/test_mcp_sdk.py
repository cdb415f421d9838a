"""The official Python SDK as a client, in both generations of the protocol, on pipes and over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from lumen_asking import OBJECTIVE, AskingFolder
from lumen_editor import EVERY
from lumen_served import Served
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult

from lumen_tui.model.access import Scope

REPO = str(Path(__file__).resolve().parents[2])
Connect = Callable[[str], AbstractAsyncContextManager]
GENERATIONS = pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "state")
    yield made
    made.close()


@pytest.fixture(params=["stdio", "http"])
def connect(state: Served, request: pytest.FixtureRequest) -> Connect:
    if request.param == "http":
        token = state.start().token()

    @asynccontextmanager
    async def by_pipes(mode: str) -> AsyncIterator[Client]:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": REPO}
        words = ["-m", "lumen_tui", "--state", str(state.folder.root), "mcp"]
        server = StdioServerParameters(command=sys.executable, args=words, env=env)
        async with Client(stdio_client(server), mode=mode) as client:
            yield client

    @asynccontextmanager
    async def by_http(mode: str) -> AsyncIterator[Client]:
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
            Client(streamable_http_client(f"{state.url}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client

    return by_http if request.param == "http" else by_pipes


@GENERATIONS
async def test_the_sdk_lists_calls_reads_and_completes(connect: Connect, mode: str, version: str) -> None:
    async with connect(mode) as client:
        assert client.protocol_version == version
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"status", "briefing", "remember", "create_task", "run_task"} <= tools.keys()
        assert "answer_approval" not in tools
        called = await client.call_tool("remember", {"text": "The pump is at 8080"})
        assert not called.is_error and called.structured_content["target"].startswith("arc-")
        refused = await client.call_tool("read_task", {"task_id": "tsk-none"})
        assert refused.is_error
        resources = await client.list_resources()
        assert "lumen://status" in [str(resource.uri) for resource in resources.resources]
        read = await client.read_resource("lumen://status")
        assert '"agent"' in read.contents[0].text
        templates = await client.list_resource_templates()
        assert len(templates.resource_templates) == 4
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert "briefing" in prompts
        got = await client.get_prompt("briefing", {"work": "the pump"})
        assert "pump" in got.messages[0].content.text


@GENERATIONS
async def test_an_approval_is_answered_by_a_tool_once(state: Served, mode: str, version: str) -> None:
    waiting = state.ask()
    token = state.start().token("phone", *Scope)
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(f"{state.url}/mcp", http_client=http), mode=mode) as client,
    ):
        answer = {"id": waiting.id, "hash": waiting.hash, "allow": True}
        assert (await client.call_tool("answer_approval", {**answer, "hash": "0" * 64})).is_error
        assert not (await client.call_tool("answer_approval", answer)).is_error
        assert (await client.call_tool("answer_approval", answer)).is_error
        shown = await client.call_tool("read_approval", {"id": waiting.id})
        assert shown.structured_content["decision"]["by"] == "mcp:phone"


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[AskingFolder]:
    """A folder with an engine, and a worker that makes one call which asks first."""
    folder = AskingFolder(tmp_path / "state")
    folder.calls(f"touch {folder.project / 'mark'}")
    folder.start()
    yield folder
    folder.close()


@pytest.mark.parametrize(("pipes", "mode"), [(False, "legacy"), (False, "auto"), (True, "auto")])
async def test_its_user_answers_the_call_of_a_task_that_it_waits_for(
    asking: AskingFolder, pipes: bool, mode: str
) -> None:
    shown: list[str] = []

    async def allow(context: object, params: ElicitRequestParams) -> ElicitResult:
        shown.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    async with AsyncExitStack() as stack:
        if pipes:
            env = {"PATH": os.environ["PATH"], "PYTHONPATH": REPO, "USER": "ana"}
            words = ["-m", "lumen_tui", "mcp", "--state", str(asking.root), *EVERY]
            transport = stdio_client(StdioServerParameters(command=sys.executable, args=words, env=env))
        else:
            served = Served(asking.root).start()
            stack.callback(served.close)
            headers = {"authorization": f"Bearer {served.token('phone', *Scope)}"}
            http = httpx2.AsyncClient(headers=headers, trust_env=False, timeout=90)
            transport = streamable_http_client(f"{served.url}/mcp", http_client=await stack.enter_async_context(http))
        client = await stack.enter_async_context(Client(transport, mode=mode, elicitation_callback=allow))
        result = await client.call_tool("run_task", {"objective": OBJECTIVE, "role": "builder"})
    assert not result.is_error and result.content[0].text.strip() == "It is done."
    (message,) = shown
    assert f"touch {asking.project / 'mark'}" in message
    assert (asking.project / "mark").exists()
