"""What the `role` commands say of figures and consequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table
from lumen_tui.model import analytics, times
from lumen_tui.model.budget import dollars
from lumen_tui.model.text import safe
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings.roles import parse_role
from lumen_tui.store.tasks import role_stats

if TYPE_CHECKING:
    from lumen_tui.model.analytics import Stats
    from lumen_tui.model.roles import Role

_HEAD = ("", "tasks", "done", "95 %", "median", "p95", "tokens", "cost", "retries", "last", "weeks")


def has_worked(session: Session, name: str) -> bool:
    """Whether a role of this name ended a task here."""
    return role_stats.book(session.layout, session.now).role(name) is not None


def show(session: Session, name: str, *, as_json: bool) -> None:
    """The figures of one role, or of all roles and models."""
    found, now = role_stats.book(session.layout, session.now), session.now
    if as_json:
        document(found.role(name) or analytics.Stats(name) if name else found)
        return
    if name:
        table(_facts(found.role(name) or analytics.Stats(name), now))
        return
    if not found.roles:
        say("no task has ended yet")
        return
    rows = [_row(one, now) for one in (*found.roles, *found.models)]
    rows.insert(len(found.roles), ("",) * len(_HEAD))
    table([_HEAD, *rows])
    for one in found.retirements:
        say(one.text)


def _row(one: Stats, now: float) -> tuple[str, ...]:
    return (
        safe(one.name), f"{one.tasks:,}", _rate(one), _interval(one), times.span(one.median), times.span(one.p95),
        f"{one.tokens:,}", f"${one.usd:.2f}", str(one.retries), times.age(now - one.last_used),
        analytics.spark(one.weeks),
    )  # fmt: skip


def _rate(one: Stats) -> str:
    return "–" if one.rate is None else f"{analytics.percent(one.rate)} %"


def _interval(one: Stats) -> str:
    return f"{analytics.percent(one.low)}–{analytics.percent(one.high)}" if one.rate is not None else "–"


def _facts(one: Stats, now: float) -> list[tuple[str, str]]:
    if not one.tasks:
        return [("tasks", "none yet")]
    return [
        ("tasks", f"{one.tasks:,}: {one.done:,} done, {one.failed:,} failed, {one.cancelled:,} cancelled"),
        ("done", f"{_rate(one)} ({_interval(one)} %, with 95 % certainty)"),
        ("duration", f"median {times.span(one.median)}, p95 {times.span(one.p95)}"),
        ("cost", f"{dollars(one.usd)}; a task: median {dollars(one.usd_median)}, p95 {dollars(one.usd_p95)}"),
        ("tokens", f"{one.tokens:,}"),
        ("retries", str(one.retries)),
        ("last used", f"{times.age(now - one.last_used)} ({times.iso(one.last_used)})"),
        ("by week", f"{analytics.spark(one.weeks)}  the last {analytics.WEEKS} weeks, share done"),
        ("latest", f"{analytics.recent(one.latest)}  the newest at the end"),
    ]


def foresee(session: Session, name: str, text: str, *, like: str = "", before: Role | None = None) -> None:
    """What hiring or adjusting a role would mean."""
    from lumen_tui.actions import role_preview

    try:
        role = parse_role(name, text, "hired")
    except BadFile as error:
        raise ActionError(f"role {name}, line {error.line}: {error}") from error
    figures = role_stats.book(session.layout, session.now)
    around = role_preview.around(session.picture(), figures.role(name) or figures.role(like), session.now)
    lines = role_preview.changed(before, role, around) if before else role_preview.consequences(role, around)
    table([(label, safe(words)) for label, words in lines])


def firing_means(session: Session, name: str) -> tuple[str, ...]:
    """What firing a role means, in lines."""
    from lumen_tui.actions import role_preview

    picture = session.picture()
    figures = role_stats.book(session.layout, session.now).role(name)
    return role_preview.firing(name, role_preview.unended(picture.tasks), picture.config, figures)
