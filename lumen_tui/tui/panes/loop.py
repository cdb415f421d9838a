"""The last completed loop: what it made, how it went, what it left out, what it cost, line by line."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model import agent, ids, times
from lumen_tui.model import packets as packet_words
from lumen_tui.model.loop import Artifact, LoopState, Packet
from lumen_tui.model.snapshot import Revisions, Snapshot
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Status, TaskView, tally, tally_words
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.held import Held
from lumen_tui.tui.kit.keys import bindings
from lumen_tui.tui.kit.lines import Cell, ScrolledLines, line, spread, wrap
from lumen_tui.tui.panes.base import Detail, Pane
from lumen_tui.tui.panes.charts import Bars
from lumen_tui.tui.panes.workers import running_time
from lumen_tui.tui.room_command import LOOP
from lumen_tui.tui.theme import Appearance

_LABEL, _BAR, _SPARKS = 10, 16, 16  # cells
_BESIDE_BAR = 33  # cells for the name and the amounts
_USUAL = 44  # cells of the pane in a window of 120
_MOVING = 10.0  # seconds between two looks at what was spent, and at what the session at work does
_LOOKED_AT = 300  # tasks; what is alive or queued stands in front

Parts = list[tuple[str, Style]]


def loop_rows(
    snapshot: Snapshot, session: TaskView | None, now: float, look: Appearance, width: int
) -> list[tuple[str, Parts]]:
    """Return the rows that have something to say, each with its name; `session` is the main agent's at work."""
    rows, loop = LoopRows(snapshot, now, look), snapshot.loop
    pairs = [("now", rows.session(session)), *([("backoff", rows.rests(loop))] if loop else [])]
    if loop and loop.loop:
        pairs += [
            ("before", rows.before(loop)), ("output", rows.made(loop)), ("ordered", rows.ordered(loop)),
            ("health", rows.health(loop)), ("spent", rows.spent(loop)), ("today", rows.today(width)),
            ("dropped", rows.left_out(loop)), ("loops", rows.sparks()), ("packet", rows.packet(loop)),
        ]  # fmt: skip
    pairs.append(("next", rows.upcoming()))
    return [(name, parts) for name, parts in pairs if parts]


def packet_of(snapshot: Snapshot, loop: LoopState) -> Packet | None:
    """Return the packet of that very loop, None where it is not at hand."""
    return next((packet for packet in reversed(snapshot.packets) if packet.loop == loop.loop), None)


def ordered_tasks(snapshot: Snapshot, loop: int = 0) -> list[TaskView]:
    """Return the tasks at hand that the main agent gave out in one loop, or in any."""
    tasks = snapshot.tasks
    near = (tasks[index] for index in range(min(_LOOKED_AT, len(tasks))))
    owned = ((view, agent.loop_of(view.spec.created_by)) for view in near)
    return [view for view, by in owned if by and loop in (0, by)]


def under_way(views: list[TaskView]) -> str:
    """`1 running, 2 queued` of those that have not ended; empty for none."""
    return ", ".join(tally_words(tally(view for view in views if not over(view))))


def over(view: TaskView) -> bool:
    """Return whether nothing more comes of a task by itself."""
    return view.status.ended or view.status is Status.LOST


def _name(artifact: Artifact) -> str:
    return words.short_paths(artifact.title) or artifact.path.rpartition("/")[2]


