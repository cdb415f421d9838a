"""Sessions of an editor that outlive it, slash commands, plans, and every line of random sessions by the schema."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from lumen_apiserver import held, text, tool
from lumen_editor import EVERY, NO_SDK, Editor, Office, strange
from lumen_questions import asking_role
from lumen_sweeps import seeds
from lumen_until import until

from lumen_tui.servers.acp import history
from lumen_tui.store import approvals

ROBOT = 40  # steps of one random session


def test_a_session_is_told_again_by_another_server_and_goes_on(running: Office, api) -> None:
    mark = running.project / "mark"
    api.say(tool("shell", command=f"touch {mark}", say="I make it."), tool("write_result", text="Made."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor)
    prompt = editor.prompt(session, "Make the mark")
    asked = editor.asked("session/request_permission")
    editor.process.send_signal(signal.SIGKILL)
    editor.process.wait()
    (request,) = approvals.undecided(running.layout)
    other = running.editor(*EVERY)
    other.begin()
    loaded = other.ask("session/load", sessionId=session, cwd=str(running.project), mcpServers=[])["result"]
    assert loaded["modes"]["currentModeId"] == "builder" and "sessionId" not in loaded
    assert [update["content"]["text"] for update in other.updates("user_message_chunk")] == ["Make the mark"]
    assert other.words().startswith("I make it.") and "/follow" in other.words()
    (call,) = other.updates("tool_call")
    assert call == editor.updates("tool_call")[0]
    until(lambda: other.updates("available_commands_update"))
    follow = other.prompt(session, "/follow")
    again = other.asked("session/request_permission")
    assert again["params"]["toolCall"]["toolCallId"] == asked["params"]["toolCall"]["toolCallId"]
    other.say(id=again["id"], result={"outcome": {"outcome": "selected", "optionId": "allow"}})
    assert other.answer(follow)["result"] == {"stopReason": "end_turn"}
    decided = approvals.decision(running.layout, request.id)
    assert decided and decided.allowed and mark.exists() and other.words().endswith("Made.")
    assert len(other.updates("tool_call")) == 1, "what was told is not told twice"
    third = running.editor()
    third.begin()
    third.ask("session/load", sessionId=session, cwd=str(running.project), mcpServers=[])
    assert third.words() == "I make it.Made."
    assert third.updates("tool_call_update")[-1]["status"] == "completed"
    assert prompt


def test_sessions_are_listed_resumed_and_closed(running: Office, api, tmp_path: Path) -> None:
    api.say(tool("write_result", text="Yes."), text("done"), tool("write_result", text="No."), text("done"))
    editor = running.editor()
    first, second = running.session(editor), editor.open(running.project)
    editor.answer(editor.prompt(first, "Is it on?"))
    editor.answer(editor.prompt(first, "Is it off?"))
    other = running.editor()
    other.begin()
    (info,) = other.ask("session/list", cwd=str(running.project))["result"]["sessions"]
    assert (info["sessionId"], info["title"], info["cwd"]) == (first, "Is it on?", str(running.project))
    assert other.ask("session/list", cwd="/nowhere")["result"] == {"sessions": []}
    assert other.ask("session/list", cursor="x")["error"]["code"] == -32602
    resumed = other.ask("session/resume", sessionId=first, cwd=str(running.project), mcpServers=[])
    assert resumed["result"]["modes"]["currentModeId"] == "builder" and not other.updates("user_message_chunk")
    for wrong in ("acp-none", "../../x", "mcp-0123456789abc", "acp-0123456789abl"):
        answer = other.ask("session/load", sessionId=wrong, cwd=str(running.project), mcpServers=[])
        assert answer["error"]["code"] == -32002
    empty = other.ask("session/load", sessionId=second, cwd=str(running.project), mcpServers=[])["result"]
    assert empty["modes"]["currentModeId"] == "researcher" and not other.updates("user_message_chunk")
    assert other.ask("session/load", sessionId=first, cwd=str(tmp_path), mcpServers=[])["error"]["code"] == -32602
    api.say(held(text("never")))
    prompt = other.prompt(first, "And now?")
    until(lambda: any("And now?" in request.first_text for request in api.asked))
    assert other.ask("session/close", sessionId=first)["result"] == {}
    assert other.answer(prompt)["result"] == {"stopReason": "cancelled"}
    api.release()
    assert other.answer(other.prompt(first, "Still there?"))["error"]["code"] == -32002


def test_slash_commands_answer_without_a_task(office: Office, api) -> None:
    office.do("signal.send", message="The pump hums")
    office.do("node.create", content="Retries double the wait", type="bug")
    editor = office.editor()
    session = office.session(editor)
    until(lambda: editor.updates("available_commands_update"))
    (offered,) = editor.updates("available_commands_update")
    names = [command["name"] for command in offered["availableCommands"]]
    for name, words in (
        ("status", "engine: none"),
        ("needs", "needs you"),
        ("inbox", "The pump hums"),
        ("triage", "Retries double the wait"),
        ("tasks", "No task is open"),
        ("briefing", "Say what about"),
        ("briefing the pump", "pump"),
    ):
        assert name.partition(" ")[0] in names
        since = len(editor.messages)
        assert editor.answer(editor.prompt(session, f"/{name}"))["result"] == {"stopReason": "end_turn"}
        assert words in editor.words(since), name
    assert "asked" in editor.answer(editor.prompt(session, "/follow"))["error"]["message"]
    assert list(history.turns(office.layout, session)) == [] and not api.asked
    narrow = office.editor("--scope", "read")
    narrow.begin()
    assert narrow.answer(narrow.prompt(narrow.open(office.project), "/status"))["error"]["code"] == -32602


def test_tasks_that_a_task_orders_are_its_plan(running: Office, api) -> None:
    api.when(lambda request: "Lay the floor" in request.first_text, tool("write_result", text="Laid."), text("done"))
    api.say(
        tool("create_task", objective="Lay the floor", role="researcher"),
        tool("wait_for_tasks"),
        tool("write_result", text="All done."),
        text("done"),
    )
    editor = running.editor()
    session = running.session(editor, role="planner")
    assert editor.answer(editor.prompt(session, "Build the house"))["result"] == {"stopReason": "end_turn"}
    plans = [update["entries"] for update in editor.updates("plan")]
    assert [entry["content"] for entry in plans[-1]] == ["Lay the floor"]


def test_a_call_of_a_task_that_the_task_ordered_is_asked_as_well(running: Office, api) -> None:
    mark = running.project / "mark"
    running.layout.role("tester").write_text(asking_role("shell", "write_result"))
    made = (tool("shell", command=f"touch {mark}"), tool("write_result", text="Made."), text("done"))
    api.when(lambda request: "Make the mark" in request.first_text, *made)
    order = tool("create_task", objective="Make the mark", role="tester")
    api.say(order, tool("wait_for_tasks"), tool("write_result", text="It is there."), text("done"))
    editor = running.editor(*EVERY)
    session = running.session(editor, role="planner")
    prompt = editor.prompt(session, "Have it made")
    asked = editor.asked("session/request_permission")
    assert asked["params"]["toolCall"]["rawInput"]["command"] == f"touch {mark}"
    editor.say(id=asked["id"], result={"outcome": {"outcome": "selected", "optionId": "allow"}})
    assert editor.answer(prompt)["result"] == {"stopReason": "end_turn"}
    assert mark.exists() and editor.words().endswith("It is there.")


@pytest.fixture
def offline(office: Office) -> Office:
    """An office whose workers have playbooks and no model."""
    office.layout.config.write_text("[heartbeat]\nsettle_seconds = 0.1\n")
    office.start_engine()
    return office


class Robot:
    """A client that does what comes to its mind."""

    def __init__(self, editor: Editor, office: Office, dice: random.Random) -> None:
        self.editor, self.office, self.dice = editor, office, dice
        self.sessions: list[str] = []
        self.asked: list[int] = []

    def step(self) -> None:
        self.dice.choice([self.open, self.prompt, self.prompt, self.cancel, self.choose, self.again, self.rubbish])()

    def session(self) -> str:
        return self.dice.choice([*self.sessions, "acp-none"])

    def ask(self, method: str, **params: object) -> None:
        self.asked.append(self.editor.start(method, **params))

    def open(self) -> None:
        answer = self.editor.ask("session/new", cwd=str(self.office.project), mcpServers=[])
        self.sessions.append(answer["result"]["sessionId"])

    def prompt(self) -> None:
        looks = ["/status", "/needs", "/tasks", "/inbox", "/triage", "/briefing pump", "/follow"]
        words = ["What are the 3 largest files in .?", "Write a poem", *looks, "", "x" * 30_000]
        self.asked.append(self.editor.prompt(self.session(), self.dice.choice(words)))

    def cancel(self) -> None:
        if self.dice.random() < 0.5:
            self.editor.say(method="session/cancel", params={"sessionId": self.session()})
        elif self.asked:
            self.editor.say(method="$/cancel_request", params={"requestId": self.dice.choice(self.asked)})

    def choose(self) -> None:
        name, tier = self.dice.choice(["researcher", "analyst", "main", "", 7]), self.dice.choice(["opus", "x"])
        self.ask("session/set_mode", sessionId=self.session(), modeId=name)
        self.ask("session/set_config_option", sessionId=self.session(), configId="model", value=tier)

    def again(self) -> None:
        place = {"cwd": str(self.office.project), "mcpServers": []}
        method = self.dice.choice(["session/load", "session/resume", "session/list", "session/close", "session/fork"])
        self.ask(method, sessionId=self.session(), **place)

    def rubbish(self) -> None:
        answer, request = b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":[],"method":"x"}'
        self.editor.send(self.dice.choice((b"{", b"\xff", b"[]", answer, request)) + b"\n")


@pytest.mark.parametrize("seed", seeds(3))
def test_random_sessions_keep_to_the_schema_and_each_request_is_answered_once(offline: Office, seed: int) -> None:
    pytest.importorskip("acp.schema", reason=NO_SDK)
    robot = Robot(offline.editor(), offline, random.Random(seed))  # noqa: S311
    robot.editor.begin()
    robot.open()
    for _ in range(ROBOT):
        robot.step()
    for session in robot.sessions:
        robot.editor.say(method="session/cancel", params={"sessionId": session})
    for request in robot.asked:
        robot.editor.answer(request)
    messages = list(robot.editor.messages)
    assert [trouble for message in messages if (trouble := strange(message, robot.editor.methods))] == []
    answers = [message["id"] for message in messages if "method" not in message and message.get("id") is not None]
    assert len(answers) == len(set(answers))
