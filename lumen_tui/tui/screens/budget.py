"""The budget: today's caps, pace and forecast, who spent what, and the dialogs that raise a cap or stop all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from lumen_tui.engine.port import Port
from lumen_tui.model import budget, ids, times
from lumen_tui.model.budget import Cap
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import RaiseBudget, Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.spendbook import Amount
from lumen_tui.model.spendreport import ReportedCall, Share, SpendReport
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.fields import Offers, TextField
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.keys import key_of, pair_of
from lumen_tui.tui.kit.lines import Cell, ScrolledLines, line, spread, wrap
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.questions import ConfirmKey, ConfirmName
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Invalid, Keys, retitle, row
from lumen_tui.tui.kit.sheets import ListSheet, Rows, fill
from lumen_tui.tui.theme import Appearance

Number = TypeVar("Number", int, float)


class RaiseForm(FormScreen[RaiseBudget]):
    """Answers with the request for more room.

    `full` says which cap is reached: where that is a role's, its name stands in the form.
    """

    SEND = "raise"

    def __init__(self, roles: Sequence[str], full: str = "") -> None:
        super().__init__("Raise today's cap")
        self._roles = roles
        self._role = next((role for role in roles if full.startswith(f"today's budget of role {role} ")), "")

    def rows(self) -> Iterable[Widget]:
        yield row("dollars", TextField(placeholder="such as 5", id="usd"))
        yield row("tokens", TextField(placeholder="such as 100000", id="tokens"))
        yield row("minutes", TextField(placeholder="such as 60", id="minutes"))
        if self._roles:
            yield row("role", Offers(self._roles, value=self._role, id="role", placeholder="none: the whole day"))
        yield row("reason", TextField(placeholder="why", id="reason"))

    def preview(self) -> Content:
        return Content(f"For today only: tomorrow the settings apply again. {key_of(self, 'undo')} undoes it.")

    def read(self) -> RaiseBudget:
        tokens, usd, minutes = self._amount("tokens", int), self._amount("usd", float), self._amount("minutes", float)
        if not (tokens or usd or minutes):
            raise Invalid("Enter how much to add today.", "usd")
        role = self.query_one("#role", TextField).text if self._roles else ""
        reason = self.query_one("#reason", TextField).text
        return RaiseBudget(tokens=tokens, usd=usd, minutes=minutes, role=role, reason=reason)

    def _amount(self, name: str, kind: Callable[[str], Number]) -> Number:
        text = self.query_one(f"#{name}", TextField).text.lstrip("$").replace(",", "")
        try:
            amount = kind(text or "0")
        except ValueError:
            raise Invalid(f"{text!r} is not a number: write how much more, such as 5.", name) from None
        if problem := budget.out_of_range(**{name: amount}):
            raise Invalid(problem, name)
        return amount


class KillForm(ConfirmName):
    """As `ConfirmName`, with a reason, which is kept in `reason`."""

    SEND = "kill"

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        super().__init__("Kill everything", name, lines)
        self.reason = ""

    def rows(self) -> Iterable[Widget]:
        yield from super().rows()
        yield row("reason", TextField(placeholder="why", id="reason"))

    def read(self) -> bool:
        self.reason = self.query_one("#reason", TextField).text
        return super().read()


class UnkillForm(ConfirmKey):
    """Asks with a key that no way here uses: neither ctrl+k nor enter lifts the switch."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("Resume the agent", lines, "confirm_yes", "resume")


_LABEL, _BAR = 16, 20  # cells
Parts = list[tuple[str, Style]]


def page(
    report: SpendReport, now: float, width: int, look: Appearance, titles: Mapping[str, str] = MappingProxyType({})
) -> list[list[Segment]]:
    """Return the whole page on `width` cells. `titles` says what the tasks at hand are about."""
    return list(_Page(report, now, width, look, titles).lines())


