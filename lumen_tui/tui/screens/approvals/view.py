"""The page about one question: the program's facts, and behind a gutter mark every character of what is asked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.cells import chop_cells
from rich.segment import Segment
from rich.style import Style

from lumen_tui.model import ids, times
from lumen_tui.model.approvals import Approval, Decision, canonical, no_rule, preview_rule, whole_call
from lumen_tui.model.folding import fold, line_count
from lumen_tui.model.text import one_line, safe
from lumen_tui.tui.kit.cells import Cell, line, wrap
from lumen_tui.tui.kit.timestamps import date
from lumen_tui.tui.screens.approvals.risk import NO_WALLS, Walls, high
from lumen_tui.tui.theme import Appearance

_LABEL = 10  # cells for the names of facts
_MOST = 200_000  # characters of a diff or of JSON that are laid out; `e` shows the rest

Line = list[Segment]


def minutes(seconds: float) -> str:
    """`5 min`, `2 h 5 min`: it moves once a minute and no faster."""
    whole = math.floor(max(0.0, seconds) / times.MINUTE)
    if whole < 1:
        return "under 1 min"
    return f"{whole} min" if whole < 60 else f"{whole // 60} h {whole % 60} min"


def left(request: Approval, now: float) -> str:
    """What becomes of the question by itself."""
    return f"counts as no in {minutes(request.expires - now)}" if now < request.expires else "ran out: it counts as no"


def ages(request: Approval, now: float) -> tuple[str, str]:
    """All on the page that moves with time."""
    return times.ago(now - request.asked), left(request, now)


def page(
    request: Approval,
    objective: str,
    now: float,
    width: int,
    look: Appearance,
    *,
    walls: Walls = NO_WALLS,
    answered: str = "",
) -> list[Line]:
    """The whole page on `width` cells; `answered` says what became of the question where it waits no more."""
    lines = [*_fact("answer", answered, look.ink.accent, width, look)] if answered else []
    lines += _facts(request, objective, now, width, look, walls)
    lines += [] if answered else _ahead(request, now, width, look)
    text = whole_call(request)
    if text != canonical(request.tool, request.arguments).decode():
        lines += [_blank(width, look), _heading(_run_words(text), width, look), *quote(text, width, look)]
    if request.diff:
        plus, minus = counts(request.diff)
        title = f"what would change: +{plus} -{minus}"
        lines += [_blank(width, look), _heading(title, width, look), *diff(request.diff, width, look)]
    lines += [_blank(width, look), _heading("the whole call, secrets masked", width, look)]
    lines += quote(_limited(canonical(request.tool, request.arguments).decode()), width, look)
    lines += _fact("sha-256", request.hash, look.ink.muted, width, look)
    return lines


def answer_words(answer: Decision | None, request: Approval, now: float) -> str:
    """`allowed by ann, 2 min ago: as agreed`; what is known of a question that waits no more without an answer."""
    if answer is None:
        return "nobody waits for one any more: its task has ended, or its time is over"
    ago = f", {times.ago(now - at)}" if (at := times.epoch(answer.at)) else ""
    said = answer.ended or ("allowed" if answer.allowed else "refused")
    by = "" if answer.ended else f" by {one_line(answer.by, 60)}"
    for_good = ", and always" if answer.always else ""
    return f"{said}{by}{ago}{for_good}" + (f": {one_line(answer.reason)}" if answer.reason else "")


def _facts(request: Approval, objective: str, now: float, width: int, look: Appearance, walls: Walls) -> Iterator[Line]:
    ink = look.ink
    attempt = f", attempt {request.attempt}" if request.attempt > 1 else ""
    yield from _fact("asks", f"{request.role}, task {ids.short(request.task_id)}{attempt}", ink.text, width, look)
    yield from _said("for", objective, width, look)
    yield from _fact("uses", request.tool, ink.text, width, look)
    yield from _said("in", request.folder, width, look)
    if why := high(request, walls):
        yield from _fact("risk", f"high: {why}", ink.bad, width, look)
    yield from _said("" if why else "risk", request.risk, width, look)
    yield from _fact("walls", walls.words(request.tool), ink.text, width, look)
    yield from _said("why", request.why, width, look)
    yield from _said("it says", request.said, width, look)
    yield from _fact("asked", f"{date(request.asked)}, {times.ago(now - request.asked)}", ink.text, width, look)


def _ahead(request: Approval, now: float, width: int, look: Appearance) -> Iterator[Line]:
    """What becomes of the question by itself, and what "always" would save."""
    ink = look.ink
    yield from _fact("until", f"{date(request.expires)}, {left(request, now)}", ink.accent, width, look)
    rule = preview_rule(request)
    if rule:
        yield from _said("always", rule, width, look)
    else:
        yield from _fact("always", no_rule(request), ink.muted, width, look)


def _run_words(text: str) -> str:
    count = line_count(text)
    return "what it would run" + (f": {count:,} lines".replace(",", " ") if count > 1 else "")


def whole(request: Approval) -> bool:
    """Whether the page has room for all of the call and of what would change."""
    return max(len(request.diff), len(canonical(request.tool, request.arguments))) <= _MOST


def _fact(name: str, value: str, style: Style, width: int, look: Appearance) -> Iterator[Line]:
    """A value of the program's own; long ones go on below."""
    for number, part in enumerate(wrap(safe(value), max(1, width - _LABEL))):
        yield line(width, (Cell("" if number else name, look.ink.muted, _LABEL), Cell(part, style, gap=0)))


