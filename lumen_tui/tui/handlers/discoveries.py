"""Commands of the discoveries pane: the judgement on what was noticed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.records import DiscoveryRow, Node
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.discoveries import (
    ArchiveDiscoveries,
    MergeDiscoveries,
    PostponeDiscoveries,
    PromoteDiscoveries,
)
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.handlers.base import Handler, show_node
from lumen_tui.tui.panes.discoveries import DiscoveriesPane
from lumen_tui.tui.room_command import DISCOVERIES

if TYPE_CHECKING:
    from lumen_tui.tui.screens.discoveries import TriageDecision

_NONE = "there are no open discoveries"
_BUSY = "its decision is being saved"
_KEEP_DAYS = 7

Judgement = PromoteDiscoveries | ArchiveDiscoveries | PostponeDiscoveries | MergeDiscoveries


class DiscoveriesHandler(Handler):
    """Promote, archive, keep, merge. The next row comes under the cursor by itself, at once."""

    scope = DISCOVERIES
    lane = ""  # the one that was promoted to last

    @property
    def _pane(self) -> DiscoveriesPane:
        return cast("DiscoveriesPane", self.room.pane(DISCOVERIES))

    def _why(self) -> str:
        if self.selected is None:
            return _NONE
        return "" if self._pane.leaving.keys.isdisjoint(self.rows.targets()) else _BUSY

    why_promote = why_archive = why_later = why_similar = _why

    def do_promote(self) -> None:
        self._promote(self.rows.targets())

    def do_archive(self) -> None:
        self._archive(self.rows.targets())

    def do_later(self) -> None:
        self._later(self.rows.targets())

    def _promote(self, targets: Sequence[str]) -> None:
        from lumen_tui.tui.screens.discoveries import PromoteForm

        def filled(answer: dict[str, str] | None) -> None:
            if answer is not None:
                self.lane = answer["lane"]
                title = answer["title"] if len(targets) == 1 else ""
                self._decide(PromoteDiscoveries(node_ids=targets, lane=self.lane, title=title))

        node = self._node(targets[0])
        form = PromoteForm(node, self.snapshot.lanes, self._pane.lane(node) or self.lane, len(targets))
        self.host.push_screen(form, filled)

    def _node(self, node_id: str) -> Node:
        """Return the node of a row; the selected one where that row is far away."""
        model = self.rows.model
        place = model.find(node_id, near=(model.cursor,))
        row: DiscoveryRow = self.selected if place is None else model.row(place)
        return row.node

    def _archive(self, targets: Sequence[str]) -> None:
        what = "the discovery" if len(targets) == 1 else f"{len(targets)} discoveries"

        def archive(reason: str) -> None:
            self._decide(ArchiveDiscoveries(node_ids=targets, reason=reason))

        self.reasons.ask(f"Archive {what}", "triage.archive", archive)

    def _later(self, targets: Sequence[str]) -> None:
        self._decide(PostponeDiscoveries(node_ids=targets, days=_KEEP_DAYS))

    def again(self, request: Request) -> None:
        targets = self.rows.targets()
        if isinstance(request, PromoteDiscoveries):  # title and number were those of the one before
            self._decide(msgspec.structs.replace(request, node_ids=targets, title="", wu_id=""))
        elif isinstance(request, (ArchiveDiscoveries, PostponeDiscoveries)):
            self._decide(msgspec.structs.replace(request, node_ids=targets))

    def _decide(self, request: Judgement) -> None:
        """Carry out one decision on some rows; they need not be seen to go before the next one is made."""
        leaving, targets = self._pane.leaving, list(request.node_ids)
        leaving.take(targets)

        def happened(done: Done) -> None:
            leaving.happened(targets)
            if isinstance(request, PromoteDiscoveries):
                self._pane.promoted = done.target
                self.room.say(f"{done.summary}; {self.key('units')} shows it")

        self.host.submit(request, happened, lambda _: leaving.failed(targets))

    def why_merge(self) -> str:
        if why := self._why():
            return why
        return "" if len(self._to_merge()) > 1 else "mark duplicates with space, then m"

    def do_merge(self) -> None:
        self.room.run_worker(self._ask_merge(self._to_merge()), group="look", exclusive=True)

    def _to_merge(self) -> list[str]:
        """Ids of what would become one: the marked rows; a single one with the row under the cursor; its double."""
        marked, here = list(self.rows.marks.keys), self.selected.node.id
        if len(marked) > 1:
            return marked
        if marked and marked != [here]:
            return [here, *marked]
        like = self._pane.like(self.selected)
        return [here, like[0]] if like is not None else [here]

    async def _ask_merge(self, node_ids: Sequence[str]) -> None:
        """Show all of them, read again; nothing is merged unseen."""
        from lumen_tui.tui.kit.jobs import looked
        from lumen_tui.tui.screens.discoveries import MergeConfirm

        host, here = self.host, self.selected.node.id
        try:
            nodes = await looked(self.room, lambda: [host.port.node(node_id) for node_id in node_ids])
        except (ActionError, StoreError) as error:
            self.room.say(str(error), bad=True)
            return
        host.push_screen(MergeConfirm(nodes, here, host.clock()), self._merge)

    def _merge(self, answer: tuple[str, tuple[str, ...]] | None) -> None:
        if answer is not None:
            stays, others = answer
            self._decide(MergeDiscoveries(node_ids=others, into=stays))

    def do_similar(self) -> None:
        from lumen_tui.tui.screens.discoveries import SimilarScreen

        host = self.host
        host.push_screen(SimilarScreen(host.port, self.selected.node, host.clock()), self._for_all)

    def _for_all(self, verdict: TriageDecision | None) -> None:
        if verdict is not None:
            decide = {"promote": self._promote, "archive": self._archive, "later": self._later}
            decide[verdict.action](verdict.node_ids)

    def open(self) -> None:
        """Open the discovery in full, with where it comes from."""
        show_node(self.room, self.host, self.selected.node.id)
