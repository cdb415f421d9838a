"""Several operators: who is here, who has what, who changed it meanwhile, and the note for the next."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from lumen_tui.model.operators import OpenRoom
from lumen_tui.queries.digest import note_visit
from lumen_tui.storage import files, process
from lumen_tui.store import approvals
from lumen_tui.store.sessions import rooms


@pytest.fixture
def elsewhere(driven: Any) -> Iterator[Any]:
    """Another room, of bo, as far as its file and its process say."""
    other = subprocess.Popen(["sleep", "600"])
    client = f"room-{process.name(process.identify(other.pid))}"
    driven.layout.rooms.mkdir(parents=True, exist_ok=True)
    record = OpenRoom(client, "bo", "root", "ssh 192.0.2.7", "2026-11-23T12:00:00Z")
    files.replace(rooms.path(driven.layout, client), msgspec.json.encode(record))
    yield other
    other.kill()
    other.wait()


async def test_who_is_here_stands_in_the_header_until_their_room_is_killed(
    driven: Any, elsewhere: subprocess.Popen[bytes], open_room: Any
) -> None:
    async with open_room(driven, size=(160, 40)) as room:
        await room.until(lambda: "here: bo, ann" in room.lines[0])
        await room.press("vertical_line")
        await room.sees("Operators: 2 rooms", "bo", "ssh 192.0.2.7")
        await room.press("escape")
        elsewhere.kill()
        elsewhere.wait()
        await room.until(lambda: "here:" not in room.lines[0])


async def test_two_rooms_of_one_login_are_told_apart(driven: Any, elsewhere: Any, open_room: Any) -> None:
    (path,) = driven.layout.rooms.iterdir()
    record = msgspec.json.decode(path.read_bytes(), type=OpenRoom)
    files.replace(path, msgspec.json.encode(msgspec.structs.replace(record, operator="ann")))
    async with open_room(driven, size=(160, 40)) as room:
        await room.until(lambda: "here: ann (2)" in room.lines[0])


async def test_a_claim_is_seen_by_the_others_and_locks_nothing(driven: Any, open_room: Any) -> None:
    asked = driven.ask("make deploy")
    async with open_room(driven) as room:
        await room.sees("make deploy")
        driven.do("operator.claim", "bo", targets=[asked.id])
        await room.sees("bo has it: builder asks: make deploy")
        await room.press("exclamation_mark")
        await room.sees("bo has it: builder asks: make deploy")
        await room.rested()
        await room.press("y")
        await room.until(lambda: driven.answer(asked) is not None)


async def test_the_key_claims_the_selected_row_and_releases_it(driven: Any, open_room: Any) -> None:
    task = driven.task("count the lamps")
    async with open_room(driven) as room:
        await room.press("3", "ampersand")
        await room.sees("you have it: count the lamps")
        assert driven.port.snapshot().operators.claims[task].by == "ann"
        await room.press("ampersand")
        await room.until(lambda: "you have it" not in room.text)
        await room.press("u")
        await room.sees("you have it: count the lamps")


async def test_claims_are_made_on_the_list_of_needs_too(driven: Any, open_room: Any) -> None:
    asked = driven.ask("make deploy")
    async with open_room(driven) as room:
        await room.press("exclamation_mark", "ampersand")
        await room.sees("you have it: builder asks")
        assert list(driven.port.snapshot().operators.claims) == [asked.id]


async def test_what_another_changed_meanwhile_is_said_where_it_is_looked_at(driven: Any, open_room: Any) -> None:
    task = driven.task("count the lamps")
    driven.ended(task)
    async with open_room(driven) as room:
        await room.press("3")
        await room.sees("count the lamps")
        driven.do("attention.dismiss", "bo", targets=[task], reason="seen")
        await room.sees("changed by bo 0 s ago")


async def test_an_answer_that_comes_too_late_says_who_answered_and_what(driven: Any, open_room: Any) -> None:
    asked = driven.ask("make deploy")
    async with open_room(driven) as room:
        await room.press("exclamation_mark")
        await room.rested()
        room.app._bridge._stop.set()  # no news comes here any more
        driven.do("approval.deny", "bo", approval_ids=[asked.id], reason="not on a Friday")
        await room.press("y")
        await room.sees("denied by bo", "not on a Friday")
        answer = approvals.decision(driven.layout, asked.id)
        assert answer is not None and answer.by == "bo"


async def test_a_note_is_written_and_shown_once_to_the_next(driven: Any, open_room: Any) -> None:
    note_visit(driven.layout, "ann", driven.clock.wall - 600)
    driven.do("operator.note", "bo", text="The deploy waits for bo.\nDo not retry it.")
    async with open_room(driven) as room:
        await room.sees("Hand-over note from bo", "Do not retry it.")
        await room.press("escape")
        await room.until(lambda: "Hand-over note" not in room.text)
    driven.clock.wall += 60
    async with open_room(driven) as room:
        await room.press("vertical_line")
        await room.sees("The deploy waits for bo.")
        assert "Hand-over note from bo" not in room.text
        await room.press("e")
        await room.sees("Hand-over note")
        await room.press(*"mine", "enter")
        await room.until(lambda: (left := driven.port.snapshot().operators.note) and left.text == "mine")
        await room.sees("note", "ann", "mine")
