"""The commands that open one screen each, and the switch that ends everything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lumen_tui.model import agent
from lumen_tui.model.requests.engine import KillAgent, UnkillAgent
from lumen_tui.model.tasks import Status, live_ones, tally
from lumen_tui.tui import words
from lumen_tui.tui.handlers.base import Handler, show_node
from lumen_tui.tui.panes.discoveries import DiscoveriesPane
from lumen_tui.tui.room_command import DISCOVERIES, LOOP, SIGNALS

if TYPE_CHECKING:
    from lumen_tui.tui.kit.sheets import ListSheet
    from lumen_tui.tui.screens.loops import DigestRow

_TALK_BYTES = 16 * 1024 * 1024  # of new conversations between two answers

# Where the entries of a group of the digest that name no thing are shown: group -> command.
_ELSEWHERE = {
    "budget": "budget",
    "learnt": "evolution",
    "engine": "log",
    "people": "journal",
    "approvals": "needs",
    "drift": "freshness",
}


class OpenersHandler(Handler):
    """Opens the screens over the room. A screen is imported when it opens."""

    def do_blocks(self) -> None:
        from lumen_tui.tui.screens.blocks import BlocksScreen

        host = self.host
        host.push_screen(BlocksScreen(host.port, self.snapshot, self.refusal))

    def do_evolution(self) -> None:
        self.show_questions("")

    def show_questions(self, session: str) -> None:
        """Open what was learnt, narrowed to what a session asks if one is named."""
        from lumen_tui.tui.screens.evolution import EvolutionScreen

        host = self.host
        host.push_screen(EvolutionScreen(host.port, self.snapshot, self.refusal, session))

    def show_trials(self) -> None:
        """Open the changes that have to prove themselves."""
        from lumen_tui.tui.screens.trials import TrialsScreen

        self.host.push_screen(TrialsScreen(self.host.port, self.snapshot, self.refusal))

    def do_freshness(self) -> None:
        self.show_facts("")

    def show_facts(self, at: str) -> None:
        """Open the facts, with the cursor on the fact `at` if it is not empty."""
        from lumen_tui.queries.pages import fact_reader
        from lumen_tui.tui.screens.facts import FreshnessScreen

        host, read = self.host, fact_reader(self.layout)
        host.push_screen(FreshnessScreen(host.port, host.clock(), read, self.refusal, at))

    def do_relay(self) -> None:
        self.show_relays("")

    def show_relays(self, at: str) -> None:
        """Open the relays, with the cursor on the submission `at` if it is not empty."""
        from lumen_tui.queries.pages import relay_reader
        from lumen_tui.tui.screens.relays import RelayScreen

        host, read = self.host, relay_reader(self.layout)
        host.push_screen(RelayScreen(host.port, host.clock(), read, self.refusal, at))

    def do_changes(self) -> None:
        self.show_changes()

    def show_changes(self, task_id: str = "") -> None:
        """Open the files of change lists, with the cursor on the first of a task if one is named."""
        from lumen_tui.tui.screens.changes import ChangesScreen

        host = self.host
        host.push_screen(ChangesScreen(host.port, host.clock(), self.layout.root, self.refusal, task_id))

    def do_schedules(self) -> None:
        from lumen_tui.queries.schedule_views import view_reader
        from lumen_tui.tui.screens.schedules import SchedulesScreen

        host = self.host
        read = view_reader(self.layout, host.clock)
        roles = [role.name for role in self.snapshot.roles if role.name != agent.ROLE]
        host.push_screen(SchedulesScreen(host.port, host.clock(), read, roles, self.refusal))

    def do_hosts(self) -> None:
        from lumen_tui.queries.host_views import view_reader
        from lumen_tui.tui.screens.hosts import HostsScreen

        host = self.host
        host.push_screen(HostsScreen(host.port, host.clock(), view_reader(self.layout, host.clock), self.refusal))

    def do_search(self) -> None:
        from lumen_tui.queries.search.search import Searcher
        from lumen_tui.tui.screens.search import SearchScreen

        host = self.host
        searcher = Searcher(self.layout, conversation_bytes=_TALK_BYTES, with_units=True)
        host.push_screen(SearchScreen(host.port, searcher, self.snapshot, self.refusal))

    def why_why(self) -> str:
        if self._subject():
            return ""
        return "there is no row" if self.room.current.rows is not None else "no loop has ended yet"

    def do_why(self) -> None:
        self.host.open_lineage(self._subject())

    def _subject(self) -> str:
        """Return the id of the selected row, or of the last loop where the pane has no list."""
        rows = self.room.current.rows
        if rows is not None:
            return rows.view.key(rows.selected) if rows.selected is not None else ""
        state = self.snapshot.loop
        return agent.task_id(state.loop) if state is not None and state.loop > 0 else ""


class OverviewHandler(Handler):
    """Opens what is looked at across the whole: work units, settings, charts."""

    def do_units(self) -> None:
        """Open the work units, with the cursor on what was promoted last."""
        from lumen_tui.tui.screens.units import UnitsScreen

        host, pane = self.host, self.room.pane(DISCOVERIES)
        at = pane.promoted if isinstance(pane, DiscoveriesPane) else ""
        host.push_screen(UnitsScreen(host.port, self.snapshot, self.refusal, at))

    def do_settings(self) -> None:
        from lumen_tui.tui.screens.settings import SettingsScreen

        self.host.push_screen(SettingsScreen(self.host.port, self.snapshot, self.refusal))

    def do_charts(self) -> None:
        from lumen_tui.tui.screens.charts import ChartsScreen

        self.host.push_screen(ChartsScreen(self.host.port, self.snapshot))


class LoopHandler(Handler):
    """Commands of the loop pane: the last loop in full."""

    scope = LOOP

    def why_open(self) -> str:
        return "" if self.snapshot.packets else "no loop has ended yet"

    def open(self) -> None:
        """Open the packet of the last loop."""
        from lumen_tui.tui.screens.loops import PacketSheet

        if refusal := self.why_open():
            self.room.say(refusal)
            return
        host, packet = self.host, self.snapshot.packets[-1]
        host.push_screen(PacketSheet(host.port, self.snapshot.root, packet, host.clock()))


class ContinuityHandler(Handler):
    """Opens what was: the packets of loops, and what happened since the operator last looked."""

    def why_black_box(self) -> str:
        return "" if self.snapshot.root else "the state folder is not read yet"

    def do_black_box(self) -> None:
        self.host.open_past()

    def do_packets(self) -> None:
        self.show_packets(0)

    def show_packets(self, at: int) -> None:
        """Open the packets, with the cursor on the packet of loop `at` if it is not 0."""
        from lumen_tui.tui.screens.loops import PacketsScreen

        self.host.push_screen(PacketsScreen(self.host.port, self.snapshot, at))

    def why_since(self) -> str:
        return "" if self.host.presence.ready else "the state folder is not read yet"

    def do_since(self) -> None:
        from lumen_tui.tui.screens.loops import DigestScreen

        self.host.push_screen(DigestScreen(self.host.presence.digest, self._go))

    def _go(self, screen: ListSheet[None, DigestRow], row: DigestRow) -> None:
        """Go to what a row is about; a sheet opens above the digest, so that esc comes back to it."""
        kind, target = row.entry.kind, row.entry.target
        if kind == "signal":
            screen.dismiss(None)
            self._to_signal(target)
        elif kind == "task":
            self.show_task(target)
        elif kind == "loop":
            self.show_packets(agent.loop_of(target))
        elif kind == "node":
            show_node(self.room, self.host, target)
        elif kind == "fact":
            OpenersHandler(self.room, self.host).show_facts(target)
        elif action := _ELSEWHERE.get(row.group.name):
            self.room.action_do(action)

    def _to_signal(self, target: str) -> None:
        pane = self.room.pane(SIGNALS)
        self.room.go_to(pane)
        if pane.rows is not None:
            pane.rows.set_filter("")
            if not pane.rows.select_key(target):
                self.room.say("The signal is no longer in the list.")


class SpendingHandler(Handler):
    """The budget's page; kill, and the way back."""

    def do_budget(self) -> None:
        from lumen_tui.queries.queue_conditions import spend_report
        from lumen_tui.tui.screens.budget import BudgetScreen

        host, layout = self.host, self.layout
        read = partial(spend_report, layout)
        host.push_screen(BudgetScreen(host.port, self.snapshot, lambda: read(host.clock()), self.refusal))

    def do_kill(self) -> None:
        from lumen_tui.tui.screens.budget import KillForm, UnkillForm

        if isinstance(self.host.screen, (KillForm, UnkillForm)):
            return  # it is being asked already
        if self.snapshot.killed:
            self._ask_to_go_on()
            return
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
