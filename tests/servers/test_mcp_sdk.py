"""The official Python SDK as the client of `lumen-tui mcp`, in both generations of the protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from lumen_folder import StateFolder

from lumen_tui.storage.clock import SystemClock

sdk = pytest.importorskip("mcp.client.client", reason="the official SDK (mcp 2 or later) is not installed")
Connect = Callable[[str], AbstractAsyncContextManager]


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    folder = StateFolder(tmp_path / "state", SystemClock())
    folder.layout.create()
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    words = ["-m", "lumen_tui", "--state", str(folder.root), "mcp"]

    @asynccontextmanager
    async def opened(mode: str) -> AsyncIterator:
        server = StdioServerParameters(command=sys.executable, args=words, env=env)
        async with sdk.Client(stdio_client(server), mode=mode) as client:
            yield client

    return opened


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
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
