"""The chat in the room: said, followed as it grows, stopped and begun anew from the keyboard, at any size."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from lumen_robot import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.approvals import Approval
from lumen_tui.model.chat import ChatLine, EntryKind
from lumen_tui.model.tasks import Spec, TaskEvent
from lumen_tui.model.times import iso
from lumen_tui.queries.chat_views import looker
from lumen_tui.storage import origin
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.sessions import chats
from lumen_tui.store.tasks import task_files
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.chat import ChatScreen

_NOW = 1_790_000_000.0  # 2026-09-21 14:13 UTC
_AT = iso(_NOW)


@pytest.fixture
def port(port: RemotePort, monkeypatch: pytest.MonkeyPatch) -> RemotePort:
    """A port of a room at a terminal, which the process of the tests does not have."""
    monkeypatch.setattr(origin, "no_operator", lambda _: "")
    return RemotePort(port.root, "ann", clock=port._clock)


def _screen(port: RemotePort, why: str = "", opened: list[str] | None = None) -> ChatScreen:
    return ChatScreen(port, looker(Layout(port.root)), why, ([] if opened is None else opened).append)


def _turn(layout: Layout, number: int, asked: str, *answers: str, status: str = "done", reason: str = "") -> None:
    name = f"msg-{number}"
    lines = [
        ChatLine(EntryKind.MESSAGE, at=_AT, id=name, by="ann", text=asked, order=True),
        ChatLine(EntryKind.TURN, at=_AT, turn=number, answers=(name,)),
        *(ChatLine(EntryKind.SAID, turn=number, text=text, answer=1) for text in answers),
    ]
    if status:
        lines.append(ChatLine(EntryKind.END, turn=number, status=status, reason=reason))
    chats.append(layout, *lines)


def _happens(layout: Layout, *events: TaskEvent) -> None:
    if not layout.task("chat-000001").exists():
        task_files.add(layout, Spec(id="chat-000001", objective="Tell me", role="main"))
    Journal(layout.task("chat-000001") / "events.jsonl").append_all(events)


async def test_what_is_typed_is_said_and_waits_where_no_engine_runs(room: Any, port: RemotePort) -> None:
    layout = Layout(port.root)
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "No messages yet" in app.shown)
        await pilot.press(*"hi?", "enter")
        await until(pilot, lambda: "waits for the agent" in app.shown)
        (message,) = chats.read(layout).waiting
        assert (message.text, message.by, message.order) == ("hi?", "ann", True)
        assert not app.screen.query_one("#say", Prose).text
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not chats.read(layout).waiting)
        await until(pilot, lambda: "No messages yet" in app.shown)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_it_follows_the_answer_as_it_is_written(room: Any, port: RemotePort, size: tuple[int, int]) -> None:
    layout = Layout(port.root)
    _turn(layout, 1, "Tell me", status="")
    async with room(_screen(port), size) as (app, pilot):
        await until(pilot, lambda: "turn 1 is answered" in app.shown)
        _happens(layout, TaskEvent(_AT, "text", "I look at "))
        await until(pilot, lambda: "I look at" in app.shown)
        _happens(
            layout, TaskEvent(_AT, "text", "the queue. "), TaskEvent(_AT, "call", "list_dir /tmp", tool="list_dir")
        )
        chats.append(
            layout,
            ChatLine(EntryKind.SAID, turn=1, text="I look at the queue. ", answer=1),
            ChatLine(EntryKind.CALL, turn=1, id="c1", name="list_dir", arguments={"path": "/tmp"}, answer=1),
        )
        await until(pilot, lambda: "list_dir /tmp …" in app.shown)
        assert app.shown.count("I look at the queue.") == 1
        _happens(layout, TaskEvent(_AT, "result", "3 entries"), TaskEvent(_AT, "text", "Three files "))
        await until(pilot, lambda: "Three files" in app.shown)
        chats.append(
            layout,
            ChatLine(EntryKind.SAID, turn=1, text="Three files are there.", answer=2),
            ChatLine(EntryKind.END, turn=1, status="done"),
        )
        await until(pilot, lambda: "Three files are there." in app.shown and "is answered" not in app.shown)
        app.harmless()


async def test_how_a_turn_ended_is_said(room: Any, port: RemotePort) -> None:
    layout = Layout(port.root)
    _turn(layout, 1, "One", "It was half", status="cut off", reason="killed")
    _turn(layout, 2, "Two", status="refused", reason="the budget of today is used up")
    chats.append(layout, ChatLine(EntryKind.CUT, turn=3, text="[earlier]"))
    _turn(layout, 3, "Three", "Here I am", status="stopped")
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "(cut off: killed)" in app.shown)
        assert "(not begun: the budget of today is used up)" in app.shown and "(stopped)" in app.shown
        assert "no longer sent to the agent" in app.shown


async def test_an_approval_is_shown_in_place_and_opened(room: Any, port: RemotePort) -> None:
    layout, opened = Layout(port.root), list[str]()
    _turn(layout, 1, "Look", status="")
    asked = Approval(
        id=approvals.id_for("chat-000001", "h", 0), task_id="chat-000001", tool="list_dir", hash="h", asked_at=_AT,
        expires_at=iso(_NOW + 900), summary="list_dir /tmp", role="main",
    )  # fmt: skip
    approvals.ask(layout, asked)
    _happens(layout, TaskEvent(_AT, "waiting", "waits", data={"approval": asked.id}))
    async with room(_screen(port, opened=opened)) as (app, pilot):
        await until(pilot, lambda: "needs your approval: list_dir /tmp" in app.shown)
        await pilot.press("f4")
        assert opened == [asked.id]
        _happens(layout, TaskEvent(_AT, "answered", "allowed"))
        await until(pilot, lambda: "needs your approval" not in app.shown)


async def test_what_cannot_be_said_stays_in_the_field_with_the_reason(room: Any, port: RemotePort) -> None:
    async with room(_screen(port)) as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: "Say it in a few words first" in app.shown)
        field = app.screen.query_one("#say", Prose)
        field.text = "x" * 1_000_000
        await pilot.press("f2")
        await until(pilot, lambda: "1,000,000 bytes, a chat takes 30,000" in app.shown)
        assert len(field.text) == 1_000_000 and not Layout(port.root).chat.exists()


async def test_a_new_conversation_begins_empty_and_only_when_nothing_is_answered(room: Any, port: RemotePort) -> None:
    layout = Layout(port.root)
    _turn(layout, 1, "One", "The answer")
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "The answer" in app.shown)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "The agent is not answering." in app.shown)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "No messages yet" in app.shown)
        assert chats.read(layout).turns and not chats.read(layout).current
        _turn(layout, 2, "Two", status="")
        await until(pilot, lambda: "turn 2 is answered" in app.shown)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "The agent is answering." in app.shown)


async def test_a_long_conversation_is_scrolled_and_keeps_its_place(room: Any, port: RemotePort) -> None:
    layout = Layout(port.root)
    for number in range(1, 60):
        _turn(layout, number, f"Question {number}", f"Answer {number}")
    async with room(_screen(port), (80, 24)) as (app, pilot):
        await until(pilot, lambda: "Answer 59" in app.shown)
        assert "19 earlier turns" in app.shown
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: "Answer 59" not in app.shown)
        before = app.shown.splitlines()[2]
        _turn(layout, 60, "Question 60", "Answer 60")
        await until(pilot, lambda: "20 earlier turns" in app.shown)
        assert "Answer 60" not in app.shown and before
        await pilot.press("tab", "G")
        await until(pilot, lambda: "Answer 60" in app.shown)


async def test_in_a_room_that_only_looks_nothing_is_said(room: Any, port: RemotePort) -> None:
    async with room(_screen(port, "read-only")) as (app, pilot):
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "read-only" in app.shown)
        assert not Layout(port.root).chat.exists()
        assert app.screen.query_one("#say", Prose).text == "hi"


async def test_hostile_words_do_nothing(room: Any, port: RemotePort, hostile: str) -> None:
    layout = Layout(port.root)
    _turn(layout, 1, hostile, hostile, status="failed", reason=hostile)
    line = ChatLine(EntryKind.CALL, turn=2, id="c", name=hostile, arguments={"a": hostile})
    _turn(layout, 2, "again", status="")
    layout.chat.write_bytes(layout.chat.read_bytes() + msgspec.json.encode(line) + b"\n")
    async with room(_screen(port), (60, 15)) as (app, pilot):
        await until(pilot, lambda: "again" in app.shown)
        await pilot.press("pageup", "pageup")
        app.harmless()