def _said(name: str, value: str, width: int, look: Appearance) -> Iterator[Line]:
    """A value that somebody else wrote: behind the gutter."""
    if not value:
        return
    for number, part in enumerate(wrap(safe(value), max(1, width - _LABEL - 2))):
        cells = (
            Cell("" if number else name, look.ink.muted, _LABEL),
            Cell(look.shapes.gutter, look.ink.faint, 1, gap=0),
            Cell(part, look.ink.text, gap=1),
        )
        yield line(width, cells)


def _blank(width: int, look: Appearance) -> Line:
    return [Segment(" " * width, look.ink.text)]


def _heading(text: str, width: int, look: Appearance) -> Line:
    return line(width, (Cell(text, look.ink.heading),))


def quote(text: str, width: int, look: Appearance) -> Iterator[Line]:
    """The text with its own lines, long emptiness folded. What goes on from the line above has a mark of its own."""
    for part in fold(text).split("\n"):
        yield from _quoted(part, look.ink.strong, width, look)


def _quoted(part: str, style: Style, width: int, look: Appearance) -> Iterator[Line]:
    for number, piece in enumerate(chop_cells(part, max(2, width - 2)) or [""]):
        cells = (
            Cell(look.shapes.gutter, look.ink.faint, 1),
            Cell(look.shapes.sep if number else " ", look.ink.muted, 1, gap=0),
            Cell(piece, style, gap=0),
        )
        yield line(width, cells)


def diff(text: str, width: int, look: Appearance) -> Iterator[Line]:
    """Told apart by sign and weight: what comes is bold, what goes is grey."""
    for part in safe(_limited(text)).expandtabs(4).split("\n"):
        yield from _quoted(part, _weight(part, look), width, look)


def _weight(part: str, look: Appearance) -> Style:
    if part.startswith(("+++", "---", "@@", "diff ", "index ")):
        return look.ink.accent
    return {"+": look.ink.strong, "-": look.ink.muted}.get(part[:1], look.ink.text)


def counts(text: str) -> tuple[int, int]:
    """How many lines come and go."""
    lines = [part for part in text.split("\n") if not part.startswith(("+++", "---"))]
    return sum(part.startswith("+") for part in lines), sum(part.startswith("-") for part in lines)


def _limited(text: str) -> str:
    if len(text) <= _MOST:
        return text
    return f"{text[:_MOST]}\n… {len(text) - _MOST:,} more characters: e opens all of it"


def as_text(request: Approval) -> str:
    """All of the question for an editor."""
    parts = [
        f"{request.role} asks, task {request.task_id}", f"risk: {request.risk}", f"why: {request.why}",
        whole_call(request), request.diff, canonical(request.tool, request.arguments).decode(), request.hash,
    ]  # fmt: skip
    return "\n\n".join(safe(part) for part in parts if part) + "\n"
