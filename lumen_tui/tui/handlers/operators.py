"""Commands about other operators: who is here, and claims of what one is at."""

from __future__ import annotations

from lumen_tui.model.requests.operators import ClaimItems, ReleaseItems
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.panes.base import subject_of


class OperatorsHandler(Handler):
    """Claims or releases the selected row, and opens the screen of operators."""

    def why_claim(self) -> str:
        return "" if subject_of(self.room) else "there is no row to claim"

    def do_claim(self) -> None:
        target, operator = subject_of(self.room), self.host.operator
        claim = self.snapshot.operators.claims.get(target)
        mine = claim is not None and claim.by == operator
        self.submit(ReleaseItems(targets=[target]) if mine else ClaimItems(targets=[target]))

    def do_operators(self) -> None:
        from lumen_tui.tui.screens.operators import OperatorsScreen

        self.host.push_screen(OperatorsScreen(self.snapshot, self.submit, self.refusal))
