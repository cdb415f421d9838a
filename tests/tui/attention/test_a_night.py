"""An operator's night: what came in by the morning is dealt with from the keyboard, each thing once."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lumen_apiserver import text, tool, tools, use
from lumen_program import start_lumen
from lumen_questions import asking_role

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.snapshot import Need

MOST = 150  # keys
CALLS = ("deploy", "docs", "wheel", "clean")
QUESTIONS = ("Which port?", "And for staging?")
FAILURES = 3
SIGNALS, DISCOVERIES = 30, 40
_PLACES = ("checkout", "search", "export", "login", "cart", "invoice", "report", "session")
_FAULTS = ("leaks a socket", "ignores the time zone", "logs a token", "has no index", "repeats after midnight")
_TITLES = [f"The {place} {fault}" for place in _PLACES for fault in _FAULTS]


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

    async def play(self) -> None:
        """Deal with everything, in the order of the list."""
        await self.press("exclamation_mark")
        for _ in CALLS:
            await self.answer("y", Need.APPROVAL)
        for remaining in reversed(range(len(QUESTIONS))):
            await self.press("enter", "2", "enter")
            await self.room.until(lambda remaining=remaining: self.waiting(Need.QUESTION) == remaining)
            await self.press("exclamation_mark")
        for _ in range(FAILURES):
            await self.answer("d", Need.FAILED)
        await self.press("escape", "4", "A")
        await self.room.until(lambda: self.room.app.room.snapshot.unread == 0)
        await self.press("5", "enter")
        for remaining in reversed(range(DISCOVERIES)):
            await self.press("a", "3")
            await self.room.until(lambda remaining=remaining: self.discoveries == remaining)
        await self.press("escape")
        await self.room.until(lambda: not self.room.needs)

    @property
    def discoveries(self) -> int:
        return len(self.room.app.room.snapshot.discoveries)

    def each_was_dealt_with_once(self) -> None:
        assert self.keys <= MOST, self.keys
        lines = [json.loads(line) for line in self.desk.layout.actions.read_bytes().splitlines()]
        # an action is a line when it begins and one when it ends
        verbs = Counter({line["id"]: line["verb"] for line in lines}.values())
        assert verbs["approval.allow"] == len(CALLS) and verbs["question.answer"] == len(QUESTIONS)
        assert verbs["attention.dismiss"] == FAILURES and verbs["signal.read_all"] == 1
        assert verbs["triage.archive"] == DISCOVERIES, "each was judged once"


async def test_a_night_is_dealt_with_in_150_keys_and_nothing_is_missed_or_asked_twice(
    desk: Any, open_room: Any
) -> None:
    calls = [desk.ask(f"make {name}") for name in CALLS]
    questions = [desk.question(text, "8080", "9090") for text in QUESTIONS]
    for number in range(FAILURES):
        desk.ended(desk.task(f"fetch page {number}"))
    for number in range(SIGNALS):
        desk.do("signal.send", by="agent-b", message=f"step {number} done")
    nodes = [desk.do("node.create", content=title, type="bug", priority="P2").target for title in _TITLES]
    async with open_room(desk) as room:
        night = Night(desk, room)
        await night.play()
    night.each_was_dealt_with_once()
    assert all(desk.answer(call).allowed for call in calls)
    assert [desk.answer(question).answer for question in questions] == ["9090", "9090"]
    assert {desk.port.node(node).metadata["archive_reason"] for node in nodes} == {"stale"}


_ROLE = asking_role("shell", "read_file", "signal", "discover", "write_result")
_SETTINGS = """[heartbeat]
every_minutes = 600
"""


def _script(api: Any) -> None:
    """What the model answers to each task: by its objective first, then by what it has called already."""

    def scene(objective: str, *answers: Any, again: bool = False) -> None:
        api.when(lambda request: objective in request.first_text, *answers, again=again)

    over = (tool("write_result", text="done"), text("ok"))
    for name in CALLS:
        scene(f"make the {name}", tool("shell", command=f"echo {name} >> {name}.txt"), *over)
    for question in QUESTIONS:
        asked = tool("ask_operator", question=question, default="8080", options=["8080", "9090"])
        scene(question, asked, *over)
    scene("fetch page", tool("read_file", path="page.html"), again=True)  # until its steps are used up
    signals = [use("signal", message=f"step {number} done") for number in range(SIGNALS)]
    for number, place in enumerate(_PLACES):
        titles = [use("discover", title=title) for title in _TITLES if f" {place} " in title]
        scene(f"look at the {place}", tools(*signals[number :: len(_PLACES)]), tools(*titles), *over)
    api.otherwise(text("nothing to do"))


async def test_a_night_of_a_real_engine_and_its_workers_goes_on_by_what_was_answered(
    desk: Any, open_room: Any, api: Any, tmp_path: Path
) -> None:
    desk.layout.role("builder").write_text(_ROLE)
    desk.layout.config.write_text(_SETTINGS)
    desk.port, desk.clock.now = RemotePort(desk.store.root, "ann"), time.time
    _script(api)
    objectives = (
        [f"make the {name}" for name in CALLS] + list(QUESTIONS) + [f"look at the {place}" for place in _PLACES]
    )
    for objective in objectives:
        desk.do("task.new", objective=objective, role="builder")
    for number in range(FAILURES):
        desk.do("task.new", objective=f"fetch page {number}", role="builder", steps=2)
    environ = {**os.environ, **api.anthropic_env}
    engine = start_lumen(["--engine-only", "--state", str(desk.store.root)], env=environ, cwd=tmp_path)
    try:
        async with open_room(desk) as room:
            night = Night(desk, room)
            await room.until(lambda: night.waiting(Need.APPROVAL) == len(CALLS))
            await room.until(lambda: night.waiting(Need.QUESTION) == len(QUESTIONS))
            await room.until(lambda: night.waiting(Need.FAILED) == FAILURES)
            await room.until(lambda: night.discoveries == DISCOVERIES)
            await night.play()
            await room.until(lambda: all(view.status.ended for view in room.app.room.snapshot.tasks))
    finally:
        engine.send_signal(15)
        engine.wait()
    night.each_was_dealt_with_once()
    written = sorted(path.read_text().strip() for path in desk.store.root.glob("tasks/archive/**/files/*.txt"))
    assert written == sorted(CALLS), "each allowed command ran, once"
    answered = {request.first_text for request in api.asked if "9090" in request.last_text}
    assert len(answered) == len(QUESTIONS), "each answer reached the model that asked"
