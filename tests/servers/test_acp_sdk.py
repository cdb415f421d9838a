"""The official Python SDK as the client of `lumen-tui acp`: it drives a task and answers an approval."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from lumen_apiserver import text, tool
from lumen_editor import EVERY, NO_SDK, REPO, Office

from lumen_tui.store import approvals

acp = pytest.importorskip("acp", reason=NO_SDK)


class Person:
    """A client that keeps what it is told and allows what it is asked."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
        from acp.schema import AllowedOutcome, RequestPermissionResponse

        self.asked.append(tool_call)
        chosen = next(option.option_id for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    def on_connect(self, connection: Any) -> None:
        """Nothing to do."""

    def kinds(self) -> list[str]:
        return [update.session_update for update in self.updates]


async def test_the_sdk_drives_a_task_answers_an_approval_and_loads_the_session_again(running: Office, api) -> None:
    from acp.schema import ClientCapabilities, Implementation, TextContentBlock

    mark = running.project / "mark"
    api.say(tool("shell", command=f"touch {mark}", say="I make it."), tool("write_result", text="Made."), text("done"))
    env = {"PATH": os.environ["PATH"], "HOME": str(running.root.parent), "PYTHONPATH": str(REPO), "USER": "ana"}
    words = ["-m", "lumen_tui", "acp", "--state", str(running.root), *EVERY]
    place = {"cwd": str(running.project), "mcp_servers": []}
    person, later = Person(), Person()
    async with acp.spawn_agent_process(person, sys.executable, *words, env=env) as (agent, _):
        begun = await agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="sdk", version="1"),
        )
        assert begun.protocol_version == 1 and begun.agent_capabilities.load_session
        session = (await agent.new_session(**place)).session_id
        await agent.set_session_mode(session_id=session, mode_id="builder")
        prompt = [TextContentBlock(type="text", text="Make the mark")]
        ended = await agent.prompt(session_id=session, prompt=prompt)
        assert ended.stop_reason == "end_turn" and len(person.asked) == 1
        assert {"agent_message_chunk", "tool_call", "tool_call_update"} <= set(person.kinds())
        answers = [approvals.decision(running.layout, each.id) for each in approvals.every(running.layout, done=True)]
        assert [answer.by for answer in answers if answer] == ["acp:sdk"]
        assert [info.session_id for info in (await agent.list_sessions()).sessions] == [session]
    async with acp.spawn_agent_process(later, sys.executable, *words, env=env) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        loaded = await agent.load_session(session_id=session, **place)
        assert loaded.modes.current_mode_id == "builder"
        told = "".join(
            update.content.text for update in later.updates if update.session_update.endswith("message_chunk")
        )
        assert told == "Make the markI make it.Made."
    assert os.path.exists(mark)  # noqa: ASYNC240 - nothing else runs here
