"""The page of a question that somebody else answers, the walls it names, and `n` from wherever one is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lumen_tui.actions.registry import named, perform
from lumen_tui.model.approvals import Approval, Decision, call_hash
from lumen_tui.model.config import Config
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.roles import Role
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.times import iso
from lumen_tui.model.toolservers import McpConfig, ToolServer
from lumen_tui.store import approvals
from lumen_tui.store.settings.config import load_config
from lumen_tui.tui.screens.approval_page import answer_words
from lumen_tui.tui.screens.approval_risks import SandboxView, high, sandbox_of
from lumen_tui.tui.screens.approvals import ApprovalScreen

NOW = 1_800_000_000.0


def by_bob(desk: Any, verb: str, request: Approval, **more: Any) -> None:
    perform(desk.store, named(verb, {"approval_ids": [request.id], **more}), by="bob", now=desk.clock.wall)


async def test_an_answer_from_elsewhere_shows_at_once_and_ends_the_offers(desk: Any, open_room: Any) -> None:
    request = desk.ask("make deploy")
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 1", "y allow")
        by_bob(desk, "approval.deny", request, reason="not on a Friday")
        await room.sees("Answered", "denied by bob", "not on a Friday")
        assert "y allow" not in room.text
        assert "auto-denied" not in room.text
        await room.press("y")
        await room.sees("Already answered: denied by bob")
        assert desk.answer(request).by == "bob"
        perform(desk.store, named("undo", {}), by="bob", now=desk.clock.wall)
        await room.sees("Approval request: 1 of 1", "y allow", "auto-denied")


async def test_what_ran_out_says_so(desk: Any, open_room: Any) -> None:
    request = desk.ask("make deploy")
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 1")
        approvals.expire(desk.store.layout, request, request.expires)
        await room.sees("Answered", "expired", "nobody answered within")


def test_the_words_for_each_way_in_which_a_question_ends() -> None:
    given = {"command": "make"}
    request = Approval("apr-1", "tsk-a", "shell", call_hash("shell", given), iso(NOW), iso(NOW + 3600), given)
    answer = Decision(True, request.hash, iso(NOW - 120), "ann", "fine", always=True)
    assert answer_words(answer, request, NOW) == "allowed by ann, 2 min ago, and always: fine"
    withdrawn = Decision(False, request.hash, "", "engine", ended="withdrawn")
    assert answer_words(withdrawn, request, NOW) == "withdrawn"
    assert "no longer pending" in answer_words(None, request, NOW)


async def test_the_pattern_of_a_rule_is_edited_before_it_is_saved(desk: Any, open_room: Any) -> None:
    request = desk.ask("make test")
    async with open_room(desk) as room:
        await room.press("n", "A", "2")
        await room.sees("Allow always?", "on: make test, without asking", "a save the rule")
        await room.press("e")
        await room.sees("The rule's pattern")
        await room.press(*["backspace"] * 4, *"lint", "enter")
        await room.sees("does not cover the call itself")
        await room.press(*["backspace"] * 4, "asterisk", "enter")
        await room.sees("Allow always?", "on: make *, without asking")
        await room.press("a")
        await room.until(lambda: desk.answer(request))
        await room.until(lambda: load_config(desk.store.layout)[0].allow)
        assert [rule.pattern for rule in load_config(desk.store.layout)[0].allow] == ["make *"]


def question(command: str) -> Approval:
    given = {"command": command}
    return Approval(
        "apr-1", "tsk-a", "shell", call_hash("shell", given), iso(NOW), iso(NOW + 3600), given, role="builder"
    )


def seen(tier: str, *roles: Role) -> Snapshot:
    beat = Heartbeat(beat=1, phase="asleep", at=iso(NOW), sandbox=tier)
    return Snapshot(root="/s", taken=NOW, engine=EngineView(EngineLife.ALIVE, beat), roles=roles)


def test_the_network_is_no_risk_where_walls_shut_it_out() -> None:
    builder, fetcher = Role("builder", ""), Role("builder", "", network=True)
    asked = question("pip install x")
    assert high(asked, sandbox_of(asked, seen("bubblewrap", builder))) == ""
    assert high(asked, sandbox_of(asked, seen("landlock", builder))) == ""
    for picture in (seen("ask", builder), seen("bubblewrap", fetcher), seen("bubblewrap"), seen("")):
        assert high(asked, sandbox_of(asked, picture)) == "it may reach the network"
    asked = question("rm -rf x && curl y")
    assert high(asked, sandbox_of(asked, seen("bubblewrap", builder))) == "it may remove something or end a process"


def test_the_page_names_the_walls() -> None:
    assert SandboxView("bubblewrap", network=False).words("shell") == "bubblewrap, without network"
    assert SandboxView("landlock", network=True).words("shell") == "Landlock, with the network open to this role"
    assert SandboxView("ask", network=False).words("shell") == "none: the command can do anything you can"
    assert "unknown" in SandboxView().words("shell")
    assert "no command runs" in SandboxView("bubblewrap").words("write_file")
    assert "with the network open" in SandboxView("bubblewrap").words("claude:mcp__desk__look")


SERVERS = {
    "git": ToolServer(("git-server",), writes=False),
    "files": ToolServer(("file-server",)),
    "web": ToolServer(url="https://example.org/mcp", writes=False),
}


@pytest.mark.parametrize(
    ("tool", "walls", "risk"),
    [
        ("git__log", "its server runs in bubblewrap, without network", ""),
        ("files__write", "its server runs in bubblewrap, without network", "it may change something"),
        ("web__get", "none: the call goes over the network", "it reaches the network"),
        ("gone__get", "no command runs", "nothing is known of its server"),
        ("count", "bubblewrap, with the network open to this role", ""),
    ],
)
def test_a_call_of_a_server_is_shown_with_its_own_walls_and_risk(tool: str, walls: str, risk: str) -> None:
    builder = Role("builder", "", network=True, custom_tools=("count",), mcp=("git", "files", "web"))
    picture = replace(seen("bubblewrap", builder), config=Config(mcp=McpConfig(SERVERS)))
    asked = replace(question("x"), tool=tool, arguments={"repo_path": "/srv/shop"} if "__" in tool else {})
    assert sandbox_of(asked, picture).words(tool).startswith(walls)
    assert high(asked, sandbox_of(asked, picture)) == risk


async def test_n_goes_on_from_a_sheet_and_not_out_of_a_form(desk: Any, open_room: Any) -> None:
    desk.ask("make deploy")
    async with open_room(desk) as room:
        await room.press("L")
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 1")
        assert len(room.app.screen_stack) == 2
        await room.press("enter")
        await room.sees("─ Task ")
        await room.press("N", "enter")
        await room.sees("Approval request: 1 of 1")
        assert len(room.app.screen_stack) == 2
        await room.press("escape", "t", "n")
        assert room.app.screen.query_one("TextArea, Input")
        assert len(room.app.screen_stack) == 2


async def test_n_says_why_where_there_is_nothing(desk: Any, open_room: Any) -> None:
    async with open_room(desk) as room:
        told: list[str] = []
        room.app.notify = lambda text, **_: told.append(text)
        await room.press("L", "n")
        assert told == ["next: nothing needs you"]
        assert len(room.app.screen_stack) == 2


async def test_a_word_in_the_corner_stands_there_once(desk: Any, open_room: Any) -> None:
    async with open_room(desk) as room:
        await room.press("L", "n", "n", "N", "n")
        assert [note.message for note in room.app._notifications] == ["next: nothing needs you"]


async def test_the_minutes_of_a_question_go_on_without_a_newer_picture(
    desk: Any, open_room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ApprovalScreen, "show", lambda *_: None)
    desk.ask("make deploy")
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("5 min ago", "auto-denied in 55 min")
        desk.clock.wall += 61
        room.app.room._tick()
        await room.sees("6 min ago", "auto-denied in 53 min")


def test_a_rule_of_another_pattern_is_on_file_as_it_was_shown(desk: Any) -> None:
    request = desk.ask("make test")
    desk.do("approval.allow_always", approval_id=request.id, pattern="make *", hash=request.hash)
    rule = load_config(desk.store.layout)[0].allow[0]
    assert msgspec.structs.asdict(rule) | {"at": ""} == {
        "tool": "shell", "role": "builder", "pattern": "make *", "folder": "", "unwalled": False, "task": "",
        "by": "ann", "at": "",
    }  # fmt: skip
