"""Hosts: which take tasks, what runs on each, and what is wrong with one; cordoned, drained and removed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.segment import Segment

from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.hosts import CordonHost, DrainHost, RemoveHost, UncordonHost
from lumen_tui.model.text import one_line
from lumen_tui.queries.host_views import HostTask, HostView
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, act, chosen_row, fill

_NARROW = 90  # columns below which version and sandbox are left out
Loaded = tuple[list[HostView], str]


class HostRows(Rows[HostView]):
    """State, name, slots, what runs there; below the selected one why it is closed, or its tasks."""

    def key(self, row: HostView) -> str:
        return row.host.name

    def line(self, row: HostView, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, sighting = self.look.ink, row.host.sighting
        shade = ink.bad if row.state == "closed" else ink.muted if row.closed else ink.text
        facts = sighting.facts
        cells = [
            Cell(row.state, shade, 9),
            Cell(row.host.name, ink.strong if selected else ink.text, min(20, width // 4)),
            Cell(f"{len(row.tasks)}/{row.host.slots}", ink.text, 7, right=True),
        ]
        if facts is not None and width >= _NARROW:
            cells += [Cell(facts.tier, ink.muted, 11), Cell(facts.version, ink.muted, 8)]
            cells.append(Cell(f"{sighting.skew:+.1f} s", ink.muted, 10, right=True))
        about = ", ".join(facts.roles) or "any role" if facts else ""
        heard = words.ago(self.now - sighting.heard) if sighting.heard else "never"
        return line(width, [*cells, Cell(about, ink.muted), Cell(heard, ink.muted, 12, right=True)])

    def more(self, row: HostView, width: int) -> list[Segment]:
        ink = self.look.ink
        text = row.closed or "; ".join(map(_short, row.tasks)) or "nothing runs there"
        return line(width, [Cell("", ink.muted, 9), Cell(text, ink.bad if row.state == "closed" else ink.muted)])

    def words(self, row: HostView) -> str:
        return f"{row.host.name} {row.closed} {' '.join(task.view.id for task in row.tasks)}"

    def fields(self, row: HostView) -> dict[str, str]:
        facts = row.host.sighting.facts
        return {"state": row.state, "sandbox": facts.tier if facts else "", "version": facts.version if facts else ""}


def _short(task: HostTask) -> str:
    lag = f", {words.plural(task.behind, 'frame')} behind" if task.behind else ""
    return f"{ids.short(task.view.id)} {task.view.spec.role}: {one_line(task.view.spec.objective, 60)}{lag}"


class HostsScreen(LoadedSheet[HostView, Loaded]):
    """The registered hosts, by name."""

    SCOPE = "hosts"
    EMPTY = "No hosts yet: `lumen-tui hosts add NAME` registers one and says what to run there."
    TWO_LINES = True

    def __init__(self, port: Port, now: float, read: Callable[[], Loaded], refusal: str = "") -> None:
        super().__init__("Hosts", now, read)
        self._port, self._refusal = port, refusal

    def rows_view(self) -> HostRows:
        return HostRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        acts = () if self._refusal else self.offer("hosts_cordon", "hosts_drain", "hosts_remove", "undo")
        return (*acts, *super().keys())

    def _loaded(self, result: Loaded) -> None:
        views, fault = result
        running = sum(len(view.tasks) for view in views)
        open_ones = sum(view.state == "open" for view in views)
        fill(self, views, "Hosts", f"{open_ones} of {len(views)} open · {words.plural(running, 'task')}")
        if fault:
            self.say(f"No host can be reached: {fault}.", bad=True)

    def _do(self, request: Request) -> None:
        self.run_worker(act(self, self._port, request), group="act")

    def _chosen(self) -> HostView | None:
        if self._refusal:
            self.say(self._refusal, bad=True)
            return None
        return chosen_row(self)

    def action_cordon(self) -> None:
        """Cordon the host, or take that back."""
        if view := self._chosen():
            name = view.host.name
            self._do(UncordonHost(name=name) if view.host.entry.cordon else CordonHost(name=name))

    def action_drain(self) -> None:
        """Let what runs there end, and then the host's service."""
        if view := self._chosen():
            self._do(DrainHost(name=view.host.name))

    def action_remove(self) -> None:
        if view := self._chosen():
            self._do(RemoveHost(name=view.host.name))

    def action_undo(self) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
        else:
            self._do(Undo())

    def opened(self, row: HostView) -> None:
        text = "\n".join(_short(task) for task in row.tasks)
        self.app.push_screen(ReadingScreen(f"Host {row.host.name}", text, list(_facts(row, self._now))))


def _facts(row: HostView, now: float) -> Iterable[Fact]:
    host, facts = row.host, row.host.sighting.facts
    yield "state", row.state
    if row.closed:
        yield "because", row.closed
    yield "registered", f"{times.dated(times.epoch(host.entry.added_at), now)} by {host.entry.by}"
    yield "heard", times.dated(host.sighting.heard, now) if host.sighting.heard else "never"
    if facts is None:
        return
    yield "slots", f"{len(row.tasks)} of {host.slots} at work"
    yield "roles", ", ".join(facts.roles) or "any"
    if facts.resources:
        yield "resources", ", ".join(f"{name} {count}" for name, count in facts.resources.items())
    yield "version", facts.version
    yield "sandbox", facts.tier
    yield "clock", f"{host.sighting.skew:+.1f} s"
    yield "disk", f"{facts.free // 1024**2:,} MiB free"
