"""The line on top: the truth about the engine, and the count of what needs a person."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from lumen_tui.model import times
from lumen_tui.model.agentstate import AgentState, AgentStatus, agent_status
from lumen_tui.model.budget import dollars
from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Status
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.lines import spread
from lumen_tui.tui.theme import Appearance, Ink

_TELLS = 3  # up to this `drop` a part tells whether the engine lives and what is wrong: others are said shorter first
_SAID = 70  # characters at most behind the state's word
_GAP = 2  # blanks at least between what stands left and what stands right
_BAR = 8  # cells of the gauge of the day's caps
_NEARLY = 0.8  # of a cap: from here its gauge is no quiet one


class Part(NamedTuple):
    """A piece of the header. The highest `drop` gives way first when it gets narrow; 0 stays."""

    drop: int
    text: str
    style: Style
    right: bool = False
    short: str = ""  # said instead where there is no room for all of it
    shortest: str = ""  # and where there is none for that


class Moving(NamedTuple):
    """What changes with every call and beat, and in the header moves all that stands behind it."""

    spend: SpendView
    wakes: str = ""


def moving_words(snapshot: Snapshot, now: float) -> Moving:
    """Return them as they are now. An agent that is idle has its next wake behind its word, for which nothing waits."""
    status = agent_status(snapshot, now)
    wakes = status.next_wake(now) if status.state in (AgentState.WORKING, AgentState.WAITING) else ""
    return Moving(snapshot.spend, wakes)


def header(
    snapshot: Snapshot, now: float, width: int, look: Appearance, *, here: bool, moving: Moving | None = None
) -> list[Segment]:
    """Return the header on `width` cells; `here` where this room's own engine drives, `moving` as of a while ago."""
    said = _parts(snapshot, now, look, here=here, moving=moving or moving_words(snapshot, now))
    parts = _fitting([part for part in said if part.text], width - _GAP)
    left = [(part.text, part.style) for part in parts if not part.right]
    if left:
        left[0] = (left[0][0].lstrip(" ").removeprefix(f"{look.shapes.sep} "), left[0][1])
    return spread(width, left, [(part.text, part.style) for part in parts if part.right])


def _fitting(parts: list[Part], room: int) -> list[Part]:
    """What fits: each in turn is said shorter or left out; what is small enough for the cells left comes back."""
    can = [_briefer(part) is not None for part in parts]
    order = sorted((n for n, part in enumerate(parts) if part.drop), key=lambda n: (-parts[n].drop, not can[n]))
    shown, gone = dict(enumerate(parts)), dict[int, Part]()
    for number in (n for n in order if parts[n].drop > _TELLS or can[n]):
        while _size(shown) > room and (briefer := _briefer(shown[number])):
            shown[number] = briefer
        if _size(shown) > room and not can[number]:
            gone[number] = shown.pop(number)
    for number in order:
        if _size(shown) > room and number in shown:
            gone[number] = shown.pop(number)
    for number, part in reversed(gone.items()):
        if _size(more := {**shown, number: part}) <= room:
            shown = more
    return [shown[number] for number in sorted(shown)]


def _briefer(part: Part) -> Part | None:
    """Return a part said shorter; None where it cannot be."""
    texts = [text for text in (part.short, part.shortest) if text not in ("", part.text)]
    return part._replace(text=texts[0], short="".join(texts[1:]), shortest="") if texts else None


def _size(parts: Mapping[int, Part]) -> int:
    """Return the cells that they take; the first one begins without its blanks."""
    first = parts[min(parts)].text if parts else ""
    return sum(cell_len(part.text) for part in parts.values()) - len(first) + len(first.lstrip(" "))


