"""Replies to what needs a person: to questions, to signals, and to workers while they run."""

from __future__ import annotations

from lumen_tui.model.snapshot import Attention, Need
from lumen_tui.model.tasks import live_ones
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.handlers.panes import SignalsHandler

_NEWEST = 1000  # signals among which one that needs a person is looked for


class Replies(Handler):
    """The forms in which one replies."""

    def reply(self, need: Attention) -> None:
        """Open the question, or a form for the reply to the signal."""
        if need.need is Need.QUESTION:
            self.answer(need.target)
            return
        signals = self.snapshot.signals
        newest = (signals[place] for place in range(min(_NEWEST, len(signals))))
        row = next((row for row in newest if row.signal.id == need.target), None)
        if row is not None:
            SignalsHandler(self.room, self.host).write(row.signal)

    def tell(self, task_id: str) -> None:
        """Say something to a task that runs."""
        from lumen_tui.tui.screens.steering import TellForm, ask

        view = next((view for view in live_ones(self.snapshot.tasks) if view.id == task_id), None)
        if view is None or view.status.ended:
            self.room.say("message: no task that runs is meant", bad=True)
        else:
            ask(self.host, TellForm(view), self.submit)

    def answer(self, question_id: str) -> None:
        """Open the question of a worker or of the main agent."""
        from lumen_tui.tui.screens.questions import QuestionForm

        question = next((one for one in self.snapshot.questions if one.id == question_id), None)
        if question is None:
            self.room.say("It waits for no answer any more.")
        elif self.refusal:
            self.room.say(f"answer: {self.refusal}", bad=True)
        else:
            form = QuestionForm(question, self.host.clock())
            self.host.push_screen(form, lambda request: self.submit(request) if request else None)
