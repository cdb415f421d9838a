"""Commands of the decay pane: about its nodes, and looking ahead in time or under another rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.decay import DecayRule, DecayView
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import ChangeSettings
from lumen_tui.model.requests.memory import ApplyDecay, ArchiveNodes, PinNodes, TouchNodes
from lumen_tui.model.times import DAY
from lumen_tui.storage.files import StoreError
from lumen_tui.tui import words
from lumen_tui.tui.handlers.base import Handler, show_node
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.jobs import Loader, looked
from lumen_tui.tui.kit.line_list import step_past
from lumen_tui.tui.panes.base import PanedRoom
from lumen_tui.tui.panes.decay import DecayPane, Foresight, Travel
from lumen_tui.tui.room_command import DECAY


class DecayHandler(Handler):
    """Pin, touch, archive now; the lists of what does not fade."""

    scope = DECAY

    def _why(self) -> str:
        return "nothing decays" if self.selected is None else ""

    why_pin = why_touch = why_archive_node = _why

    def do_pin(self) -> None:
        self._act(PinNodes)

    def do_touch(self) -> None:
        self._act(TouchNodes)

    def _act(self, kind: type[PinNodes | TouchNodes]) -> None:
        """Act on the marked rows or the selected one, and go on to the next: these will stand elsewhere."""
        targets = self.rows.targets()
        self.submit(kind(node_ids=targets))
        step_past(self.rows, targets)

    def again(self, request: Request) -> None:
        targets = self.rows.targets()
        super().again(request)
        step_past(self.rows, targets)

    def do_archive_node(self) -> None:
        marked, targets = len(self.rows.marks.keys), self.rows.targets()

        def archive(reason: str) -> None:
            self.submit(ArchiveNodes(node_ids=targets, reason=reason))

        self.reasons.ask(f"Archive {f'{marked} nodes' if marked > 1 else 'the node'} now", "node.archive", archive)

    def why_archived_nodes(self) -> str:
        return "" if self.snapshot.decay.archived else "nothing is archived"

    def do_archived_nodes(self) -> None:
        from lumen_tui.tui.screens.memory import ArchivedScreen

        self._list_nodes(ArchivedScreen)

    def why_protected_nodes(self) -> str:
        return "" if self.snapshot.decay.protected else "nothing is protected"

    def do_protected_nodes(self) -> None:
        from lumen_tui.tui.screens.memory import ProtectedScreen

        self._list_nodes(ProtectedScreen)

    def _list_nodes(self, screen: Any) -> None:
        host = self.host
        host.push_screen(screen(host.port, host.clock(), self.refusal))

    def open(self) -> None:
        """Open the node in full."""
        show_node(self.room, self.host, self.selected.node_id)


_WEEK = 7


class TravelHandler(Handler):
    """Moves the pane's clock and rule, and asks the port, in a thread, what memory would look like there."""

    scope = DECAY

    def __init__(self, room: PanedRoom, host: Host) -> None:
        super().__init__(room, host)
        self._loader: Loader[Foresight] = Loader(room, self._ask, self._foreseen)

    @property
    def _pane(self) -> DecayPane:
        return cast("DecayPane", self.room.pane(DECAY))

    @property
    def _known(self) -> DecayRule:
        """The rule in force."""
        return self.snapshot.decay.rule

    def do_day_on(self) -> None:
        self._go(self._pane.travel.by_days(1))

    def do_day_back(self) -> None:
        self._go(self._pane.travel.by_days(-1))

    def do_week_on(self) -> None:
        self._go(self._pane.travel.by_days(_WEEK))

    def do_week_back(self) -> None:
        self._go(self._pane.travel.by_days(-_WEEK))

    def do_half_life_up(self) -> None:
        self._go(self._pane.travel.half_life_stepped(1, self._known))

    def do_half_life_down(self) -> None:
        self._go(self._pane.travel.half_life_stepped(-1, self._known))

    def do_threshold_up(self) -> None:
        self._go(self._pane.travel.threshold_stepped(1, self._known))

    def do_threshold_down(self) -> None:
        self._go(self._pane.travel.threshold_stepped(-1, self._known))

    def do_present(self) -> None:
        self._go(Travel())

    def _go(self, travel: Travel) -> None:
        pane = self._pane
        if travel == pane.travel:
            self.room.say("That is the limit.")
            return
        pane.outdated = self._loader.load
        pane.go(travel)
        if travel.moving:
            self._loader.load()

    def _ask(self) -> Foresight:
        """Called in a thread."""
        travel, at = self._pane.travel, self.host.clock()
        at += travel.days * DAY
        view, rows = self.host.port.decay_at(travel.rule(self._known), at)
        return Foresight(travel, at, view, rows)

    def _foreseen(self, foresight: Foresight) -> None:
        self._pane.foresee(foresight)


