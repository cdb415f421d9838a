"""Another process goes on with what Claude Code had done: by its session, and by what that session lacks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.model.tasks import Usage
from lumen_tui.providers.base import CutOffCall, Job, ToolCall
from lumen_tui.providers.claude_code.going_on import KeptSteps
from lumen_tui.providers.conversation.history import AssistantMessage, ModelCall, ResultMessage, UserMessage
from lumen_tui.providers.conversation.steps import (
    Answer,
    BackendSession,
    CallBegun,
    CallEnded,
    ConversationState,
    Record,
)
from lumen_tui.tools.base import ToolResult

NAME = "bed65448-8a41-4825-9899-3fc53c0e0dd7"


def answer(number: int) -> Answer:
    call = ModelCall(f"toolu_{number}", "write_file", {"path": f"step-{number}"})
    return Answer(AssistantMessage("", (call,), "tool"), Usage(1, 1, 0.1), f"spd-{number}", "2026-01-01")


def ended(number: int) -> CallEnded:
    return CallEnded(ResultMessage(f"toolu_{number}", "write_file", f"wrote {number}"))


BEFORE: list[Record] = [BackendSession(NAME), answer(1), ended(1), answer(2), ended(2)]


def line(role: str, *blocks: dict[str, Any]) -> bytes:
    return json.dumps({"type": role, "message": {"role": role, "content": list(blocks)}}).encode() + b"\n"


def session(numbers: tuple[int, ...]) -> bytes:
    """A session file in which these calls have their results."""
    lines = [line("user", {"type": "text", "text": "do it"})]
    for number in numbers:
        lines.append(line("assistant", {"type": "tool_use", "id": f"toolu_{number}", "name": "x", "input": {}}))
        lines.append(line("user", {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "ok"}))
    return b"".join(lines)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Its folder, with a place for sessions."""
    (tmp_path / "projects" / "-work").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def keep(own: Path) -> Callable[[bytes], None]:
    """Leave a session file with this content."""
    return lambda data: (own / "projects" / "-work" / f"{NAME}.jsonl").write_bytes(data) and None


class Talk:
    """A conversation that goes on: which calls it makes, and what it keeps."""

    def __init__(self, own: Path, records: list[Record], news: tuple[str, ...] = ()) -> None:
        self.kept: list[Record] = []
        self.made: list[Any] = []
        told = list(news)
        job = Job(
            "be good", "do it", earlier=tuple(records), keep=lambda *new: self.kept.extend(new),
            news=lambda: tuple(told.pop() for _ in tuple(told)),
        )  # fmt: skip
        self.steps = KeptSteps(job, str(own))
        making, reply = self.steps.finish(), None
        try:
            while True:
                step = making.send(reply)
                self.made.append(step)
                uncertain = isinstance(step, CutOffCall)
                reply = ToolResult("may have happened" if uncertain else "made now", ok=not uncertain)
        except StopIteration:
            pass
        self.opening = self.steps.opening()


def test_it_begins_with_a_session_of_its_own(own):
    talk = Talk(own, [])
    assert talk.steps.words == [f"--session-id={talk.steps.session}"]
    assert talk.kept == [BackendSession(talk.steps.session)]
    assert talk.opening == "do it"


def test_it_is_told_what_its_session_lacks(own, keep):
    keep(session((1,)))
    talk = Talk(own, BEFORE, ("and be quick",))
    assert talk.steps.words == [f"--resume={NAME}"]
    assert "step-2" in talk.opening and "wrote 2" in talk.opening
    assert "step-1" not in talk.opening
    assert talk.opening.endswith("Go on with the task.\n\nand be quick")
    assert (talk.made, talk.kept) == ([], [])


def test_where_it_lacks_nothing_it_is_told_nothing_again(own, keep):
    keep(session((1, 2)))
    assert "step-" not in Talk(own, BEFORE).opening