class LoopRows:
    """Draws the rows of one snapshot."""

    def __init__(self, snapshot: Snapshot, now: float, look: Appearance) -> None:
        self.snapshot, self.now, self.look = snapshot, now, look

    def session(self, session: TaskView | None) -> Parts:
        """Return what the session that is at work did last."""
        ink = self.look.ink
        if session is None:
            return []
        last = session.tail[-1] if session.tail else None
        progress = one_line(f"{last.kind}  {last.text}" if last else "starting", 200)
        if session.awaits_budget and last:
            return [("waits for budget  ", ink.accent), (one_line(last.text, 200), ink.text)]
        return [(f"{session.state}  ", ink.accent), (progress, ink.text)]

    def before(self, loop: LoopState) -> Parts:
        """While a session is at work: which loop the rows below are about."""
        if self.snapshot.session is None:
            return []
        ended = words.ago(self.now - times.epoch(loop.completed_at)) if loop.completed_at else "at an unknown time"
        return [(f"loop {words.number(loop.loop)}", self.look.ink.text), (f", ended {ended}", self.look.ink.muted)]

    def rests(self, loop: LoopState) -> Parts:
        seconds_left = times.epoch(loop.rests_until) - self.now if loop.rests_until else 0.0
        if seconds_left <= 0 or self.snapshot.session is not None:
            return []
        return [(times.span(seconds_left), self.look.ink.text), (f"  {loop.rests_why}", self.look.ink.muted)]

    def made(self, loop: LoopState) -> Parts:
        """Return what this loop made; what an earlier one made is said to be so."""
        ink, packet, last = self.look.ink, packet_of(self.snapshot, loop), loop.last_artifact
        if packet is None or packet.made:
            artifact = packet.made[-1] if packet else last
            more = f"  and {len(packet.made) - 1} more" if packet and len(packet.made) > 1 else ""
            kind = f"{artifact.kind}  " if artifact.kind and _name(artifact) else ""
            return [(kind, ink.muted), (_name(artifact) or "nothing", ink.text), (more, ink.muted)]
        earlier = f"  earlier: {_name(last)}" if _name(last) else ""
        return [("no artifact" if self.ordered(loop) else "nothing", ink.muted), (earlier, ink.muted)]

    def ordered(self, loop: LoopState) -> Parts:
        """Return the tasks that this loop gave out, and how many of them go on."""
        packet = packet_of(self.snapshot, loop)
        tasks = ordered_tasks(self.snapshot, loop.loop)
        count = max(len(tasks), len(packet.ordered) if packet else 0)
        count = max(count, packet.changed.get("tasks_created", 0) if packet else 0)
        if not count:
            return []
        progress = under_way(tasks)
        ended = "  it has ended" if count == 1 else "  all have ended"
        ink = self.look.ink
        return [
            (words.plural(count, "task"), ink.text),
            (f"  {progress}", ink.accent) if progress else (ended, ink.muted),
        ]

    def spent(self, loop: LoopState) -> Parts:
        """Return what this loop cost, with the tasks of whose end it knows."""
        packet, ink = packet_of(self.snapshot, loop), self.look.ink
        if packet is None or not (packet.usage.tokens or packet.usage.usd):
            return []
        cost = f"  {words.money(packet.usage.usd)}" if packet.usage.usd else ""
        return [(f"{words.kilo(packet.usage.tokens)} tokens{cost}", ink.text), ("  this loop", ink.muted)]

    def health(self, loop: LoopState) -> Parts:
        ink, health = self.look.ink, loop.health
        style = {"ok": ink.text, "degraded": ink.accent}.get(health.status, ink.bad)
        return [(health.status, style), (f"  {health.note}" if health.note else "", ink.text)]

    def today(self, width: int) -> Parts:
        """Return the day's tokens against their cap, whoever used them."""
        ink, shapes, spend = self.look.ink, self.look.shapes, self.snapshot.spend
        if spend.closed:
            return [(f"{words.kilo(spend.tokens)} tokens", ink.text), (", budget closed", ink.bad)]
        forecast = self._forecast()
        if spend.tokens_cap <= 0:
            return [(f"{words.kilo(spend.tokens)} tokens, no limit{forecast}", ink.text)]
        size = max(0, min(_BAR, width - _BESIDE_BAR - len(forecast)))
        full = min(size, round(size * spend.tokens / spend.tokens_cap))
        bar = ink.bad if spend.full or spend.tokens >= spend.tokens_cap else ink.accent
        amounts = f"  {words.kilo(spend.tokens)} of {words.kilo(spend.tokens_cap)} tokens"
        if _LABEL + size + len(amounts) + len(forecast) > width:  # `cap in 7 h` must not be cut to `cap`
            amounts = amounts.strip().removesuffix(" tokens")
        filler = "-" if shapes.bar == "#" else shapes.bar
        return [
            (shapes.bar * full, bar),
            (filler * (size - full), ink.faint),
            (amounts.strip() if self.look.spoken else amounts, ink.text),
            (forecast, ink.accent),
        ]

    def _forecast(self) -> str:
        """Return where the pace of the last hour leads, while there is something to say."""
        spend = self.snapshot.spend
        if spend.full:
            return ", cap reached"
        seconds_left = spend.reached_at - self.now
        return f", cap {words.until(seconds_left)}" if spend.reached_at and seconds_left > 0 else ""

    def left_out(self, loop: LoopState) -> Parts:
        counts = [f"{len(loop.abandoned)} abandoned"] if loop.abandoned else []
        counts += [f"{len(loop.decided_against)} decided against"] if loop.decided_against else []
        return [(", ".join(counts) or "nothing", self.look.ink.text if counts else self.look.ink.muted)]

    def sparks(self) -> Parts:
        took = [packet.seconds for packet in self.snapshot.packets[-_SPARKS:]]
        if not took:
            return []
        middle = f"median {times.span(packet_words.median(took))}"
        if self.look.spoken:
            return [(f"{times.span(min(took))} to {times.span(max(took))}, {middle}", self.look.ink.muted)]
        levels, most = self.look.shapes.levels, max([*took, 0.001])
        chart = "".join(levels[min(len(levels) - 1, int(len(levels) * value / most))] for value in took)
        return [(chart, self.look.ink.muted), (f"  {middle}", self.look.ink.muted)]

    def packet(self, loop: LoopState) -> Parts:
        ink = self.look.ink
        if not self.snapshot.packets:
            return [("none yet", ink.muted), *self._stalest()]
        last = self.snapshot.packets[-1]
        written = words.ago(self.now - times.epoch(last.completed_at))
        return [(ids.short(last.id), ink.muted), (f"  written {written}", ink.text), *self._stalest()]

    def upcoming(self) -> Parts:
        """Return the next run of a schedule, and how many schedules have one."""
        ahead = self.snapshot.upcoming
        if not ahead:
            return []
        more = f"  +{len(ahead) - 1}" if len(ahead) > 1 else ""
        when = words.until(ahead[0].at - self.now)
        return [(ahead[0].name, self.look.ink.text), (f"  {when}{more}", self.look.ink.muted)]

    def _stalest(self) -> Parts:
        """Return the other clock: when the fact that was confirmed longest ago was, and how many have drifted."""
        facts, ink = self.snapshot.facts, self.look.ink
        if not facts.current and not facts.drifted:
            return []
        age = words.age(self.now - facts.stalest) if facts.stalest else "never confirmed"
        parts: Parts = [(f"  stalest fact {age}", ink.muted if facts.stalest else ink.text)] if facts.current else []
        return [*parts, (f"  {facts.drifted} drifted" if facts.drifted else "", ink.bad)]


