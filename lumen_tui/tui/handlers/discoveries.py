"""Commands of the discoveries pane: the judgement on what was noticed."""

from __future__ import annotations

from typing import cast

from lumen_tui.tui.commands import DISCOVERIES
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.panes.discoveries import DiscoveriesPane

_NONE = "there is nothing to judge"
_KEEP_DAYS = 7


class DiscoveriesHandler(Handler):
    """Promote, archive, keep, merge. The next row comes under the cursor by itself."""

    scope = DISCOVERIES

    @property
    def _pane(self) -> DiscoveriesPane:
        return cast("DiscoveriesPane", self.room.pane(DISCOVERIES))

    def _why(self) -> str:
        return _NONE if self.selected is None else ""

    why_promote = why_archive = why_later = why_why = _why

    def do_promote(self) -> None:
        from lumen_tui.tui.screens.promote_form import PromoteForm

        targets = self.rows.targets()

        def filled(answer: dict[str, str] | None) -> None:
            if answer is not None:
                title = answer.get("title", "") if len(targets) == 1 else ""
                self.submit("triage.promote", node_ids=targets, lane=answer.get("lane", ""), title=title)

        self.room.lumen.push_screen(PromoteForm(self.selected.node, self.snapshot.lanes), filled)

    def do_archive(self) -> None:
        title = f"Archive {self.count_words('discovery', 'discoveries')}"
        self.ask_reason(title, "triage.archive", node_ids=self.rows.targets())

    def do_later(self) -> None:
        self.submit("triage.keep", node_ids=self.rows.targets(), days=_KEEP_DAYS)

    def why_merge(self) -> str:
        row = self.selected
        if row is None:
            return _NONE
        if self._pane.like(row) is not None or any(key != row.node.id for key in self.rows.marks.keys):
            return ""
        return "mark the doubles with space, go to the one that stays, then m"

    def do_merge(self) -> None:
        row = self.selected
        others = [key for key in self.rows.marks.keys if key != row.node.id]
        if others:
            self.submit("triage.merge", node_ids=others, into=row.node.id)
        elif like := self._pane.like(row):
            self.submit("triage.merge", node_ids=[row.node.id], into=like[0])

    def do_why(self) -> None:
        self.open()

    def open(self) -> None:
        """The discovery in full, with where it comes from."""
        from lumen_tui.tui.screens.node_detail import NodeDetail

        self.room.lumen.push_screen(NodeDetail(self.selected.node, self.room.lumen.clock()), self._chosen)

    def _chosen(self, action: str | None) -> None:
        if action:
            self.room.action_do(action)