@pytest.mark.parametrize(
    "what", ["gone", "empty", "rubbish", "of the user alone", "a folder", "a pipe", "in two places"]
)
def test_without_its_session_everything_is_told_to_a_new_one(own, keep, what):
    path = own / "projects" / "-work" / f"{NAME}.jsonl"
    if what == "a folder":
        path.mkdir()
    elif what == "a pipe":
        os.mkfifo(path)
    elif what != "gone":
        keep({"empty": b"", "rubbish": b"\xff\x00{[\n" * 9, "of the user alone": session(())}.get(what, session((1,))))
    if what == "in two places":
        (own / "projects" / "-else").mkdir()
        (own / "projects" / "-else" / path.name).write_bytes(session((1,)))
    talk = Talk(own, BEFORE)
    assert talk.steps.words == [f"--session-id={talk.steps.session}"] and talk.steps.session != NAME
    assert talk.opening.startswith("do it\n\n")
    assert "wrote 1" in talk.opening and "wrote 2" in talk.opening
    assert talk.kept == [BackendSession(talk.steps.session)]


def test_a_session_that_is_cut_anywhere_is_completed(own, keep):
    whole = session((1, 2))
    first = whole.index(b'"tool_result"')
    for size in range(0, len(whole), 7):
        keep(whole[:size])
        talk = Talk(own, BEFORE)
        assert talk.steps.resumes is (whole[:size].count(b"\n") >= 2)
        assert ("wrote 1" in talk.opening) is (whole[:size].count(b"\n") < 3), size
        assert "wrote 2" in talk.opening or size >= len(whole) - 7
    assert first


def test_a_call_that_had_not_begun_is_made_once_and_one_that_had_is_told_as_uncertain(own, keep):
    keep(session((1, 2)))
    talk = Talk(own, [*BEFORE, answer(3)])
    assert [type(step) for step in talk.made] == [ToolCall] and talk.made[0].id == "toolu_3"
    assert "made now" in talk.opening
    assert [record.result.text for record in talk.kept] == ["made now"]
    again = Talk(own, [*BEFORE, answer(3), *talk.kept])
    assert again.made == [] and "made now" in again.opening
    cut = Talk(own, [*BEFORE, answer(3), CallBegun("toolu_3", "write_file")])
    assert [type(step) for step in cut.made] == [CutOffCall]
    assert "may have happened" in cut.opening


def test_its_own_results_of_calls_in_which_it_was_interrupted_count_for_nothing(own, keep):
    refused = {"type": "tool_result", "tool_use_id": "toolu_3", "content": "You do not want that.", "is_error": True}
    keep(session((1, 2)) + line("user", refused))
    failed = CallEnded(ResultMessage("toolu_3", "write_file", "refused by ann: later", ok=False))
    for end in (failed, CallEnded(ResultMessage("toolu_3", "write_file", "wrote 3"))):
        talk = Talk(own, [*BEFORE, answer(3), end])
        assert end.result.text in talk.opening
    keep(session((1, 2)) + line("user", {**refused, "content": "<error>refused by ann: later</error>"}))
    assert "later" not in Talk(own, [*BEFORE, answer(3), failed]).opening


def test_what_it_was_told_once_it_is_not_told_again(own, keep):
    keep(session((1,)))
    first = Talk(own, BEFORE)
    keep(session((1,)) + line("user", {"type": "text", "text": first.opening}))
    assert "wrote 2" not in Talk(own, BEFORE).opening
    first.steps.answered("end_turn", Usage())
    assert [type(record) for record in first.kept] == [UserMessage, Answer], "said, as a request held it"


def test_its_last_words_end_the_task_without_the_program(own):
    last = Answer(AssistantMessage("All done."), Usage(1, 1, 0.1))
    assert Talk(own, [*BEFORE, last]).steps.final == "All done."
    assert Talk(own, BEFORE).steps.final is None
    assert ConversationState([*BEFORE, last]).usage.usd == pytest.approx(0.3)


def test_what_is_told_has_an_end(own):
    calls = ModelCall("toolu_1", "write_file", {"path": "x"})
    long = CallEnded(ResultMessage("toolu_1", "write_file", "y" * 500_000))
    talk = Talk(own, [BackendSession(NAME), Answer(AssistantMessage("", (calls,), "tool")), long])
    assert 100_000 < len(talk.opening) < 130_000