_CHART = 8  # lines of the durations above the history
_COLUMNS = (("loop", 6), ("ended", 7), ("state", 8), ("took", 9), ("tokens", 7), ("cost", 7))


def history_lines(snapshot: Snapshot, now: float, width: int, look: Appearance) -> list[list[Segment]]:
    """Return the last loops, the newest first: how long each took as a chart, then each on a line under headings."""
    ink, packets = look.ink, snapshot.packets
    if not packets:
        return []
    took = [max(packet.seconds, 0.001) for packet in packets]
    failed = frozenset(place for place, packet in enumerate(packets) if packet.failed)
    axis = (f"loop {packets[0].loop}", "duration", f"loop {packets[-1].loop}")
    chart = Bars(took, times.span(max(took)), axis, failed).lines(width, _CHART, look)
    heads = [Cell(name, ink.muted, size, right=name != "state") for name, size in _COLUMNS]
    return [
        spread(width, [("", ink.muted)], []),
        *(spread(width, list(pieces), []) for pieces in chart),
        spread(width, [("", ink.muted)], []),
        line(width, [*heads, Cell("what came of it", ink.muted)]),
        *(_history_line(packet, now, width, look) for packet in reversed(packets)),
    ]


def _history_line(packet: Packet, now: float, width: int, look: Appearance) -> list[Segment]:
    ink, state = look.ink, packet_words.state(packet)
    texts = (
        str(packet.loop or "?"),
        words.age(now - times.epoch(packet.completed_at, now)),
        state,
        times.span(packet.seconds),
        words.kilo(packet.usage.tokens),
        words.money(packet.usage.usd),
    )
    cells = [
        Cell(text, ink.bad if name == "state" and state != "ok" else ink.text, size, right=name != "state")
        for text, (name, size) in zip(texts, _COLUMNS, strict=True)
    ]
    return line(width, [*cells, Cell(humanize(packet_words.outcome(packet)), ink.bad if packet.failed else ink.muted)])


