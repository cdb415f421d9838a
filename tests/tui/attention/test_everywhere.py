"""Command log, black box, repeat and claim on the screens over the room: one table of keys, the same meaning."""

from __future__ import annotations

from typing import Any

import pytest

from lumen_tui.tui.kit.screen import DetailScreen
from lumen_tui.tui.past_room import PastRoom
from lumen_tui.tui.screens.command_log import CommandLogScreen
from lumen_tui.tui.screens.task_detail import TaskDetailScreen

# Keys that open a list or a page whatever is in the folder; in the chat and in search one types.
OPENERS = ("W", "comma", "percent_sign", "C", "V", "L", "H", "J", "F", "E", "quotation_mark", "O", "dollar_sign", "h",
           "vertical_line")  # fmt: skip


def notes(room: Any) -> list[str]:
    return [note.message for note in room.app._notifications]


def in_front(room: Any, kind: type) -> bool:
    return isinstance(room.app.screen, kind)


@pytest.mark.parametrize("opener", OPENERS)
async def test_the_log_and_the_black_box_open_over_every_screen(desk: Any, open_room: Any, opener: str) -> None:
    desk.ask("make deploy")
    async with open_room(desk) as room:
        await room.press(opener)
        await room.until(lambda: in_front(room, DetailScreen))
        below = room.app.screen
        await room.press("semicolon")
        await room.until(lambda: in_front(room, CommandLogScreen))
        await room.press("semicolon")
        await room.until(lambda: any("commands: this is it" in note for note in notes(room)))
        await room.press("escape", "tilde")
        await room.until(lambda: in_front(room, PastRoom))
        await room.press("escape")
        await room.until(lambda: room.app.screen is below)


async def test_the_pages_of_an_approval_a_task_and_a_discovery_have_them_too(desk: Any, open_room: Any) -> None:
    desk.ask("make deploy", task=desk.task("ship it"))
    desk.do("node.create", content="a race")
    async with open_room(desk) as room:
        for keys in (("exclamation_mark", "enter"), ("3", "enter"), ("5", "enter")):
            await room.press(*keys, "semicolon")
            await room.until(lambda: in_front(room, CommandLogScreen))
            await room.press("escape", "tilde")
            await room.until(lambda: in_front(room, PastRoom))
            await room.press("escape", "escape", "escape")
            await room.until(lambda: len(room.app.screen_stack) == 1)


async def test_a_task_and_a_discovery_are_claimed_and_released_on_their_pages(desk: Any, open_room: Any) -> None:
    task = desk.task("ship it")
    node = desk.do("node.create", content="a race").target

    def claims() -> dict[str, str]:
        return {name: claim.by for name, claim in room.app.room.snapshot.operators.claims.items()}

    async with open_room(desk) as room:
        await room.press("3", "enter", "ampersand")
        await room.sees("claimed until")
        await room.until(lambda: claims() == {task: "ann"})
        await room.press("escape", "5", "enter", "full_stop")  # a claim is repeated as well
        await room.until(lambda: claims() == {task: "ann", node: "ann"})
        await room.press("ampersand")
        await room.until(lambda: claims() == {task: "ann"})
        await room.press("escape", "3", "full_stop")
        await room.until(lambda: claims() == {})


async def test_where_nothing_can_be_claimed_that_is_said(desk: Any, open_room: Any) -> None:
    async with open_room(desk) as room:
        await room.press("L", "ampersand")
        await room.until(lambda: any("claim: there is nothing here to claim" in note for note in notes(room)))
        await room.press("full_stop")
        await room.until(lambda: any("repeat: nothing to repeat yet" in note for note in notes(room)))


async def test_a_verdict_and_a_change_are_repeated_on_the_triage_screen(desk: Any, open_room: Any) -> None:
    for number in range(6):
        desk.do("node.create", content=f"thing {number}", priority=f"P{min(3, number)}")

    def priorities() -> list[str]:
        return [row.node.priority for row in room.app.room.snapshot.discoveries]

    async with open_room(desk) as room:
        await room.press("5", "enter", "a", "r", *"known", "enter")
        await room.sees("5 open")
        await room.press("full_stop")
        await room.sees("4 open", "2 done")
        await room.press("less_than_sign")
        await room.until(lambda: priorities() == ["P3"] * 4)
        await room.press("greater_than_sign")
        await room.until(lambda: sorted(priorities()) == ["P2", "P3", "P3", "P3"])
        await room.press("G", "full_stop")
        await room.until(lambda: sorted(priorities()) == ["P2", "P2", "P3", "P3"])
        await room.press("e", *"er", "enter")
        await room.until(lambda: any("er" in row.node.title for row in room.app.room.snapshot.discoveries))
        await room.press("j", "full_stop")
        await room.until(lambda: any("repeat: a title is that of one discovery alone" in note for note in notes(room)))
        reasons = {entry.reason for entry in desk.port.audit_entries(20) if entry.verb == "triage.archive"}
        assert reasons == {"known"}


async def test_what_was_done_on_a_page_is_in_the_log_and_repeated_on_the_next_page(desk: Any, open_room: Any) -> None:
    first, second = desk.task("ship it"), desk.task("ship more")

    def asked(room: Any) -> list[str]:
        return [command.request.task_id for command in room.app.command_log.commands]

    async with open_room(desk) as room:
        await room.press("3", "enter")
        await room.until(lambda: in_front(room, TaskDetailScreen))
        await room.press("c")
        await room.until(lambda: len(asked(room)) == 1)
        await room.press("semicolon")
        await room.sees("lumen-tui task cancel", "1 command")
        await room.press("escape", "escape", "j", "enter")
        await room.until(lambda: in_front(room, TaskDetailScreen))
        await room.press("full_stop")
        await room.until(lambda: sorted(asked(room)) == sorted((first, second)))


async def test_dismissing_again_denies_no_call(desk: Any, open_room: Any) -> None:
    request = desk.ask("make deploy")
    for name in ("one", "two"):
        desk.ended(desk.task(name))
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 3")
        await room.press("G", "d")
        await room.sees("Needs you · 2")
        await room.press("g", "full_stop")
        await room.sees("a worker waits for your decision")
        assert desk.answer(request) is None
        await room.press("G", "full_stop")
        await room.sees("Needs you · 1")
        assert desk.answer(request) is None


async def test_a_read_only_room_repeats_and_claims_nothing_on_a_page(desk: Any, open_room: Any) -> None:
    desk.task("ship it")
    async with open_room(desk, read_only=True) as room:
        await room.press("3", "enter", "ampersand")
        await room.until(lambda: any("claim: this room was opened with --read-only" in note for note in notes(room)))
        await room.press("full_stop")
        await room.until(lambda: any("repeat: this room was opened with --read-only" in note for note in notes(room)))
