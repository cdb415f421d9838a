"""The wait for a word, with a clock of its own: answers count once, time runs out, and it is not the task's time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_until import until

from lumen_tui.actions.registry import named, perform
from lumen_tui.model.approvals import Decision
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.tools.base import ApprovalReply, ApprovalRequest, Stopped
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.worker.asking import ApprovalClient
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.stopping import Stopper
from lumen_tui.worker.world import World

CALL = ApprovalRequest(
    tool="shell", summary="make", arguments={"command": "make hunter2hunter2"}, rule="make", reason="w"
)


class Waiting:
    """One worker that asks, and a person who does something once it waits."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.time = store, 1_800_000_000.0
        self.stopper = Stopper(folder, lambda: self.time)
        self.world = World(
            folder, lambda: self.time, lambda: self.time, {}, self.stopper, redactor({"A_TOKEN": "hunter2hunter2"})
        )
        self.journal = Journal(folder / "events.jsonl")

    def asks(
        self, act: Callable[[], Any] = lambda: None, attempt: int = 1, call: ApprovalRequest = CALL
    ) -> ApprovalReply:
        """Ask in this thread; `act` happens in another as soon as the question is there."""
        events = Recorder(self.journal, attempt, self.world.now, self.world.redact, self.stopper.guard)
        asking = ApprovalClient(self.world, Spec(id="tsk-one", objective="o", role="builder"), events, attempt)
        done = threading.Event()
        person = threading.Thread(target=self._when_asked, args=(act, done))
        person.start()
        try:
            return asking.ask(call)
        finally:
            done.set()
            person.join(10)

    def _when_asked(self, act: Callable[[], Any], done: threading.Event) -> None:
        while not done.wait(0.005):
            if approvals.undecided(self.store.layout):
                act()
                return

    def say(self, verb: str, **more: Any) -> None:
        (request,) = approvals.undecided(self.store.layout)
        perform(self.store, named(f"approval.{verb}", {"approval_ids": request.id, **more}), by="ann", now=self.time)

    def go_on(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def waiting(store: Store) -> Waiting:
    folder = store.layout.task("tsk-one")
    folder.mkdir()
    return Waiting(store, folder)


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_a_yes_counts_for_one_call(waiting, store):
    assert waiting.asks(lambda: waiting.say("allow")).allowed
    assert not waiting.asks(lambda: waiting.say("deny", reason="once is enough")).allowed
    assert waiting.asks().reason == "once is enough"  # and a no for all that come after it
    assert len(approvals.every(store.layout)) == 2


def test_an_answer_that_no_worker_took_counts_for_the_next_attempt(waiting, store):
    def die() -> None:
        waiting.stopper.ask("cancelled", "killed")

    with pytest.raises(Stopped):
        waiting.asks(die)
    waiting.say("allow")
    again = Waiting(store, waiting.world.folder)
    assert again.asks(attempt=2).allowed
    assert len(approvals.every(store.layout)) == 1


def test_a_yes_that_was_taken_is_asked_for_anew_after_a_crash(waiting, store):
    assert waiting.asks(lambda: waiting.say("allow")).allowed
    assert not waiting.asks(lambda: waiting.say("deny"), attempt=2).allowed
    assert len(approvals.every(store.layout)) == 2


def test_time_runs_out_once_for_each_attempt(waiting, store):
    answer = waiting.asks(lambda: waiting.go_on(3601))
    assert answer == ApprovalReply(allowed=False, reason="auto-denied: nobody answered within 1 h 0 m")
    assert waiting.asks() == answer
    assert waiting.asks(lambda: waiting.say("allow"), attempt=2).allowed


def test_the_wait_is_not_the_tasks_time(waiting):
    def think() -> None:
        waiting.go_on(600)
        waiting.say("allow")

    waiting.stopper.limit(60)
    assert waiting.asks(think).allowed
    waiting.stopper.poll()
    assert not waiting.stopper.stopped()
    waiting.go_on(61)
    waiting.stopper.poll()
    assert waiting.stopper.stopped()


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_an_answer_for_another_call_is_a_no(waiting, store):
    def forge() -> None:
        (request,) = approvals.undecided(store.layout)
        approvals.set_decision(store.layout, request.id, Decision(allowed=True, hash="0" * 64, at="", by="mallory"))

    answer = waiting.asks(forge)
    assert not answer.allowed
    assert "is for another call" in answer.reason


def test_what_was_withdrawn_with_a_task_that_comes_back_is_asked_anew(waiting, store):
    def withdraw() -> None:
        (request,) = approvals.undecided(store.layout)
        gone = Decision(allowed=False, hash=request.hash, at="", by="engine", reason="ended", ended="withdrawn")
        approvals.decide(store.layout, request, gone, waiting.time)

    assert not waiting.asks(withdraw).allowed
    assert waiting.asks(lambda: waiting.say("allow"), attempt=2).allowed


def test_keys_are_masked_in_the_question_and_the_hash_is_of_the_real_call(waiting, store):
    waiting.asks(lambda: waiting.say("deny"))
    (request,) = approvals.every(store.layout)
    assert request.arguments == {"command": "make [masked: environment]"}
    assert b"hunter2" not in store.layout.approval(request.id).read_bytes()


RUNS = {
    "sh ./run.sh": "run.sh", "sh sub/../run.sh": "run.sh", "./run.sh --fast": "run.sh", "make test": "Makefile",
    "echo a && python3 -u run.sh": "run.sh", "npm test": "package.json", "sh link": "other.sh", "sh 'run.sh'": "run.sh",
}  # fmt: skip


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
@pytest.mark.parametrize("command", RUNS)
def test_what_an_allowed_command_runs_is_what_stood_there_when_it_was_asked(waiting, store, command):
    files = store.layout.task("tsk-one") / "files"
    (files / "sub").mkdir(parents=True)
    for name in ("run.sh", "other.sh", "Makefile", "package.json"):
        (files / name).write_text("echo harmless\n")
    (files / "link").symlink_to("other.sh")
    call = msgspec.structs.replace(CALL, arguments={"command": command, "cwd": ""})

    def changed_and_allowed() -> None:
        (files / RUNS[command]).write_text("echo evil\n")
        waiting.say("allow")

    whys = []

    def looks_again() -> None:
        changed_and_allowed()
        until(lambda: approvals.undecided(store.layout))
        whys.append(approvals.undecided(store.layout)[0].why)
        waiting.say("deny", reason="no")

    assert waiting.asks(looks_again, call=call).reason == "no"
    assert "was changed after it was asked" in whys[0] and whys[0].endswith("again. w")
    (files / "new.sh").write_text("x")
    assert waiting.asks(
        lambda: waiting.say("allow"),
        call=msgspec.structs.replace(call, summary="again", arguments={"command": command, "cwd": "."}),
    ).allowed, "nothing of it changed"


def test_a_command_that_does_what_it_says_goes_by_no_file(waiting, store):
    files = store.layout.task("tsk-one") / "files"
    files.mkdir()
    (files / "a").write_text("x")
    call = msgspec.structs.replace(CALL, arguments={"command": "rm a", "cwd": ""})

    def moved_and_allowed() -> None:
        (files / "a").write_text("y")
        waiting.say("allow")

    assert waiting.asks(moved_and_allowed, call=call).allowed