class LoopPane(Pane):
    """Pane 1."""

    scope, number, name_shown = LOOP, 1, "Loop"
    BINDINGS: ClassVar[list[BindingType]] = bindings(LOOP, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._facts = ScrolledLines(self._lines)
        self._moving: Held[tuple[SpendView, TaskView | None]] = Held(_MOVING)
        self._count = 0

    def compose(self) -> ComposeResult:
        yield self._facts

    def empty_words(self) -> str:
        return (
            "No loop yet. The engine runs one when there is something to do: "
            f"{self.key('new_task')} gives it a task, {self.key('beat')} asks for a beat."
        )

    def rows_wanted(self) -> int:
        """Return its rows, as they were when the snapshot came; none before the first loop."""
        return self._count

    def zoom(self, zoomed: bool) -> None:
        """Show the history of loops as well; or the last one alone."""
        super().zoom(zoomed)
        self._facts.redraw()

    def fill(self) -> None:
        there = self.snapshot.loop or self.snapshot.session or self.snapshot.upcoming
        rows = loop_rows(self.snapshot, self.snapshot.session, self.now, self.look, _USUAL) if there else []
        self._count = max(len(rows), self._is_ending())

    def _is_ending(self) -> bool:
        """Return whether the session of the first loop is over, and the engine has not yet written what came of it."""
        tasks = self.snapshot.tasks
        return any(agent.loop_of(tasks[index].id) for index in range(min(_LOOKED_AT, len(tasks))))

    def empty_line(self) -> str:
        return f"none yet; {self.key('new_task')} gives it a task"

    def revision(self, revisions: Revisions) -> object:
        return revisions.loop, revisions.tasks, revisions.facts

    def tick(self, now: float) -> None:
        super().tick(now)
        self._facts.redraw()

    def title_words(self) -> str:
        if session := self.snapshot.session:
            return f"1 Loop {words.number(agent.loop_of(session.id))} at work"
        loop = self.snapshot.loop
        return f"1 Loop {words.number(loop.loop)}" if loop else "1 Loop"

    def subtitle_words(self) -> str:
        return " · ".join(part for part in (self._facts.more_words(), self._age()) if part)

    def _age(self) -> str:
        if session := self.snapshot.session:
            return running_time(session, self.now)
        loop = self.snapshot.loop
        return words.ago(self.now - times.epoch(loop.completed_at)) if loop and loop.completed_at else ""

    def short(self) -> tuple[str, bool]:
        loop = self.snapshot.loop
        if session := self.snapshot.session:
            return f"{words.number(agent.loop_of(session.id))} at work · {self._age()}", False
        if loop is None:
            return "no loop yet", False
        return f"{words.number(loop.loop)} · {self._age()} · {loop.health.status}", loop.health.status != "ok"

    def _held_back(self) -> tuple[Snapshot, TaskView | None]:
        """Return the snapshot with what was spent as of a moment ago, and the session at work as it was then."""
        snapshot, session, spend = self.snapshot, self.snapshot.session, self.snapshot.spend
        about = (spend.closed, spend.full, spend.tokens_cap, session and (session.id, session.state))
        spend, session = self._moving.of(about, self.now, lambda: (self.snapshot.spend, self.snapshot.session))
        return replace(snapshot, spend=spend), session

    def detail(self) -> Detail | None:
        if not self.snapshot.packets:
            return None
        last = self.snapshot.packets[-1]
        log = (("transcript", f"transcripts/{last.session}.jsonl"),) if last.session else ()
        facts = (("loop", str(last.loop)), ("ran on", last.brain), ("took", times.span(last.seconds)),
                 ("tokens", words.number(last.usage.tokens)), ("completed", last.completed_at), *log)  # fmt: skip
        _, *parts = packet_words.sections(last)
        body = "\n\n".join(f"{name}\n" + "\n".join(f"- {item}" for item in items) for name, items in parts)
        return Detail(last.id, facts, body, composed=True)

    def _lines(self, width: int, height: int) -> list[list[Segment]]:
        ink = self.look.ink
        if not (self.snapshot.loop or self.snapshot.session or self.snapshot.upcoming):
            return [spread(width, [(text, ink.muted)], []) for text in wrap(self.nothing_shown(), width)]
        rows = loop_rows(*self._held_back(), self.now, self.look, width)
        lines = [spread(width, [(f"{name:<10}", ink.muted), *parts], []) for name, parts in rows]
        return [*lines, *history_lines(self.snapshot, self.now, width, self.look)] if self.zoomed else lines
