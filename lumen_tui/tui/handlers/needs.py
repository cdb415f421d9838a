"""Commands about what needs a person."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from lumen_tui.model.attention import CHANGES, PROPOSALS, can_wait, for_an_hour, put_off
from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Attention, Need
from lumen_tui.model.tasks import live_ones
from lumen_tui.tui import words
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.handlers.openers import OpenersHandler
from lumen_tui.tui.handlers.panes import SignalsHandler
from lumen_tui.tui.host import Host
from lumen_tui.tui.panes.base import PanedRoom
from lumen_tui.tui.room_command import DECAY, DISCOVERIES, LOOP, SIGNALS, WORKERS

if TYPE_CHECKING:
    from lumen_tui.tui.screens.approval_answer import NeedsHost

_WHERE = {
    Need.P0_SIGNAL: SIGNALS, Need.FAILED: WORKERS, Need.LOST: WORKERS, Need.STALLED: WORKERS, Need.EXPIRED: WORKERS,
    Need.P0_DISCOVERY: DISCOVERIES, Need.TRIAGE: DISCOVERIES,
}  # fmt: skip

_NEWEST_SIGNALS = 1000  # among which one that needs a person is looked for

# Target -> the command that opens its page.
_ANSWERED_ON = {"constitution": "evolution"}


class NeedsHandler(Handler):
    """The one queue of what needs a person, and the chat, where the agent asks as well."""

    at = ""  # key of the one that was gone to last

    def __init__(self, room: PanedRoom, host: Host) -> None:
        super().__init__(room, host)
        self._replies = Replies(room, host)

    def _why(self) -> str:
        off = len(self.snapshot.snoozed)
        later = f"; {words.number(off)} snoozed" if off else ""
        return "" if self.snapshot.attention else f"nothing needs you{later}"

    why_next_need = why_previous_need = _why

    def why_needs(self) -> str:
        return "" if self.snapshot.snoozed else self._why()

    def do_next_need(self) -> None:
        self._step(1)

    def do_previous_need(self) -> None:
        self._step(-1)

    def do_needs(self) -> None:
        from lumen_tui.tui.screens.attention import AttentionScreen

        screen = AttentionScreen(self.snapshot, self.why_stays, self.needs_host(), self.at)
        self.host.push_screen(screen, self.chosen)

    def do_chat(self) -> None:
        from lumen_tui.queries.chat_views import looker
        from lumen_tui.tui.screens.chat import ChatScreen

        self.host.push_screen(ChatScreen(self.host.port, looker(self.layout), self.refusal, self.open_approval))

    def needs_host(self) -> NeedsHost:
        """Return what screens about needs may ask of the room."""
        from lumen_tui.queries.pages import decision
        from lumen_tui.tui.screens.approval_answer import NeedsHost
        from lumen_tui.tui.screens.approval_risks import sandbox_of

        return NeedsHost(
            self._send,
            self.reasons.ask,
            lambda: self.refusal,
            self.show_task,
            lambda need: put_off(need, self.snapshot.spend.day),
            lambda need: for_an_hour(need, self.host.clock()),
            lambda request: sandbox_of(request, self.snapshot),
            partial(decision, self.layout),
            lambda: self.snapshot.approvals,
            self._replies.reply,
            self._replies.tell,
        )

    def _send(self, request: Request, report: Callable[[str, bool], None]) -> None:
        """Carry out one action, and report its outcome in the footer and to the caller."""
        self.host.submit(request, lambda done: report(done.summary, False), lambda error: report(error, True))

    def chosen(self, need: Attention | None) -> None:
        """Go to where a need is answered, where it cannot be answered in the list."""
        if need is None or self._opens(need):
            return
        if need.target == "kill":
            self.room.action_do("kill")
            return
        if need.need is Need.ENGINE and self.snapshot.engine.life is EngineLife.NONE:
            self.room.action_do("engine")
            return
        if need.need is Need.PROBLEM:
            self._show_problems(need.text)
            return
        if need.need is Need.RETIREMENT:
            from lumen_tui.tui.screens.roles import RolesScreen

            self.host.push_screen(RolesScreen(self.host.port, self.snapshot, at=need.role))
            return
        self._go(need)

    def _opens(self, need: Attention) -> bool:
        """Go to the page on which it is answered, where it has one that changes nothing by being opened."""
        if need.need is Need.FACT:
            OpenersHandler(self.room, self.host).show_facts(need.target)
        elif need.need is Need.RELAY:
            OpenersHandler(self.room, self.host).show_relays(need.target)
        elif need.need is Need.PROPOSAL:
            OpenersHandler(self.room, self.host).show_questions(need.target.removeprefix(PROPOSALS))
        elif need.need is Need.ROLLED_BACK:
            OpenersHandler(self.room, self.host).show_trials()
        elif need.need is Need.CHANGES:
            OpenersHandler(self.room, self.host).show_changes(need.target.removeprefix(CHANGES))
        elif action := _ANSWERED_ON.get(need.target, "budget" if need.need is Need.BUDGET else ""):
            self.room.action_do(action)
        else:
            return False
        return True

    def why_problems(self) -> str:
        return "" if self.snapshot.problems else "every file can be read"

    def do_problems(self) -> None:
        self._show_problems("")

    def _show_problems(self, at: str) -> None:
        from lumen_tui.tui.screens.engine import ProblemsScreen

        self.host.push_screen(ProblemsScreen(self.snapshot, at))

    def why_stays(self, need: Attention) -> str:
        """Return why one cannot be taken off the list, or the empty string."""
        if need.need is Need.APPROVAL:
            return (
                f"a worker waits for your decision: {self.key('answer_allow')} or {self.key('answer_deny')} answers it"
            )
        if need.need is Need.QUESTION:
            return "somebody waits for your answer: enter opens the question"
        if need.need is Need.CHANGES:
            return "a change list is accepted or dropped"
        if not can_wait(need):
            hint = "" if need.need is Need.ENGINE else f"; {self.key('answer_snooze')} snoozes it"
            return f"what is about the {need.need} goes away with its cause and cannot be dismissed{hint}"
        return self.refusal

    def _step(self, by: int) -> None:
        needs = self.snapshot.attention
        names = [need.key for need in needs]
        if not names:
            self.room.say("Nothing needs you.")
            return
        if self.room.band.display:
            need = self.room.band.step(by)
            self.at = need.key if need else ""
            return
        start = names.index(self.at) if self.at in names else (-1 if by > 0 else len(names))
        self._go(needs[(start + by) % len(needs)])

    def _go_on(self, by: int) -> None:
        """From the pages of approvals: the first or the last of what else needs a person, or round to them again."""
        needs = self.snapshot.attention
        others = [need for need in needs if need.need is not Need.APPROVAL] or needs
        if others:
            self._go(others[0 if by > 0 else -1])

    def _go(self, need: Attention) -> None:
        self.at = need.key
        names = [each.key for each in self.snapshot.attention]
        place = f"{names.index(self.at) + 1} of {len(names)}: " if self.at in names else ""
        hint = f" ({self.key('problems')} says what to do)" if need.need is Need.PROBLEM else ""
        self.room.say(f"{place}{need.text}{hint}")
        if need.need is Need.APPROVAL:
            self.open_approval(need.target)
            return
        if need.need is Need.QUESTION:
            self._replies.answer(need.target)
            return
        if need.need is Need.RETIREMENT:
            return  # low as it is, it opens nothing by itself
        if self._opens(need):
            return
        pane = self.room.pane(_WHERE.get(need.need, _elsewhere(need)))
        self.room.go_to(pane)
        if pane.rows is not None and need.target and need.need is not Need.TRIAGE:
            pane.rows.set_filter("")
            pane.rows.select_key(need.target)

    def open_approval(self, approval_id: str) -> None:
        """Open a question of a worker; from there one goes on to what else needs a person."""
        from lumen_tui.tui.screens.approvals import ApprovalScreen

        def left(where: str | None) -> None:
            if where:
                self._go_on(1 if where == "next" else -1)

        self.host.push_screen(ApprovalScreen(self.snapshot, approval_id, self.needs_host()), left)


def _elsewhere(need: Attention) -> str:
    """Return where to look for what is not a row."""
    return DECAY if need.target.startswith("mem-") else LOOP


class Replies(Handler):
    """The forms in which one replies."""

    def reply(self, need: Attention) -> None:
        """Open the question, or a form for the reply to the signal."""
        if need.need is Need.QUESTION:
            self.answer(need.target)
            return
        signals = self.snapshot.signals
        newest = (signals[place] for place in range(min(_NEWEST_SIGNALS, len(signals))))
        row = next((row for row in newest if row.signal.id == need.target), None)
        if row is not None:
            SignalsHandler(self.room, self.host).write(row.signal)

    def tell(self, task_id: str) -> None:
        """Say something to a task that runs."""
        from lumen_tui.tui.screens.steering import TellForm, ask

        view = next((view for view in live_ones(self.snapshot.tasks) if view.id == task_id), None)
        if view is None or view.status.ended:
            self.room.say("message: no running task is selected", bad=True)
        else:
            ask(self.host, TellForm(view), self.submit)

    def answer(self, question_id: str) -> None:
        """Open the question of a worker or of the main agent."""
        from lumen_tui.tui.screens.questions import QuestionForm

        question = next((request for request in self.snapshot.questions if request.id == question_id), None)
        if question is None:
            self.room.say("It no longer waits for an answer.")
        elif self.refusal:
            self.room.say(f"answer: {self.refusal}", bad=True)
        else:
            form = QuestionForm(question, self.host.clock())
            self.host.push_screen(form, lambda request: self.submit(request) if request else None)