T = TypeVar("T")

_SHOWN = 6  # titles of what would be archived


class RuleHandler(Handler):
    """Shows the numbers first, and acts when they are confirmed."""

    scope = DECAY

    @property
    def _pane(self) -> DecayPane:
        return cast("DecayPane", self.room.pane(DECAY))

    @property
    def _known(self) -> DecayRule:
        """The rule in force."""
        return self.snapshot.decay.rule

    def why_apply_rule(self) -> str:
        return "" if self._pane.travel.other_rule else "this is the current rule: try another one first"

    def do_apply_rule(self) -> None:
        port, now, known = self.host.port, self.host.clock(), self._known
        tried = self._pane.travel.rule(known)

        def counted(views: list[DecayView]) -> None:
            lines = apply_lines(known, tried, due=views[1].due, due_before=views[0].due)
            changes = changed_settings(known, tried)
            self._confirm("Write the rule", lines, "write it", lambda: self._write(changes))

        self._look(lambda: [port.decay_at(rule, now)[0] for rule in (known, tried)], counted)

    def _write(self, changes: dict[str, float]) -> None:
        self.host.submit(ChangeSettings(changes=changes), lambda _: self._pane.go(Travel()))

    def why_run_decay(self) -> str:
        if self._pane.travel.moving:
            return f"this is a preview; {self.key('present')}: back to today"
        return "" if self.snapshot.decay.active else "nothing in memory can decay"

    def do_run_decay(self) -> None:
        port, now, rule = self.host.port, self.host.clock(), self._known

        def ask() -> tuple[int, list[str]]:
            view, rows = port.decay_at(rule, now)
            return view.due, [row.title for row in rows[: min(view.due, _SHOWN)]]

        def counted(found: tuple[int, list[str]]) -> None:
            due, titles = found
            if not due:
                self.room.say("Nothing has decayed yet.")
                return
            lines = decay_lines(rule, due, titles)
            self._confirm("Decay now", lines, "archive them", lambda: self.submit(ApplyDecay()))

        self._look(ask, counted)

    def _look(self, ask: Callable[[], T], then: Callable[[T], None]) -> None:
        """Ask the disk in a thread, then go on."""

        async def run() -> None:
            try:
                answer = await looked(self.room, ask)
            except (ActionError, StoreError) as error:
                self.room.say(str(error), bad=True)
                return
            then(answer)

        self.room.run_worker(run(), group="look", exclusive=True)

    def _confirm(self, title: str, lines: list[str], verb: str, then: Callable[[], Any]) -> None:
        from lumen_tui.tui.kit.questions import ConfirmKey

        def answered(yes: bool | None) -> None:
            if yes:
                then()

        self.host.push_screen(ConfirmKey(title, lines, "confirm_yes", verb), answered)


def changed_settings(known: DecayRule, tried: DecayRule) -> dict[str, float]:
    """Return the settings in which two rules differ, by their names in the configuration."""
    pairs = (
        ("memory.decay.half_life_days", known.half_life_days, tried.half_life_days),
        ("memory.decay.threshold", known.threshold, tried.threshold),
    )
    return {key: after for key, before, after in pairs if before != after}


def apply_lines(known: DecayRule, tried: DecayRule, *, due: int, due_before: int) -> list[str]:
    """Return what writing a rule changes, in numbers."""
    names = {"memory.decay.half_life_days": "half-life in days", "memory.decay.threshold": "threshold"}
    before = {"memory.decay.half_life_days": known.half_life_days, "memory.decay.threshold": known.threshold}
    lines = [f"{names[key]}: {before[key]:g} → {value:g}" for key, value in changed_settings(known, tried).items()]
    return [
        *lines,
        f"an untouched node is archived after {tried.life_days:.2f} days, so far {known.life_days:.2f}",
        f"due now under it: {words.plural(due, 'node')}, so far {words.number(due_before)}",
        "It is written to operator.toml. That archives nothing; undo reverts it.",
    ]


def decay_lines(rule: DecayRule, due: int, titles: list[str]) -> list[str]:
    """Return what decay would archive."""
    more = [f"… and {words.number(due - len(titles))} more"] if due > len(titles) else []
    return [
        f"{words.plural(due, 'node')} below {rule.threshold:g}, untouched for {rule.life_days:.2f} days or more:",
        *[f"  {title}" for title in titles],
        *[f"  {line}" for line in more],
        "They are archived, not deleted; undo brings them back.",
    ]