def _parts(snapshot: Snapshot, now: float, look: Appearance, *, here: bool, moving: Moving) -> list[Part]:
    ink, sep = look.ink, look.shapes.sep
    beat, status = snapshot.engine.heartbeat, agent_status(snapshot, now)
    return [
        Part(9, one_line(snapshot.config.agent.name, 24), ink.loud),
        Part(10, f" {_short_path(snapshot.root)}", ink.muted),
        Part(4, f" {sep} {snapshot.demo}" if snapshot.demo else "", ink.accent, short=f" {sep} demo"),
        *(_state(status, moving.wakes, now, look) if snapshot.root else ()),
        Part(
            5,
            f" {sep} engine: local" if here and snapshot.engine.life is EngineLife.ALIVE else "",
            ink.muted,
            short=f" {sep} local",
        ),
        Part(11, f" {sep} beat {words.number(beat.beat)}" if beat and beat.beat else "", ink.text),
        Part(6, _brain(beat), ink.muted, short=f" {sep} {one_line(beat.brain, 24)}" if beat and beat.brain else ""),
        _sandbox(beat, ink, sep),
        _others(snapshot, ink),
        *_troubles(snapshot, status, ink),
        _spent(moving.spend, look),
        Part(7, f"{words.number(len(snapshot.snoozed))} snoozed  " if snapshot.snoozed else "", ink.muted, right=True),
        _needs(snapshot, status, look),
    ]


def _state(status: AgentStatus, wakes: str, now: float, look: Appearance) -> list[Part]:
    """Shape, word, and what stands behind the word: said shorter where there is no room for it."""
    shape, style = _drawn(status.state, look)
    shape = "" if look.spoken else f"{shape} "  # the word is behind it
    text = one_line(_today(status.words(now), now).replace("·", look.shapes.sep), _SAID)
    brief = text.partition(f" {look.shapes.sep} ")[0] if status.state is not AgentState.PAUSED else status.brief
    return [
        Part(1, f"   {shape}", style),
        Part(0, status.state.value, style),
        Part(
            2, f" {text}" if text else "", look.ink.text if status.well else style, short=f" {brief}" if brief else ""
        ),
        Part(5, f" {look.shapes.sep} {wakes}" if wakes else "", look.ink.muted),
    ]


def _drawn(state: AgentState, look: Appearance) -> tuple[str, Style]:
    """Return the state's own shape and colour; without colours the shape and the word are enough."""
    status, ink = look.shapes.status, look.ink
    return {
        AgentState.DOWN: (status[Status.FAILED], ink.bad),
        AgentState.PAUSED: (look.shapes.paused, ink.accent),
        AgentState.WORKING: (status[Status.RUNNING], ink.good),
        AgentState.WAITING: (look.shapes.waits, ink.loud),
        AgentState.BACKOFF: (status[Status.STALLED], ink.accent),
        AgentState.IDLE: (status[Status.QUEUED], ink.muted),
    }[state]


def _today(text: str, now: float) -> str:
    """`by ops until 14:00 UTC: the disk is being copied`; the date is left out where it is today's."""
    return text.replace(f" until {times.iso(now)[:10]} ", " until ")


def _brain(beat: Heartbeat | None) -> str:
    if beat is None or not beat.brain:
        return ""
    return f"   model: {one_line(beat.brain, 24)}"


def _sandbox(beat: Heartbeat | None, ink: Ink, sep: str) -> Part:
    """Return the sandbox around workers' commands; that there is none comes early enough to be seen."""
    tier = beat.sandbox if beat else ""
    if tier in ("ask", "refused"):
        return Part(4, f" {sep} no sandbox: commands {'ask' if tier == 'ask' else 'refused'}", ink.accent)
    tier_words = {"bubblewrap": "bwrap"}.get(tier, one_line(tier, 20))
    return Part(8, f" {sep} {tier_words}" if tier_words else "", ink.muted)


def _troubles(snapshot: Snapshot, status: AgentStatus, ink: Ink) -> list[Part]:
    reading = f"   reading {words.percent(snapshot.loading)}" if snapshot.loading < 1 else ""
    counted = snapshot.problems and not _all_problems(snapshot)
    problems = f"   {words.plural(len(snapshot.problems), 'problem')}" if counted else ""
    only = f"   read-only: {one_line(snapshot.read_only, 60)}" if snapshot.read_only else ""
    paused = status.state is AgentState.PAUSED  # by the word itself
    killed = Part(3, f"   {snapshot.killed}" if snapshot.killed and not paused else "", ink.bad, short="   killed")
    return [
        killed,
        Part(3, _held(snapshot, paused=paused), ink.accent),
        Part(3, reading, ink.accent),
        Part(3, problems, ink.bad),
        Part(3, only, ink.accent, short="   read-only"),
    ]


