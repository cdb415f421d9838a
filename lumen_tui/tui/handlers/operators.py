"""Commands about other operators: who is here, and claims of what one is at."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.operators import ClaimItems, ReleaseItems
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.kit.repeats import carry_out
from lumen_tui.tui.panes.base import subject_of


class OperatorsHandler(Handler):
    """Claims or releases the selected row, and opens the screen of operators."""

    def why_claim(self) -> str:
        return "" if self._subjects() else "there is nothing here to claim"

    def do_claim(self) -> None:
        """Claim what is selected, marked or open in front; release it where all of it is this operator's."""
        targets, claims = list(self._subjects()), self.snapshot.operators.claims
        mine = all(target in claims and claims[target].by == self.host.operator for target in targets)
        request = ReleaseItems(targets=targets) if mine else ClaimItems(targets=targets)
        if (sheet := self.sheet) is not None:
            carry_out(self.host, sheet, request)
        else:
            self.submit(request)

    def _subjects(self) -> Sequence[str]:
        if (sheet := self.sheet) is not None:
            return sheet.subjects()
        return [subject] if (subject := subject_of(self.room)) else ()

    def do_operators(self) -> None:
        from lumen_tui.tui.screens.operators import OperatorsScreen

        self.host.push_screen(OperatorsScreen(self.snapshot, self.submit, self.refusal))
