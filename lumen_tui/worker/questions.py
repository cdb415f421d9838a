"""A question to the operator: put on file once, and answered in this process or in the one that goes on from it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from lumen_tui.model import agent
from lumen_tui.model.approvals import ASK, MOST_QUESTIONS, Approval, Decision, call_hash
from lumen_tui.model.fences import words_of
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.times import span
from lumen_tui.store import approvals
from lumen_tui.tools.base import Question, QuestionReply, TaskParked, ToolError
from lumen_tui.worker.asking import Waiting
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import World

_MOST_WAITING = 10  # questions of the main agent
_MOST_TURNS = 100  # times that one question may be withdrawn and asked again


class QuestionClient(Waiting):
    """Asks on behalf of one task.

    `park` notes that the task waits for the question of that id, before it is on file: so a kill between the two
    leaves a task that asks again under the same id. Where `stays` holds, the process has to stay, as its back end
    cannot go on in another. `hear` takes what the model is told beside the result of the call.
    """

    def __init__(
        self,
        world: World,
        spec: Spec,
        events: Recorder,
        attempt: int,
        *,
        park: Callable[[str], None],
        stays: Callable[[], bool],
        hear: Callable[[str], None],
    ) -> None:
        super().__init__(world, spec, events, attempt)
        self._park = park
        self._stays = stays
        self._hear = hear

    def ask(self, question: Question) -> QuestionReply:
        """Return the answer that is there, or wait for one. Raises TaskParked, Stopped, ToolError."""
        request = self._open(question)
        if self._spec.role == agent.ROLE:
            return self._leave(request)
        answer = self._desk.take(request)
        if answer is None:
            answer = self._wait_here(request) if self._stays() else self._wait_without_process(request)
        return self._told(request, answer)

    def again(self, question_id: str, conversation: str) -> None:
        """Have the answer heard where the attempt before took it and was killed before a request held it.

        `conversation` is all that was said to the model so far.
        """
        found = self._desk.find(question_id)
        request, answer = found.request, found.decision
        if request is not None and answer is not None and _about(request) not in conversation:
            self._hear_order(request, answer)

    def _wait_here(self, request: Approval) -> Decision:
        self._desk.ask(request)
        with self._world.stopper.untimed():
            return self._wait(request, _words(request))

    def _wait_without_process(self, request: Approval) -> Decision:
        with self._world.stopper.guard():
            self._park(request.id)
            self._desk.ask(request)
            self._record_wait(request, _words(request))
        raise TaskParked

    def _open(self, question: Question) -> Approval:
        """Return the question as it is on file, else a new one. ToolError where the task has asked often enough."""
        arguments: dict[str, object] = {
            "question": question.text,
            "options": question.options,
            "default": question.default,
        }
        call = call_hash(ASK, arguments)
        for turn in range(_MOST_TURNS):
            name = approvals.id_for(self._spec.id, call, turn)
            found = self._desk.find(name)
            if found.request is None:
                self._check_number()
                return self._new(name, call, question)
            if found.decision is None or found.decision.ended != "withdrawn":
                return found.request
        raise ToolError(f"this question was withdrawn {_MOST_TURNS} times: go on without it")

    def _check_number(self) -> None:
        if self._spec.role == agent.ROLE:
            waiting = [request for request in approvals.undecided(self._layout) if request.lasting]
            if len(waiting) >= _MOST_WAITING:
                raise ToolError(f"{len(waiting)} questions of yours wait for an answer already: go on without this one")
        if self._desk.questions() >= MOST_QUESTIONS:
            raise ToolError(
                f"this task has asked {MOST_QUESTIONS} questions, the most it may: go on with what is most likely meant"
            )

    def _new(self, name: str, call: str, question: Question) -> Approval:
        return replace(
            self._blank(name, ASK, call, question.seconds),
            summary=one_line(question.text, 300),
            question=question.text,
            options=question.options,
            default=question.default,
            lasting=self._spec.role == agent.ROLE,
        )

    def _leave(self, request: Approval) -> QuestionReply:
        """Leave a question of the main agent, which does not wait: the answer wakes it."""
        self._desk.ask(request)
        text = (
            f"Asked as {request.id}. The answer comes as a signal that wakes you, perhaps in a later loop; what you "
            "asked comes with it. Go on with what does not hang on it."
        )
        return QuestionReply(text, summary=f"asked as {request.id}")

    def _told(self, request: Approval, answer: Decision) -> QuestionReply:
        if answer.ended:
            waited = span(max(0.0, request.expires - request.asked))
            self._record_answer(request, f"nobody answered: goes on with {request.default}", ok=False)
            text = f"Nobody answered within {waited}. Go on with your default: {request.default}"
            return QuestionReply(text, summary="nobody answered")
        self._record_answer(request, f"answered by {answer.by}: {answer.answer}", ok=True)
        self._hear_order(request, answer)
        return QuestionReply(
            f"{one_line(answer.by, 60)} answered; the answer is in the message that follows.",
            answered=True,
            summary=f"answered by {answer.by}",
        )

    def _hear_order(self, request: Approval, answer: Decision) -> None:
        """Have the answer in the next request: as an order where it is the operator's, else as anybody's words."""
        if answer.ended:
            return
        self._hear(words_of(answer.answer, one_line(answer.by, 60), _about(request), seen=answer.order))

    def _record_answer(self, request: Approval, text: str, *, ok: bool) -> None:
        self._events.event("answered", text, tool=ASK, ok=ok, approval=request.id)


def _words(request: Approval) -> str:
    return f"asks the operator: {request.summary}"


def _about(request: Approval) -> str:
    return f"the answer to your question {request.id}"
