"""From which record of its steps a task goes on, and what becomes of one that is damaged or of something else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from lumen_tui.model.acceptance import Acceptance, Verdict
from lumen_tui.model.tasks import Exit, Spec, Usage
from lumen_tui.providers.conversation.history import AssistantMessage, ModelCall, ResultMessage, UserMessage
from lumen_tui.providers.conversation.steps import (
    Answer,
    CallBegun,
    CallEnded,
    CallWaits,
    ConversationState,
    GoesOn,
    Head,
    Record,
    Rewritten,
)
from lumen_tui.worker.steps import NAME, StepJournal, about, read

SPEC = Spec("tsk-one", "count", role="doer")


def head(**changed: object) -> Head:
    return replace(Head("tsk-one", about(SPEC), 1, "ModelProvider", "aaaa"), **changed)


def round_of(number: int) -> list[Record]:
    call = ModelCall(f"c{number}", "shell", {"command": f"echo {number}"})
    return [
        Answer(AssistantMessage("", (call,), "tool"), Usage(10, 1, 0.5), f"spd-{number}", "2026-01-01", number * 10.0),
        CallBegun(call.id, "shell", f"echo {number}", seconds=number * 10.0 + 1),
        CallEnded(
            ResultMessage(call.id, "shell", str(number)), seconds=number * 10.0 + 2, web=("a.org",), hosts=("b.org",)
        ),
    ]


WHOLE: list[Record] = [head(), UserMessage("count"), *round_of(1), *round_of(2), *round_of(3)]


def lines(records: list[Record]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tsk-one"
    place.mkdir()
    return place


def journal(folder: Path, attempt: int = 2) -> StepJournal:
    return StepJournal(folder, SPEC, attempt, lambda text: text, nullcontext)


def kept(folder: Path) -> ConversationState:
    """What the next attempt would go on from."""
    return ConversationState(read(folder, SPEC).records)


def test_what_was_paid_called_and_used_goes_over(folder):
    (folder / NAME).write_bytes(lines(WHOLE))
    state = kept(folder)
    assert [result.text for result in state.calls] == ["1", "2", "3"]
    assert (state.usage, state.seconds, state.web) == (Usage(30, 3, 1.5), 32.0, ("a.org",))
    assert state.hosts == ("b.org",)
    assert state.paid is not None and state.paid.key == "spd-3"
    assert len(state.entries) == 7 and state.turn is None


def test_a_journal_that_is_cut_anywhere_gives_the_last_sound_step(folder):
    data, steps = lines(WHOLE), [len(lines(WHOLE[:count])) for count in range(len(WHOLE) + 1)]
    for size in range(len(data)):
        (folder / NAME).write_bytes(data[:size])
        found = read(folder, SPEC)
        whole = sum(step <= size for step in steps) - 1
        assert found.records == tuple(WHOLE[:whole] if whole > 1 else ())
        assert whole < 1 or found.damaged is (size not in steps)
        assert found.lost == ()


@pytest.mark.parametrize("rubbish", [b"\xff\xfe\n", b"{}\n", b'{"type":"begun"}\n', b"[" * 5000 + b"\n", b"\0" * 100])
def test_rubbish_hides_what_is_behind_it_but_not_what_had_begun_there(folder, rubbish):
    (folder / NAME).write_bytes(lines(WHOLE[:5]) + rubbish + b"\n" + lines(WHOLE[5:]))
    found = read(folder, SPEC)
    assert found.records == tuple(WHOLE[:5]) and found.damaged
    assert [call.what for call in found.lost] == ["echo 2", "echo 3"]


def test_damage_is_cut_off_before_anything_is_added(folder):
    (folder / NAME).write_bytes(lines(WHOLE[:5]) + b'{"type":"ans')
    steps = journal(folder)
    words = steps.begin("ModelProvider", "aaaa")
    assert words == "goes on after 1 calls of the attempts before; the end of the record of its steps was damaged"
    steps.keep(UserMessage("go on"))
    assert read(folder, SPEC).records == (*WHOLE[:5], GoesOn(2, "aaaa"), UserMessage("go on"))


def unfit() -> Iterator[tuple[str, Record, str]]:
    yield "version", head(version=1), "is of another version (1)"
    yield "task", head(task="tsk-two"), "is of another task (tsk-two)"
    yield "objective", head(about="0" * 24), "the task was changed since"


@pytest.mark.parametrize(("what", "first", "why"), list(unfit()))
def test_what_does_not_fit_is_put_aside_and_said(folder, what, first, why):
    (folder / NAME).write_bytes(lines([first, *WHOLE[1:]]))
    steps = journal(folder)
    assert steps.state.entries == ()
    assert steps.begin("ModelProvider", "aaaa") == f"begins from scratch: {read_why(folder, why)}"
    assert (folder / "steps.1.jsonl").read_bytes() == lines([first, *WHOLE[1:]])
    assert [type(record) for record in read_all(folder)] == [Head]


def read_why(folder: Path, why: str) -> str:
    return why if why.startswith("the task") else f"the record of its steps {why}"


def read_all(folder: Path) -> list[Record]:
    return [msgspec.json.decode(line, type=Record) for line in (folder / NAME).read_bytes().splitlines()]


@pytest.mark.parametrize(
    "data", [b"", b"rubbish", b"\n\n\n", b"rubbish\n" + lines(WHOLE), lines(WHOLE[:1]) + b'{"type', lines(WHOLE[:1])]
)
def test_without_a_step_it_begins(folder, data):
    (folder / NAME).write_bytes(data)
    assert read(folder, SPEC).records == ()
    steps = journal(folder)
    steps.begin("ModelProvider", "aaaa")
    steps.keep(*WHOLE[1:])
    assert len(kept(folder).calls) == 3


def test_an_attempt_that_had_ended_by_itself_is_not_gone_on_from(folder):
    (folder / NAME).write_bytes(lines(WHOLE))
    claim = Exit("tsk-one", "done", "2026-01-01T00:00:00Z", 1, acceptance=Acceptance(Verdict.DISPROVED, "", why="no"))
    (folder / "claim.1.json").write_bytes(msgspec.json.encode(claim))
    assert (
        journal(folder).begin("ModelProvider", "aaaa") == "begins from scratch: the attempt before had ended by itself"
    )


def test_another_prompt_or_tool_is_said_and_goes_on(folder):
    (folder / NAME).write_bytes(lines(WHOLE))
    assert "prompt or its tools were changed since" in journal(folder).begin("ModelProvider", "bbbb")
    assert len(kept(folder).calls) == 3


def test_another_kind_of_back_end_begins(folder):
    (folder / NAME).write_bytes(lines(WHOLE))
    said = journal(folder).begin("ClaudeCodeProvider", "aaaa")
    assert said == "begins from scratch: another kind of back end has it now"


def test_a_second_conversation_of_one_attempt_is_another_one(folder):
    steps = journal(folder, 1)
    for number in (1, 2):
        steps.begin("ModelProvider", "aaaa")
        steps.keep(UserMessage(f"conversation {number}"), *round_of(number))
    state = kept(folder)
    assert [entry.text for entry in state.entries if isinstance(entry, UserMessage)] == ["conversation 2"]
    assert [result.text for result in state.calls] == ["2"]


def test_a_call_that_only_waited_has_not_happened(folder):
    answer, begun, _ = round_of(1)
    (folder / NAME).write_bytes(lines([head(), UserMessage("x"), answer, begun]))
    assert list(kept(folder).begun) == ["c1"]
    (folder / NAME).write_bytes(lines([head(), UserMessage("x"), answer, begun, CallWaits("c1", "apr-1")]))
    assert kept(folder).begun == {}


def test_what_is_said_together_is_kept_together_or_not_at_all(folder, monkeypatch):
    steps = journal(folder, 1)
    steps.begin("ModelProvider", "aaaa")
    steps.keep(Rewritten(()), UserMessage("a"), AssistantMessage("b"))
    data = (folder / NAME).read_bytes()
    assert data.count(b"\n") == 4 and kept(folder).entries == (UserMessage("a"), AssistantMessage("b"))