class _Page:
    def __init__(
        self, report: SpendReport, now: float, width: int, look: Appearance, titles: Mapping[str, str]
    ) -> None:
        self._report, self._now, self._width, self._look, self._titles = report, now, width, look, titles

    def lines(self) -> Iterator[list[Segment]]:
        report, ink, shapes = self._report, self._look.ink, self._look.shapes
        for text in (report.killed, report.full, report.warned, report.paused):
            if text:
                yield from self._wrapped(shapes.alert, len(shapes.alert) + 1, text, ink.bad)
        for cap in report.caps:
            yield from self._cap(cap)
        yield from self._wrapped("pace", _LABEL, self._pace(), ink.text)
        yield self._row("last 24 hours", self._hours())
        yield self._row("next day", [(words.until(report.ends_at - self._now), ink.text)])
        for grant in report.grants:
            more = amount_words(Amount(grant.tokens, grant.usd, grant.seconds))
            role = f" for {grant.role}" if grant.role else ""
            yield from self._wrapped("raised today", _LABEL, f"{more}{role} by {grant.by}  {grant.reason}", ink.text)
        for title, shares in (("role", report.roles), ("model", report.models), ("task", report.tasks)):
            yield from self._shares(f"by {title}", shares)
        yield from self._shares("of which outside of task steps", report.purposes)
        yield from self._calls("in flight", report.held)
        yield from self._calls("waiting for budget", report.waiting)
        yield from self._calls("cost unknown, counted in full", report.unknown)

    def _row(self, label: str, parts: Parts) -> list[Segment]:
        return spread(self._width, [(f"{label:<{_LABEL}}", self._look.ink.muted), *parts], [])

    def _wrapped(self, label: str, size: int, text: str, style: Style) -> Iterator[list[Segment]]:
        """`text` on as many lines as it needs, the label before the first."""
        before = style if size < _LABEL else self._look.ink.muted
        for part in wrap(text, max(1, self._width - size)):
            yield spread(self._width, [(f"{label:<{size}}", before), (part, style)], [])
            label = ""

    def _cap(self, cap: Cap) -> Iterator[list[Segment]]:
        ink, shapes = self._look.ink, self._look.shapes
        aside = f", {amount_words(cap.held)} reserved" if cap.held else ""
        if not cap.limit:
            yield from self._wrapped(_cap_name(cap), _LABEL, f"{amount_words(cap.spent)}, no limit{aside}", ink.text)
            return
        share = "" if cap.closed else f" ({words.percent(cap.share)})"
        amount = f"{cap.words.removesuffix(' spent')}{share}{aside}"
        size = min(_BAR, max(0, self._width - 60))
        full = min(size, round(size * cap.share))
        style = ink.bad if cap.share >= 1 else ink.accent
        empty = "-" if shapes.bar == "#" else shapes.bar
        bar: Parts = [(shapes.bar * full, style), (empty * (size - full), ink.faint)]
        beside = _LABEL + size + 2 + len(amount) <= self._width
        yield self._row(_cap_name(cap), [*bar, (f"  {amount}" if beside else "", ink.text)])
        if not beside:
            yield from self._wrapped("", _LABEL, amount, ink.text)

    def _pace(self) -> str:
        report = self._report
        spent = f"{amount_words(report.hour)} in the last hour"
        if report.caps[0].share >= 1:
            return spent
        if 0 < report.reached_at <= report.ends_at:
            at = times.time_of_day(report.reached_at)
            return f"{spent}; at that pace the cap is reached {words.until(report.reached_at - self._now)}, at {at}"
        return f"{spent}; at that pace the day ends before the cap is reached"

    def _hours(self) -> Parts:
        levels, most = self._look.shapes.levels, max([hour.tokens for hour in self._report.hours] + [1])
        if not levels:
            return [(f"peak {words.kilo(most)}/h" if most > 1 else "no tokens", self._look.ink.muted)]
        chart = "".join(levels[min(len(levels) - 1, len(levels) * hour.tokens // most)] for hour in self._report.hours)
        peak = f"peak {words.kilo(most)}/h" if most > 1 else "no tokens"
        return [(chart, self._look.ink.accent), (f"  {peak}", self._look.ink.muted)]

    def _shares(self, title: str, shares: Sequence[Share]) -> Iterator[list[Segment]]:
        if not shares:
            return
        ink = self._look.ink
        yield from self._title(title, "API time")
        for share in shares:
            amount = share.amount
            yield line(
                self._width,
                (
                    Cell(f"  {self._named(share.name)}", ink.text),
                    Cell(f"{words.kilo(amount.tokens)} tokens", ink.text, 13, right=True),
                    Cell(f"${amount.usd:.4f}", ink.text, 10, right=True),
                    Cell(words.plural(amount.calls, "call"), ink.muted, 10, right=True),
                    Cell(times.span(amount.seconds), ink.muted, 10, right=True),
                ),
            )

    def _calls(self, title: str, calls: Sequence[ReportedCall]) -> Iterator[list[Segment]]:
        if not calls:
            return
        ink = self._look.ink
        yield from self._title(title)
        for call in calls:
            yield line(
                self._width,
                (
                    Cell(f"  {call.task}  {call.role}  {call.model}", ink.text),
                    Cell(f"{words.kilo(call.tokens)} tokens", ink.text, 13, right=True),
                    Cell(f"${call.usd:.4f}", ink.text, 10, right=True),
                    Cell(words.age(self._now - call.since), ink.muted, 10, right=True),
                ),
            )

    def _named(self, name: str) -> str:
        """Return a task by what it is about, where that is at hand."""
        title = self._titles.get(name, "")
        return f"{ids.short(name)}  {title}" if title else name

    def _title(self, title: str, last: str = "") -> Iterator[list[Segment]]:
        """Yield a heading, with that of the last column, which does not say by itself what it is."""
        yield spread(self._width, [("", self._look.ink.text)], [])
        yield spread(self._width, [(title, self._look.ink.heading)], [(last, self._look.ink.muted)] if last else [])


def _cap_name(cap: Cap) -> str:
    return "today" if cap.key == "day" else cap.key.removeprefix("role:")


def amount_words(amount: Amount) -> str:
    """`12 k tokens, $0.10`, and the minutes where there are any."""
    parts = [f"{words.kilo(amount.tokens)} tokens"] if amount.tokens or not (amount.usd or amount.seconds) else []
    parts += [f"${amount.usd:.2f}"] if amount.usd else []
    parts += [f"{amount.seconds / 60:.0f} min"] if amount.seconds >= times.MINUTE / 2 else []
    return ", ".join(parts) or "nothing"


class ShareRows(Rows[Share]):
    """What a task is about, and what it cost."""

    def __init__(self, look: Appearance, titles: Mapping[str, str]) -> None:
        super().__init__(look)
        self._titles = titles

    def key(self, row: Share) -> str:
        return row.name

    def line(self, row: Share, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, amount = self.look.ink, row.amount
        cells = (
            Cell(ids.short(row.name), ink.muted, 12),
            Cell(self._titles.get(row.name, ""), ink.strong if selected else ink.text),
            Cell(f"{words.kilo(amount.tokens)} tokens", ink.text, 13, right=True),
            Cell(f"${amount.usd:.4f}", ink.text, 10, right=True),
        )
        return line(width, cells)

    def words(self, row: Share) -> str:
        return f"{row.name} {self._titles.get(row.name, '')}"


class SpentScreen(ListSheet[None, Share]):
    """Those that the budget's page names, as a list with a cursor."""

    EMPTY = "No task made a call today."
    WHY = True

    def __init__(self, port: Port, shares: Sequence[Share], titles: Mapping[str, str], refusal: str) -> None:
        super().__init__("Who spent today")
        self._port, self._shares, self._titles, self._refusal = port, shares, titles, refusal

    def rows_view(self) -> ShareRows:
        return ShareRows(appearance_of(self.app), self._titles)

    def keys(self) -> Keys:
        return self.offer("open", "why", "filter", "back", why="what caused it")

    def on_mount(self) -> None:
        super().on_mount()
        fill(self, self._shares, "Who spent today", words.plural(len(self._shares), "task"))

    def opened(self, row: Share) -> None:
        from lumen_tui.tui.screens.task_detail import TaskDetailScreen  # only when one is opened

        self.app.push_screen(TaskDetailScreen(self._port, row.name, refusal=self._refusal))


_TITLES = 64  # tasks; older ones are read from the disk


class BudgetScreen(DetailScreen[None]):
    """One page, read again whenever something changed."""

    SCOPE = "budget"

    def __init__(self, port: Port, snapshot: Snapshot, read: Callable[[], SpendReport], refusal: str = "") -> None:
        super().__init__("Budget")
        self._port, self._now, self._refusal = port, snapshot.taken, refusal
        self._roles = tuple(snapshot.config.budget.roles)
        self._titles = _titles(snapshot)
        self._report: SpendReport | None = None
        self._lines = ScrolledLines(self._page)
        self._loader: Loader[SpendReport] = Loader(self, read, self._loaded)

    def body(self) -> ComposeResult:
        yield self._lines
        yield StatusLine()

    def keys(self) -> Keys:
        move = pair_of(self, "down", "up", "move")
        return (*self.offer("budget_raise", "undo", "budget_spent"), move, *self.offer("back"))

    def on_mount(self) -> None:
        self._lines.focus()
        self._loader.load()

    def show(self, snapshot: Snapshot) -> None:
        """Read the ledger again: something changed."""
        self._now, self._titles = snapshot.taken, _titles(snapshot)
        self._loader.load()

    def tick(self, now: float) -> None:
        self._now = now
        self._lines.redraw()

    def _loaded(self, report: SpendReport) -> None:
        self._report = report
        self._lines.redraw()
        retitle(self, "Budget", report.day)

    def _page(self, width: int, height: int) -> list[list[Segment]]:
        return page(self._report, self._now, width, appearance_of(self.app), self._titles) if self._report else []

    def action_raise(self) -> None:
        if self._refusal:
            self.say(f"raise: {self._refusal}", bad=True)
            return
        self.app.push_screen(RaiseForm(self._roles, self._report.full if self._report else ""), self._raise)

    def _raise(self, request: RaiseBudget | None) -> None:
        if request:
            self.run_worker(self._submit(request), group="raise")

    def action_spent(self) -> None:
        """List the tasks of the page: what caused each of them is asked there."""
        shares = self._report.tasks if self._report else ()
        self.app.push_screen(SpentScreen(self._port, shares, self._titles, self._refusal))

    def action_undo(self) -> None:
        if self._refusal:
            self.say(f"undo: {self._refusal}", bad=True)
            return
        self.run_worker(self._submit(Undo()), group="raise")

    async def _submit(self, request: Request) -> None:
        if await jobs.submit(self, self._port, request):
            self._loader.load()


def _titles(snapshot: Snapshot) -> dict[str, str]:
    """Return what the newest tasks are about, by id."""
    return {view.id: one_line(view.spec.objective, 100) for view in snapshot.tasks[:_TITLES]}
