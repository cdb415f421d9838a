"""A server that is a program: its tools are found, called under the rules, and it is held to what was accepted."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest
from lumen_until import until

from lumen_tui.model.roles import ToolRule
from lumen_tui.model.toolservers import CALL, FIND, ServerTools
from lumen_tui.store.settings import toolservers as records
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import ApprovalReply, BadRules, Stopped
from lumen_tui.tools.mcp import client, messages, stdio
from tests.tools.mcp.conftest import accept, configure, declared

pytestmark = pytest.mark.usefixtures("sandbox")
QUICK = {"timeout_seconds": 0.5}


def changed(way: str = "changed") -> ServerTools:
    return declared(way)


@pytest.mark.parametrize("way", ["modern", "legacy"])
def test_a_tool_is_called_in_either_protocol(serve, state, way):
    served = serve(way)
    result = served.call("echo", text="hello")
    assert (result.ok, result.text) == (True, "hello")
    assert served.notes == []
    assert records.seen(state.layout, "small").protocol == ("2026-07-28" if way == "modern" else "2025-11-25")


def test_the_older_protocol_can_be_chosen(serve, state):
    served = serve(settings={"protocol": "2025-11-25"})
    assert served.call("echo", text="x").ok
    assert records.seen(state.layout, "small").protocol == "2025-11-25"


def test_sixty_tools_are_two_in_the_prompt_until_they_are_asked_for(serve):
    served = serve()
    (find, call) = [tool for tool in served.box.declarations() if tool.name in (FIND, CALL)]
    assert "- small__echo: Says again what it is told" in find.description
    assert "at length" not in msgspec.json.encode([find, call]).decode().lower()
    found = served.box.call("find_tools", {"query": "small__echo"})
    assert '"maxLength":50' in found.text and "At length." in found.text
    assert served.box.call("find_tools", {"query": "say again"}).text.startswith("small__echo\n")
    before = msgspec.json.encode(served.box.declarations())
    served.call("echo", text="x")
    assert msgspec.json.encode(served.box.declarations()) == before


def test_a_tool_that_a_role_names_singly_is_declared_whole(serve):
    served = serve(mcp=("small__echo",))
    (echo,) = [tool for tool in served.box.declarations() if tool.name.startswith("small")]
    assert echo.schema["properties"]["text"]["maxLength"] == 50
    assert not any(tool.name == FIND for tool in served.box.declarations())
    assert served.box.call("small__echo", {"text": "x"}).text == "x"
    assert "not among those of this task" in served.box.call("small__env", {}).text


@pytest.mark.parametrize(
    ("arguments", "what"), [({}, "text is missing"), ({"text": 5}, "text: string is needed"),
                            ({"text": "x" * 51}, "at most 50")],
)  # fmt: skip
def test_arguments_are_checked_before_a_server_is_started(serve, state, arguments, what):
    served = serve()
    assert what in served.call("echo", **arguments).text
    assert records.seen(state.layout, "small") is None


def test_other_tools_are_not_called_through_call_tool(serve):
    served = serve()
    result = served.box.call("call_tool", {"name": "read_file", "arguments": {"path": "/etc/hostname"}})
    assert not result.ok and "call a tool of yours by itself" in result.text
    assert "not among those of this task" in served.box.call("call_tool", {"name": "small__none"}).text
    assert not served.box.call("call_tool", {"name": "small__echo", "arguments": "text"}).ok


def test_rules_hold_for_a_servers_tool_by_its_name(serve):
    denied = ToolRule("deny", "small__env", why="it tells secrets")
    served = serve(rules=(denied, ToolRule("max_count", "small__echo", count=1)))
    assert "refused by a rule" in served.call("env").text
    assert served.call("echo", text="x").ok
    assert "may be called once" in served.call("echo", text="y").text


def test_a_rule_about_a_tool_that_is_not_there_stops_the_task(serve):
    with pytest.raises(BadRules, match="small__ecko"):
        serve(rules=(ToolRule("deny", "small__ecko"),))


def test_a_risky_server_asks_a_person_for_each_call(serve):
    asked = []

    def ask(request):
        asked.append(request)
        return ApprovalReply(allowed=len(asked) == 1, by="ann", reason="once is enough")

    served = serve("hinted", settings={"risk": "high"}, accepted=declared("hinted"), ask=ask)
    assert served.call("echo", text="one").ok
    assert "once is enough" in served.call("echo", text="two").text
    assert [(one.tool, one.arguments) for one in asked] == [
        ("small__echo", {"text": "one"}), ("small__echo", {"text": "two"}),
    ]  # fmt: skip
    assert "not ours" in asked[0].risk


def test_a_hint_of_the_server_that_it_only_reads_is_not_believed(serve):
    served = serve("hinted", settings={"writes": True}, write=True, accepted=declared("hinted"))
    served.call("echo", text="x")
    assert served.begun == ["small__echo"]


def test_a_server_that_may_write_is_for_roles_that_may(serve, state):
    with pytest.raises(BadRules, match="no write = true"):
        serve(settings={"writes": True})


def test_a_read_only_task_calls_no_server_that_writes(serve):
    served = serve(settings={"writes": True}, write=True, constraints=("Read only",))
    assert "this task may not" in served.call("echo", text="x").text


@pytest.mark.parametrize(("writes", "written"), [(True, True), (False, False)])
def test_it_writes_where_its_role_may_and_it_is_said_to(serve, state, tmp_path, writes, written):
    granted = tmp_path / "granted"
    granted.mkdir()
    state.layout.config.write_text(f'[sandbox]\nwritable = ["{granted}"]\n')
    served = serve(settings={"writes": writes}, write=True)
    assert served.call("write", path=str(granted / "a.txt")).ok is written
    assert (granted / "a.txt").exists() is written
    assert not served.call("write", path=str(state.root / "lumen.toml")).ok
    assert not served.call("write", path=str(state.layout.custom_tools / "new.py")).ok


def test_it_reaches_no_network_that_it_was_not_given(serve, state):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        closed = serve(network=True)
        assert not closed.call("reach", host="127.0.0.1", port=port).ok
        state.layout.config.unlink()
        opened = serve(settings={"network": True}, network=True)
        assert opened.call("reach", host="127.0.0.1", port=port).text == "reached"


def test_it_gets_the_variables_that_it_is_given_and_their_values_are_masked(serve):
    environ = {"PLAIN_WORD": "open sesame", "OTHER_TOKEN": "t-98765432", "ANTHROPIC_API_KEY": "sk-nobody-gets-it"}
    served = serve(settings={"env": ["PLAIN_WORD"]}, environ=environ)
    told = served.call("env").text
    assert "PLAIN_WORD" in told and "open sesame" not in told
    assert "OTHER_TOKEN" not in told and "ANTHROPIC_API_KEY" not in told


def test_a_missing_variable_is_named(serve):
    assert "needs GITHUB_TOKEN in the environment" in serve(settings={"env": ["GITHUB_TOKEN"]}).call("env").text


def test_images_are_kept_as_files_and_the_rest_is_named(serve):
    served = serve()
    told = served.call("image").text
    assert "[image: kept as outputs/1.png" in told and "no base64" in told and "strange" in told
    assert (served.context.folder / "outputs/1.png").read_bytes().startswith(b"\x89PNG")
    assert "[a link: file:///etc/shadow notes]" in told


def test_a_long_result_is_cut_and_kept_whole(serve):
    served = serve()
    result = served.call("big")
    assert result.truncated > 1_900_000
    assert (served.context.folder / "outputs/1.txt").stat().st_size == 2_000_000


def test_an_error_of_the_tool_is_told_and_the_server_goes_on(serve):
    served = serve()
    assert (served.call("fail").ok, served.call("fail").text) == (False, "it did not work")
    assert served.call("echo", text="x").ok


def test_what_it_returns_makes_later_notes_untrusted(serve):
    served = serve()
    served.call("echo", text="x")
    assert served.context.memo.web == {"mcp:small"}


# What goes wrong


def test_a_changed_definition_is_refused_and_reported_until_it_is_accepted(serve, state):
    served = serve("changed", accepted=declared())
    result = served.call("echo", text="x")
    assert "is not declared by its server as it was accepted" in result.text
    assert served.call("fail").text == "it did not work"
    assert served.notes == ["the tools of small are not what was accepted (changed: echo): `lumen-tui tool show small`"]
    (problem,) = records.server_problems(state.layout, load_config(state.layout)[0], [])
    assert "changed: echo" in problem.what and "tool accept small" in problem.hint
    accept(state, records.seen(state.layout, "small"))
    assert records.server_problems(state.layout, load_config(state.layout)[0], []) == []


@pytest.mark.parametrize("ways", [("swaps", "modern"), ("swaps", "legacy"), ("sneaks", "ttl")])
def test_a_definition_that_changes_while_it_runs_is_refused_from_then_on(serve, ways):
    served = serve(*ways, accepted=declared())
    assert served.call("echo", text="x").ok
    assert "as it was accepted" in served.call("echo", text="x").text


def test_new_tools_are_no_tools_before_they_are_accepted(serve):
    first = declared()
    served = serve(accepted=msgspec.structs.replace(first, tools=first.tools[:3]))
    assert served.call(first.tools[0].name).text != ""
    assert "not among those of this task" in served.call("spawn").text


def test_without_acceptance_no_task_begins(serve, state):
    configure(state, "other", writes=False)
    with pytest.raises(BadRules, match="not accepted yet: `lumen-tui tool check other`"):
        serve(mcp=("small", "other"))
    with pytest.raises(BadRules, match=r"\[mcp.servers.none\] is not in lumen.toml"):
        serve(mcp=("none",))


def test_hidden_text_makes_a_tool_unusable(serve):
    served = serve("hidden", accepted=declared("hidden"))
    assert "small__echo" not in [tool.name for tool in served.box.declarations()]
    assert "not among those of this task" in served.call("echo", text="x").text


@pytest.mark.parametrize("way", ["modern", "legacy"])
def test_what_it_asks_for_is_refused(serve, way, tmp_path):
    served = serve("asks", way)
    assert served.call("echo", text="x").ok
    assert served.notes == [
        f"the MCP server small asks for {asked}: refused"
        for asked in ("sampling/createMessage", "elicitation/create", "roots/list")
    ]


def test_a_call_that_needs_input_fails(serve):
    served = serve("needs-input")
    result = served.call("echo", text="x")
    assert not result.ok and "elicitation/create" in result.text and "password" not in result.text
    assert served.call("fail").ok is False


@pytest.mark.parametrize(
    ("way", "tool", "what"),
    [
        ("die", "die", r"exit code 3 \(out of luck\)"),
        ("hang", "hang", "no answer to tools/call"),
        ("flood", "echo", "messages that nobody asked for|more than"),
        ("noise", "echo", "lines that are no messages"),
        ("huge", "echo", "a message of more than"),
    ],
)
def test_a_server_that_fails_is_ended_and_started_again_a_few_times(serve, monkeypatch, way, tool, what):
    monkeypatch.setattr(client, "_MOST_UNSOLICITED", 500)
    monkeypatch.setattr(stdio, "MAX_MESSAGE", 1_000_000)
    served = serve(way, settings=QUICK if way == "hang" else None)
    given = {"text": "x"} if tool == "echo" else {}
    for _ in range(3):
        result = served.call(tool, **given)
        assert not result.ok
        assert "may have been done or not" in result.text
    assert re.search(what, result.text), result.text
    assert "not started again" in result.text
    assert "was started 3 times" in served.call("fail").text


def test_the_total_is_bounded(serve, monkeypatch):
    monkeypatch.setattr(stdio, "MAX_TOTAL", 3_000_000)
    served = serve()
    assert served.call("big").ok
    assert "more than 3,000,000 bytes" in served.call("big").text


@pytest.mark.parametrize(
    ("ways", "what"),
    [
        (("legacy", "mute"), "no answer to"),
        (("mute-list",), "no answer to"),
        (("legacy", "old"), "speaks version 1999-01-01"),
        (("endless",), "has no end"),
        (("twice",), "declares 'echo' twice"),
        (("many",), "declares more than 500 tools"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_with_the_reason(serve, ways, what):
    served = serve(*ways, settings={"start_seconds": 1.0 if "mute" in ways[-1] else 30.0})
    assert what in served.call("echo", text="x").text


def test_a_program_that_is_not_there_is_said(serve):
    served = serve(settings={"command": ["/nowhere/server"]})
    assert not served.call("echo", text="x").ok


def test_its_errors_are_in_a_log_that_is_bounded(serve):
    served = serve("stderr")
    for _ in range(2):
        assert served.call("echo", text="x").ok
    served.box.close()
    size = (served.context.folder / "logs/small.log").stat().st_size
    assert 200_000 < size < 300_000


def test_stopping_the_task_ends_a_call_and_the_server(serve):
    looks = []
    served = serve(stopped=lambda: bool(looks) and (looks.append(1) or len(looks) > 5))
    assert served.call("echo", text="x").ok
    looks.append(1)
    with pytest.raises(Stopped):
        served.call("hang")
    assert len(looks) > 5


def test_its_children_end_with_the_task(serve):
    served = serve()
    spawned = served.call("spawn", seconds="36123")
    assert spawned.ok, spawned.text
    until(lambda: _running("sleep", "36123"), seconds=10)
    served.box.close()
    until(lambda: not _running("sleep", "36123"))


def _running(*command: str) -> list[str]:
    """The processes with this command line."""
    wanted = "\0".join(command) + "\0"
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and _command_line(pid) == wanted]


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_requests_of_the_newer_protocol_offer_nothing(serve, tmp_path, state):
    log = tmp_path / "granted"
    log.mkdir()
    state.layout.config.write_text(f'[sandbox]\nwritable = ["{log}"]\n')
    environ = {"SERVER_LOG": str(log / "log")}
    served = serve(settings={"env": ["SERVER_LOG"], "writes": True}, write=True, environ=environ)
    served.call("echo", text="x")
    asked = [line.partition(" ")[::2] for line in (log / "log").read_text().splitlines()]
    assert [method for method, _ in asked] == ["server/discover", "tools/list", "tools/list", "tools/call"]
    for _, params in asked:
        meta = json.loads(params)["_meta"]
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert messages.MAX_MESSAGE >= 1_000_000
