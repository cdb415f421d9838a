"""The engine's side of the budget: who may start, what a dead worker's call counts, and when a person must know."""

from __future__ import annotations

from lumen_tui.engine.events import EventLog
from lumen_tui.model import budget, times
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.loop import TokenBudget
from lumen_tui.model.snapshot import SpendView
from lumen_tui.model.spendbook import NOTICE, Entry
from lumen_tui.storage.store import Store
from lumen_tui.store.ledger.ledger import Ledger


class Budgets:
    """Reads the ledger in each pass. What it finds holds until the next one."""

    def __init__(self, store: Store, log: EventLog) -> None:
        self._log = log
        self._ledger = Ledger(store.layout)
        self._config = BudgetConfig()
        self._day = ""
        self._costs = True
        self._reached: dict[str, str] = {}  # role, or nothing for the day -> why nothing of it starts, in words
        self._full_since = 0.0
        self.view = SpendView()

    def poll(self, config: BudgetConfig, now: float, *, costs: bool) -> None:
        """Take in new ledger entries and report changes. `costs`: tasks that start now use a model."""
        self._config = config
        self._day = budget.day_of(now, config.day_starts)
        self._costs = costs
        for hold in self._ledger.give_up_dead(now):
            self._report_dead(hold, now)
        self.view = budget.view(self._ledger.book, config, now)
        self._warn(now)
        self._report_full(now)

    def _report_dead(self, hold: Entry, now: float) -> None:
        """Report what became of the amount that a dead worker had set aside."""
        amount = f"{hold.tokens:,} tokens, ${hold.usd:.4f}"
        if hold.unsent:
            words = f"{amount} are free again: the worker ended before its request left"
            self._log.add("spend_freed", words, now, task_id=hold.task, call=hold.id)
            return
        words = f"{amount} count in full: the worker ended before it told the cost"
        self._log.add("spend_unknown", words, now, task_id=hold.task, call=hold.id)

    def refusal(self, role: str) -> str:
        """Return why no task of a role may start now; empty if one may."""
        if not self._costs:
            return ""
        book = self._ledger.book
        return budget.blocked(book, self._config, self._day) or budget.blocked(book, self._config, self._day, role)

    def today(self, config: BudgetConfig, now: float) -> tuple[str, TokenBudget, float]:
        """Return what loop-state records: the day, its tokens, its dollars."""
        spend = budget.view(self._ledger.refresh(), config, now)
        remaining = max(0, spend.tokens_cap - spend.tokens)
        tokens = TokenBudget(window="day", limit=spend.tokens_cap, used=spend.tokens, remaining=remaining)
        return spend.day, tokens, spend.usd

    def _warn(self, now: float) -> None:
        """Warn once a day for each cap, also across restarts."""
        if not self.view.warned:
            return
        for words in budget.warnings(self._ledger.book, self._config, self._day):
            name = f"warn-{self._day}-{words.partition(':')[0]}"
            if name in self._ledger.book.notices:
                continue
            if self._ledger.once(Entry(name, NOTICE, times.iso(now), day=self._day, text=words)):
                self._log.add("budget_warning", words, now)

    def _report_full(self, now: float) -> None:
        before, day = self._reached, self.view.full
        self._reached = {"": day} if day else dict(self.view.full_roles)
        for name in self._reached.keys() - before.keys():
            self._full_since = now
            self._log.add("budget_full", f"{self._reached[name]}; raise it for today, or wait for the next day", now)
        for name in before.keys() - self._reached.keys() if not day else ():
            self._log.add(
                "budget_resumed", f"goes on: {self._why_resumed()}. It had paused because {before[name]}", now
            )

    def _why_resumed(self) -> str:
        newest = max(self._ledger.book.grants.values(), key=lambda grant: grant.at, default=None)
        if newest is not None and times.epoch(newest.at) >= self._full_since - 1:
            return f"{newest.by} raised the budget" + (f" ({newest.text})" if newest.text else "")
        return "a new day began or there is room again"
