"""Commands about what the agent costs, and the switch that ends everything."""

from __future__ import annotations

from functools import partial

from lumen_tui.model.requests.engine import KillAgent, UnkillAgent
from lumen_tui.model.tasks import Status, live_ones, tally
from lumen_tui.tui import words
from lumen_tui.tui.handlers.base import Handler


class SpendingHandler(Handler):
    """The budget's page; kill, and the way back."""

    def do_budget(self) -> None:
        from lumen_tui.queries.queue_conditions import spend_report
        from lumen_tui.tui.screens.budget import BudgetScreen

        host, layout = self.host, self.layout
        read = partial(spend_report, layout)
        host.push_screen(BudgetScreen(host.port, self.snapshot, lambda: read(host.clock()), self.refusal))

    def do_kill(self) -> None:
        if self.snapshot.killed:
            self._ask_to_go_on()
            return
        from lumen_tui.tui.screens.budget import KillForm

        form = KillForm(self.snapshot.config.agent.name, self._consequences())
        self.host.push_screen(form, lambda sure: self._kill(form.reason) if sure else None)

    def _ask_to_go_on(self) -> None:
        from lumen_tui.tui.screens.budget import UnkillForm

        queued = tally(self.snapshot.tasks)[Status.QUEUED]
        lines = [
            f"The agent is {self.snapshot.killed}.",
            f"It resumes at once, and {words.plural(queued, 'queued task')} may start.",
        ]
        self.host.push_screen(UnkillForm(lines), lambda sure: self.submit(UnkillAgent()) if sure else None)

    def _kill(self, reason: str) -> None:
        self.submit(KillAgent(reason=reason))

    def _consequences(self) -> list[str]:
        alive = [view for view in live_ones(self.snapshot.tasks) if view.status.alive]
        return [
            f"{words.plural(len(alive), 'worker')} will be ended at once, and their unfinished work is lost."
            if alive
            else "No worker is running now.",
            "Nothing starts until you resume the agent, here or with `lumen-tui unkill`.",
            "Queued tasks stay and start again then.",
        ]