def _held(snapshot: Snapshot, *, paused: bool) -> str:
    """Return what is paused by itself; that everything is paused, or the loop, is said by the state."""
    names = [name.removeprefix("the ") for name in snapshot.paused]
    if not names or (paused and ("everything" in names or names == ["loop"])):
        return ""
    return f"   {one_line(names[0], 30)} paused" if len(names) == 1 else f"   {len(names)} paused"


def _all_problems(snapshot: Snapshot) -> bool:
    """Return whether the count of what needs a person says the same."""
    needs = snapshot.attention
    return len(needs) == len(snapshot.problems) and all(item.need is Need.PROBLEM for item in needs)


def spend_words(spend: SpendView) -> str:
    """Return what is gone of the cap that is nearest to its end; of the first of them where two are as near."""
    if spend.closed:
        return f"today {words.kilo(spend.tokens)} tokens, budget closed"
    usd, cap = dollars(spend.usd, spend.usd_cap), dollars(spend.usd_cap).removeprefix("$")
    said = [
        (spend.usd, spend.usd_cap, f"{usd} of {cap}"),
        (spend.tokens, spend.tokens_cap, f"{words.kilo(spend.tokens)} of {words.kilo(spend.tokens_cap)} tokens"),
        (spend.seconds, spend.seconds_cap, f"{spend.seconds / 60:.0f} of {spend.seconds_cap / 60:g} min"),
    ]
    nearest = max(((gone / most, text) for gone, most, text in said if most and gone), key=_share, default=None)
    if nearest is None and spend.tokens_cap:
        return f"today {said[1][2]}"
    return f"today {nearest[1] if nearest else words.kilo(spend.tokens) + ' tokens'}"


def _share(cap: tuple[float, str]) -> float:
    return cap[0]


def _spent(spend: SpendView, look: Appearance) -> Part:
    """Return what is gone of the nearest cap, in words and as a gauge; read aloud the words are enough."""
    caps = ((spend.usd, spend.usd_cap), (spend.tokens, spend.tokens_cap), (spend.seconds, spend.seconds_cap))
    shares = [gone / most for gone, most in caps if most and not spend.closed]
    bar, half = (look.shapes.gauge(max(shares), size) if shares else "" for size in (_BAR, _BAR // 2))
    style, said = look.ink.accent if shares and max(shares) >= _NEARLY else look.ink.muted, spend_words(spend)
    brief = said.removeprefix("today ")
    texts = (f"{f'{said} {bar}'.rstrip()}   ", f"{f'{brief} {half}'.rstrip()}  ", f"{brief}  ")
    return Part(7, texts[0], style, right=True, short=texts[1], shortest=texts[2])


def _others(snapshot: Snapshot, ink: Ink) -> Part:
    """Return who has a room open, where it is more than this one."""
    here = one_line(snapshot.operators.here(), 40)
    return Part(6, f"   here: {here}" if here else "", ink.text, short=f"   {len(snapshot.operators.rooms)} here")


def _needs(snapshot: Snapshot, status: AgentStatus, look: Appearance) -> Part:
    count = len(snapshot.attention)
    if not count:
        well = status.well and not snapshot.problems
        return Part(0, "OK, no alerts" if well else "nothing needs you", look.ink.muted, right=True)
    verb = "needs" if count == 1 else "need"
    return Part(0, f"{look.shapes.need} {words.number(count)} {verb} you".strip(), look.ink.loud, right=True)


def _short_path(root: str) -> str:
    """Return the state folder as a person writes it: `~/agent/state`, and only its end where it is long."""
    home = str(Path.home())
    path = one_line(f"~{root[len(home) :]}" if root.startswith(home + "/") else root)
    parts = path.split("/")
    return path if len(path) <= 28 or len(parts) < 3 else "…/" + "/".join(parts[-2:])[-26:]
