"""Today's spending as lines: caps with bars, the pace, who spent what, what is being made and what waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.segment import Segment
from rich.style import Style

from lumen_tui.model import ids, times
from lumen_tui.model.budget import Cap
from lumen_tui.model.spendbook import Amount
from lumen_tui.model.spendreport import Held, Share, SpendReport
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line, spread, wrap
from lumen_tui.tui.theme import Look

_LABEL, _BAR = 16, 20  # cells
Parts = list[tuple[str, Style]]


def page(
    found: SpendReport, now: float, width: int, look: Look, titles: Mapping[str, str] = MappingProxyType({})
) -> list[list[Segment]]:
    """The whole page on `width` cells. `titles` says what the tasks at hand are about."""
    return list(_Page(found, now, width, look, titles).lines())


class _Page:
    def __init__(self, found: SpendReport, now: float, width: int, look: Look, titles: Mapping[str, str]) -> None:
        self._found, self._now, self._width, self._look, self._titles = found, now, width, look, titles

    def lines(self) -> Iterator[list[Segment]]:
        found, ink = self._found, self._look.ink
        for text in (found.killed, found.full, found.warned, found.paused):
            if text:
                yield from self._wrapped(self._look.shapes.need, 2, text, ink.bad)
        for cap in found.caps:
            yield from self._cap(cap)
        yield from self._wrapped("pace", _LABEL, self._pace(), ink.text)
        yield self._row("last 24 hours", self._hours())
        yield self._row("next day", [(words.until(found.ends_at - self._now), ink.text)])
        for grant in found.grants:
            more = amount_words(Amount(grant.tokens, grant.usd, grant.seconds))
            role = f" for {grant.role}" if grant.role else ""
            yield from self._wrapped("raised today", _LABEL, f"{more}{role} by {grant.by}  {grant.reason}", ink.text)
        for title, shares in (("role", found.roles), ("model", found.models), ("task", found.tasks)):
            yield from self._shares(f"by {title}", shares)
        yield from self._calls("being made", found.held)
        yield from self._calls("waiting for room", found.waiting)
        yield from self._calls("cost unknown, counted in full", found.unknown)

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
        aside = f", {amount_words(cap.held)} set aside" if cap.held else ""
        if not cap.limit:
            yield from self._wrapped(_cap_name(cap), _LABEL, f"{amount_words(cap.spent)}, no limit{aside}", ink.text)
            return
        share = "" if cap.closed else f" ({cap.share:.0%})"
        said = f"{cap.words.removesuffix(' spent')}{share}{aside}"
        size = min(_BAR, max(0, self._width - 60))
        full = min(size, round(size * cap.share))
        style = ink.bad if cap.share >= 1 else ink.accent
        rest = "-" if shapes.bar == "#" else shapes.bar
        bar: Parts = [(shapes.bar * full, style), (rest * (size - full), ink.faint)]
        beside = _LABEL + size + 2 + len(said) <= self._width
        yield self._row(_cap_name(cap), [*bar, (f"  {said}" if beside else "", ink.text)])
        if not beside:
            yield from self._wrapped("", _LABEL, said, ink.text)

    def _pace(self) -> str:
        found = self._found
        said = f"{amount_words(found.hour)} in the last hour"
        if found.caps[0].share >= 1:
            return said
        if 0 < found.reached_at <= found.ends_at:
            at = times.iso(found.reached_at)[11:16]
            return f"{said}; at that pace the cap is reached {words.until(found.reached_at - self._now)}, at {at} UTC"
        return f"{said}; at that pace the day ends before the cap is reached"

    def _hours(self) -> Parts:
        levels, most = self._look.shapes.levels, max([hour.tokens for hour in self._found.hours] + [1])
        chart = "".join(levels[min(len(levels) - 1, len(levels) * hour.tokens // most)] for hour in self._found.hours)
        said = f"at most {words.kilo(most)} tokens an hour" if most > 1 else "no tokens"
        return [(chart, self._look.ink.accent), (f"  {said}", self._look.ink.muted)]

    def _shares(self, title: str, shares: Sequence[Share]) -> Iterator[list[Segment]]:
        if not shares:
            return
        ink = self._look.ink
        yield from self._title(title, "in calls")
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

    def _calls(self, title: str, calls: Sequence[Held]) -> Iterator[list[Segment]]:
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
        """A task by what it is about, where that is at hand."""
        title = self._titles.get(name, "")
        return f"{ids.short(name)}  {title}" if title else name

    def _title(self, title: str, last: str = "") -> Iterator[list[Segment]]:
        """A heading, with that of the last column, which does not say by itself what it is."""
        yield spread(self._width, [("", self._look.ink.text)], [])
        yield spread(self._width, [(title, self._look.ink.heading)], [(last, self._look.ink.muted)] if last else [])


def _cap_name(cap: Cap) -> str:
    return "today" if cap.key == "day" else cap.key.removeprefix("role:")


def amount_words(amount: Amount) -> str:
    """`12 k tokens, $0.10`, and the minutes where there are any."""
    said = [f"{words.kilo(amount.tokens)} tokens"] if amount.tokens or not (amount.usd or amount.seconds) else []
    said += [f"${amount.usd:.2f}"] if amount.usd else []
    said += [f"{amount.seconds / 60:.0f} min"] if amount.seconds >= times.MINUTE / 2 else []
    return ", ".join(said) or "nothing"
