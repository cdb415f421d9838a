"""What the keys do with discoveries, in their pane and on the triage screen: each verdict shows the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.kinds import DISCOVERY_ALIASES, PRIORITIES, priority_rank
from lumen_tui.model.records import DiscoveryRow, Node
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.discoveries import (
    ArchiveDiscoveries,
    EditDiscoveries,
    MergeDiscoveries,
    PostponeDiscoveries,
    PromoteDiscoveries,
)
from lumen_tui.model.triage import is_old
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.host import Host, VerdictQuestion
from lumen_tui.tui.kit.jobs import Says, looked
from lumen_tui.tui.kit.keys import key_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.reasons import REASONS, Reasons
from lumen_tui.tui.kit.verdict import shown_answers
from lumen_tui.tui.panes.discoveries import DiscoveryPlace, to_merge
from lumen_tui.tui.screens.discoveries import MergeConfirm, PromoteForm, SimilarScreen, TitleForm, TriageDecision

_VERB = "triage.archive"
_SPANS = {"a day": 1.0, "a week": 7.0, "a month": 30.0}  # days
_MOST_LANES = 9  # one for each digit

Judgement = PromoteDiscoveries | ArchiveDiscoveries | PostponeDiscoveries | MergeDiscoveries


class TriageHabits:
    """What was answered last in this room; the next verdict offers it."""

    def __init__(self, promoted: Callable[[str], None]) -> None:
        self.promoted = promoted  # gets the id of the work unit that was made
        self.lane = ""
        self.reason = ""
        self.days = 7.0
        self.decided = 0  # discoveries, with those whose decision is on its way
        self.made: dict[str, Sequence[str]] = {}  # ids of the discoveries by what undo calls each decision


def _rows_of(place: DiscoveryPlace) -> LineList[DiscoveryRow]:
    if place.rows is None:
        raise LookupError("discoveries have a list")
    return place.rows


def node_at(place: DiscoveryPlace, node_id: str) -> Node:
    """Return the node of a row; the selected one where that row is far away."""
    model = _rows_of(place).model
    number = model.find(node_id, near=(model.cursor,))
    return model.row(model.cursor if number is None else number).node


class DiscoveryEdits:
    """Changes of discoveries that stay open."""

    def __init__(self, place: DiscoveryPlace, host: Host, says: Says) -> None:
        self._place, self._host, self._says = place, host, says
        self._priorities: dict[str, str] = {}  # by id, as they will be once that is on file

    def shift(self, targets: Sequence[str], by: int) -> None:
        """Make them less urgent by so many steps, or more urgent."""
        wanted: dict[str, list[str]] = {}
        for node_id in targets:
            priority = self._priorities.get(node_id) or node_at(self._place, node_id).priority
            rank = max(0, min(priority_rank(priority) + by, len(PRIORITIES) - 1))
            if PRIORITIES[rank] != priority:
                wanted.setdefault(PRIORITIES[rank], []).append(node_id)
        for priority, node_ids in wanted.items():
            self._prioritize(EditDiscoveries(node_ids=node_ids, priority=priority))

    def _prioritize(self, request: EditDiscoveries) -> None:
        wanted = dict.fromkeys(request.node_ids, request.priority)

        def forget() -> None:
            for node_id in wanted:
                if self._priorities.get(node_id) == request.priority:  # and no other was typed since
                    del self._priorities[node_id]

        self._priorities.update(wanted)
        self._submit(request, forget)

    def retype(self, targets: Sequence[str]) -> None:
        """Ask for the sort of discovery."""

        def chosen(place: int) -> None:
            self._submit(EditDiscoveries(node_ids=targets, type=DISCOVERY_ALIASES[place]))

        self._host.verdicts.ask(VerdictQuestion("type", DISCOVERY_ALIASES, chosen))

    def rename(self) -> None:
        """Ask for another title of the selected one."""
        row = _rows_of(self._place).selected
        if row is None:
            return

        def filled(title: str | None) -> None:
            if title:
                self._submit(EditDiscoveries(node_ids=row.node.id, title=title))

        self._host.push_screen(TitleForm(row.node), filled)

    def again(self, request: EditDiscoveries, targets: Sequence[str]) -> None:
        """Give others the priority or the type that one was given."""
        request = msgspec.structs.replace(request, node_ids=list(targets))
        if request.priority:
            self._prioritize(request)
        else:
            self._submit(request)

    def _submit(self, request: EditDiscoveries, ended: Callable[[], None] = lambda: None) -> None:
        def refused(why: str) -> None:
            ended()
            self._says.say(why, bad=True)

        def done(outcome: Done) -> None:
            ended()
            self._says.say(outcome.summary)

        self._host.submit(request, done, refused)


class TriageVerbs:
    """The verdicts on the marked discoveries, or on the selected one."""

    def __init__(self, place: DiscoveryPlace, host: Host, reasons: Reasons, habits: TriageHabits, says: Says) -> None:
        self._place, self._host, self._habits, self._says = place, host, habits, says
        self._reasons = reasons
        self.edits = DiscoveryEdits(place, host, says)

    def offers(self, targets: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield for each verdict its answers by digit, the one that needs none between brackets."""
        lanes, lane = self._lanes(node_at(self._place, targets[0]))
        yield "promote", shown_answers(lanes, lanes.index(lane) if lane else None)
        reasons, reason = REASONS[_VERB], self.usual_reason(targets)
        yield "archive", shown_answers(reasons, reasons.index(reason) if reason in reasons else None)
        yield "later", shown_answers(tuple(_SPANS), list(_SPANS.values()).index(self._habits.days))

    def promote(self, targets: Sequence[str]) -> None:
        """Ask for the lane, where the last one is offered; a form asks for the first one ever."""
        lanes, usual = self._lanes(node_at(self._place, targets[0]))
        if lanes:
            place = lanes.index(usual) if usual else None
            self._ask(
                targets,
                VerdictQuestion(
                    "promote to",
                    lanes,
                    lambda chosen: self._promoted(targets, lanes[chosen]),
                    place,
                    lambda: self.promote_by_form(targets),
                ),
            )
        else:
            self.promote_by_form(targets)

    def _lanes(self, node: Node) -> tuple[Sequence[str], str]:
        """Return the lanes that have a digit, and the one that is offered."""
        known = self._host.room.snapshot.lanes
        usual = self._place.lane(node) or self._habits.lane or (known[0] if len(known) == 1 else "")
        lanes = known[:_MOST_LANES]
        if usual and usual not in lanes:
            lanes = (usual, *lanes[: _MOST_LANES - 1])
        return lanes, usual

    def promote_by_form(self, targets: Sequence[str]) -> None:
        """Ask for another lane, and for the title of a single one."""

        def filled(answer: dict[str, str] | None) -> None:
            if answer is not None:
                title = answer["title"] if len(targets) == 1 else ""
                self._promoted(targets, answer["lane"], title)

        node, snapshot = node_at(self._place, targets[0]), self._host.room.snapshot
        lane = self._place.lane(node) or self._habits.lane
        self._host.push_screen(PromoteForm(node, snapshot.lanes, lane, len(targets)), filled)

    def _promoted(self, targets: Sequence[str], lane: str, title: str = "") -> None:
        self._habits.lane = lane
        self._decide(PromoteDiscoveries(node_ids=targets, lane=lane, title=title))

    def archive(self, targets: Sequence[str]) -> None:
        """Ask why: the last reason is offered, and that it is stale for a single one that has been open for long."""
        reasons, usual = REASONS[_VERB], self.usual_reason(targets)

        def archive(reason: str) -> None:
            if reason != "stale":
                self._habits.reason = reason
            self._decide(ArchiveDiscoveries(node_ids=targets, reason=reason))

        title = "Archive the discovery" if len(targets) == 1 else f"Archive {len(targets)} discoveries"
        place = reasons.index(usual) if usual in reasons else None
        self._ask(
            targets,
            VerdictQuestion(
                "archive as",
                reasons,
                lambda chosen: archive(reasons[chosen]),
                place,
                lambda: self._reasons.write(title, _VERB, archive),
            ),
        )

    def usual_reason(self, targets: Sequence[str]) -> str:
        """Return the reason that needs no digit; empty where there is none."""
        if len(targets) == 1 and is_old(node_at(self._place, targets[0]), self._host.clock()):
            return "stale"
        return self._habits.reason

    def later(self, targets: Sequence[str]) -> None:
        """Ask for how long; the last answer is offered, a week at first."""
        days = list(_SPANS.values())

        def snooze(chosen: int) -> None:
            self._habits.days = days[chosen]
            self._decide(PostponeDiscoveries(node_ids=targets, days=days[chosen]))

        self._ask(targets, VerdictQuestion("snooze for", tuple(_SPANS), snooze, days.index(self._habits.days)))

    def _ask(self, targets: Sequence[str], verdict: VerdictQuestion) -> None:
        """Ask in passing: where an answer is offered, the next row is under the cursor meanwhile."""
        if verdict.usual is None:
            self._host.verdicts.ask(verdict)
            return
        here = _rows_of(self._place).selected
        self._place.leaving.take(targets)

        def drop() -> None:
            self._place.leaving.failed(targets)
            if here is not None:
                _rows_of(self._place).select_key(here.node.id)

        self._host.verdicts.ask(verdict._replace(drop=drop))

    def _decide(self, request: Judgement) -> None:
        """Carry out one decision on some rows; they need not be seen to go before the next one is made."""
        leaving, targets = self._place.leaving, list(request.node_ids)
        leaving.take(targets)
        self._habits.decided += len(targets)

        def refused(why: str) -> None:
            leaving.failed(targets)
            self._habits.decided -= len(targets)
            self._says.say(why, bad=True)

        def happened(done: Done) -> None:
            leaving.happened(targets)
            self._habits.made[done.target] = targets
            shown = ""
            if isinstance(request, PromoteDiscoveries):
                self._habits.promoted(done.target)
                shown = f"; {key_of(_rows_of(self._place), 'units')} shows it"
            self._says.say(f"{done.summary}{shown}")

        self._host.submit(request, happened, refused)

    def again(self, request: Request, targets: Sequence[str]) -> None:
        """Decide as before; title and number were those of the one before."""
        if isinstance(request, PromoteDiscoveries):
            self._decide(msgspec.structs.replace(request, node_ids=targets, title="", wu_id=""))
        elif isinstance(request, (ArchiveDiscoveries, PostponeDiscoveries)):
            self._decide(msgspec.structs.replace(request, node_ids=targets))
        elif isinstance(request, EditDiscoveries):
            self.edits.again(request, targets)

    def similar(self, targets: Sequence[str]) -> None:
        """Show all that are like the selected one, and decide on those that are marked there."""
        row = _rows_of(self._place).selected
        if row is not None:
            host = self._host
            host.push_screen(SimilarScreen(host.port, row.node, host.clock()), self._for_all)

    def _for_all(self, verdict: TriageDecision | None) -> None:
        if verdict is not None:
            VERBS[verdict.action](self, verdict.node_ids)

    def merge(self, targets: Sequence[str]) -> None:
        """Show all of what would become one, read again; nothing is merged unseen."""
        rows = _rows_of(self._place)
        stays = rows.selected.node.id if rows.marks.keys and rows.selected is not None else ""
        self._host.run_worker(self._ask_merge(to_merge(self._place), stays), group="merge")

    async def _ask_merge(self, node_ids: Sequence[str], stays: str) -> None:
        host = self._host
        try:
            nodes = await looked(self._says, lambda: [host.port.node(node_id) for node_id in node_ids])
        except (ActionError, StoreError) as error:
            self._says.say(str(error), bad=True)
            return
        host.push_screen(MergeConfirm(nodes, stays, host.clock()), self._merged)

    def _merged(self, answer: tuple[str, tuple[str, ...]] | None) -> None:
        if answer is not None:
            stays, others = answer
            self._decide(MergeDiscoveries(node_ids=others, into=stays))


VERBS: Mapping[str, Callable[[TriageVerbs, Sequence[str]], None]] = {
    "promote": TriageVerbs.promote,
    "archive": TriageVerbs.archive,
    "later": TriageVerbs.later,
    "merge": TriageVerbs.merge,
    "similar": TriageVerbs.similar,
    "less_urgent": lambda verbs, targets: verbs.edits.shift(targets, 1),
    "more_urgent": lambda verbs, targets: verbs.edits.shift(targets, -1),
    "retype": lambda verbs, targets: verbs.edits.retype(targets),
    "rename": lambda verbs, _: verbs.edits.rename(),
}
