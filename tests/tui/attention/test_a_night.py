"""An operator's night: what came in by the morning is dealt with from the keyboard, each thing once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from lumen_tui.model.snapshot import Need

MOST = 150  # keys
SIGNALS, DISCOVERIES = 30, 40
_PLACES = ("checkout", "search", "export", "login", "cart", "invoice", "report", "session")
_FAULTS = ("leaks a socket", "ignores the time zone", "logs a token", "has no index", "repeats after midnight")


class Night:
    """What came in, and the keys that were pressed about it."""

    def __init__(self, desk: Any, room: Any) -> None:
        self.desk, self.room, self.keys = desk, room, 0

    async def press(self, *keys: str) -> None:
        self.keys += len(keys)
        await self.room.press(*keys)

    def waiting(self, *kinds: Need) -> int:
        return sum(row.need in kinds for row in self.room.app.room.snapshot.attention)

    async def answer(self, key: str, kind: Need) -> None:
        """Answer the first of a kind, and wait until it is off the list."""
        before = self.waiting(kind)
        await self.press(key)
        await self.room.until(lambda: self.waiting(kind) == before - 1)
        await self.room.rested()


async def test_a_night_is_dealt_with_in_150_keys_and_nothing_is_missed_or_asked_twice(
    desk: Any, open_room: Any
) -> None:
    calls = [desk.ask(f"make {name}") for name in ("deploy", "docs", "wheel", "clean")]
    questions = [desk.question(text, "8080", "9090") for text in ("Which port?", "And for staging?")]
    failed = [desk.task(f"fetch page {number}") for number in range(3)]
    for task in failed:
        desk.ended(task)
    for number in range(SIGNALS):
        desk.do("signal.send", by="agent-b", message=f"step {number} done")
    found = [
        desk.do("node.create", content=f"The {place} {fault}", type="bug", priority="P2").target
        for place in _PLACES
        for fault in _FAULTS
    ]
    async with open_room(desk) as room:
        night = Night(desk, room)
        await night.press("exclamation_mark")
        for _ in calls:
            await night.answer("y", Need.APPROVAL)
        for remaining in (1, 0):
            await night.press("enter", "2", "enter")
            await room.until(lambda remaining=remaining: night.waiting(Need.QUESTION) == remaining)
            await night.press("exclamation_mark")
        for _ in failed:
            await night.answer("d", Need.FAILED)
        await night.press("escape", "4", "A")
        await room.until(lambda: room.app.room.snapshot.unread == 0)
        await night.press("5", "enter")
        for number in range(DISCOVERIES):
            await night.press("a", "3")
            await room.until(lambda number=number: len(room.app.room.snapshot.discoveries) == DISCOVERIES - 1 - number)
        await night.press("escape")
        await room.until(lambda: not room.needs)
    assert night.keys <= MOST, night.keys
    assert all(desk.answer(call).allowed for call in calls)
    assert [desk.answer(question).answer for question in questions] == ["9090", "9090"]
    assert {desk.port.node(node).metadata["archive_reason"] for node in found} == {"stale"}
    lines = [json.loads(line) for line in desk.layout.actions.read_bytes().splitlines()]
    done = Counter({line["id"]: line["verb"] for line in lines}.values())  # an action is a line when it begins and ends
    assert done["approval.allow"] == len(calls) and done["question.answer"] == len(questions)
    assert done["attention.dismiss"] == len(failed) and done["signal.read_all"] == 1
    assert done["triage.archive"] == DISCOVERIES, "each was judged once"
