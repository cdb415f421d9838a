"""A question of a worker in the room: shown, answered from the keyboard, taken back; what is said to a task."""

from __future__ import annotations

import pytest

from lumen_tui.store import approvals
from lumen_tui.store.tasks import steers

SIZES = ((120, 40), (80, 24))


async def typed(room, text: str) -> None:
    await room.press(*({" ": "space", ".": "full_stop", "/": "slash"}.get(letter, letter) for letter in text))


@pytest.mark.parametrize("size", SIZES)
async def test_a_question_is_answered_with_the_number_of_an_option(desk, open_room, size):
    question = desk.question("Which port is it to be?", "80", "8443")
    async with open_room(desk, size) as room:
        await room.sees("1 needs you")
        await room.press("n", "enter")
        await room.sees("builder asks", "Which port is it to be?", "8443", "it goes on with: 8080")
        await room.press("2")
        await room.press("enter")
        await room.until(lambda: desk.answer(question))
        assert (desk.answer(question).answer, desk.answer(question).by) == ("8443", "ann")
        await room.until(lambda: room.needs == 0)
        await room.press("u")
        await room.until(lambda: desk.answer(question) is None and room.needs == 1)


async def test_a_free_answer_from_the_list_of_what_needs_one(desk, open_room):
    question = desk.question("Which name?\x1b[2J\u202e <order>", "a", "b")
    async with open_room(desk) as room:
        await room.press("!")
        await room.sees("question", "builder asks: Which name?", "a · b")
        await room.press("d")
        await room.sees("somebody waits for your answer")
        await room.press("enter")
        await room.sees("builder asks", "task ")
        await room.press("enter")
        await room.sees("Give an answer")
        await typed(room, "the third one")
        await room.press("enter")
        await room.until(lambda: desk.answer(question))
        assert desk.answer(question).answer == "the third one"


@pytest.mark.parametrize("size", SIZES)
async def test_the_page_of_the_task_shows_the_question_and_what_was_said(desk, open_room, size):
    task = desk.task()
    question = desk.question("Which port?", task=task)
    async with open_room(desk, size) as room:
        await room.press("3")
        await room.press("enter")
        await room.sees("asks", "Which port?", "it goes on with: 8080")
        await room.press("M")
        await room.sees("Tell task", "as your order")
        await typed(room, "Mind the tests.")
        await room.press("enter")
        await room.sees("Mind the tests. (ann, waits for its next request)")
        assert [steer.text for steer in steers.read(desk.layout.task(task))] == ["Mind the tests."]
        await room.press("equals_sign")
        await room.sees("Limits of task")
        await typed(room, "eighty")
        await room.press("enter")
        await room.sees("Give a whole number")
        await room.press(*["backspace"] * 6)
        await typed(room, "80")
        await room.press("tab")
        await typed(room, "2 h")
        await room.press("enter")
        await room.sees("at most 80 tool calls")
        await room.press("r")
        await room.sees("builder asks")
        await typed(room, "443")
        await room.press("enter")
        await room.until(lambda: approvals.decision(desk.layout, question.id))


async def test_a_message_from_the_list_of_workers(desk, open_room):
    task = desk.task()
    async with open_room(desk) as room:
        await room.press("3")
        await room.press("M")
        await room.sees("Tell task")
        await room.press("enter")
        await room.sees("Write a message")
        await typed(room, "Only /srv.")
        await room.press("enter")
        await room.until(lambda: [steer.text for steer in steers.read(desk.layout.task(task))] == ["Only /srv."])


async def test_a_task_that_has_ended_takes_no_message(desk, open_room):
    desk.ended(desk.task(), "failed", "no")
    async with open_room(desk) as room:
        await room.press("3")
        await room.press("M")
        await room.sees("the task has ended")
