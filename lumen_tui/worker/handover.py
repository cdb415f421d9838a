"""What an attempt that parks its task hands to the next one, and how that one goes on."""

from __future__ import annotations

from collections.abc import Callable

from lumen_tui.model.tasks import Parked
from lumen_tui.model.times import iso
from lumen_tui.tools.base import TaskMemo
from lumen_tui.worker.questions import QuestionClient
from lumen_tui.worker.record import Recorder, Transcript
from lumen_tui.worker.steps import StepJournal
from lumen_tui.worker.world import TaskTally, World


class Handover:
    """The steps of a task, and what its calls remember: taken over from the attempt that parked it, if one did."""

    def __init__(self, world: World, tally: TaskTally) -> None:
        self._world = world
        self._tally = tally
        self.steps = StepJournal(world.folder, world.redact, world.stopper.guard)
        self.memo = TaskMemo()
        self.used: Callable[[], float] = float  # seconds of the time limit that the task has used
        self._parked = parked = self.steps.parked
        if parked is not None:
            tally.usage, tally.seconds = parked.usage, parked.seconds
            self.memo.web.update(parked.web)
            self.memo.outputs, self.memo.output_bytes = parked.outputs, parked.output_bytes

    def park(self, question: str) -> None:
        """Note that the task waits for a question, or for tasks that it ordered."""
        self.steps.park(
            Parked(
                attempt=self._tally.attempt,
                question=question,
                at=iso(self._world.now()),
                usage=self._tally.usage,
                seconds=self.used(),
                web=tuple(sorted(self.memo.web)),
                outputs=self.memo.outputs,
                output_bytes=self.memo.output_bytes,
            )
        )

    def go_on(self, questions: QuestionClient, events: Recorder, transcript: Transcript) -> None:
        """Record that the conversation goes on, and have the answer heard that an attempt before took and lost."""
        if self._parked is None:
            return
        calls = len(self.steps.state.calls)
        words = f"goes on after {calls} calls of the attempts before"
        events.event("note", words, question=self._parked.question, goes_on=calls)
        transcript.remark(f"{words}; their conversation is in the transcripts of these")
        if self.steps.state.turn is None:  # the call has its result: a request may have held the answer, or not
            questions.again(self._parked.question, self.steps.said())
