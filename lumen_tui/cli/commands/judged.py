"""`triage --judged`: how often what somebody noticed or proposed was worth a work unit, by author."""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.cli.session import Session, document, say, table
from lumen_tui.model import analytics, times
from lumen_tui.model.analytics import Sample, Stats
from lumen_tui.model.text import one_line
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.node_scan import newest_nodes
from lumen_tui.store.memory.nodes import Raw

_HEAD = ("", "judged", "promoted", "archived", "merged", "share", "95 %", "weeks")


def show(session: Session, *, as_json: bool) -> int:
    """Print the figures of each author. 3 where nothing was judged yet."""
    found = analytics.book(_samples(newest_nodes(session.layout, "discovery")), session.now).roles
    if as_json:
        document([_facts(one) for one in found])
    elif found:
        table([_HEAD, *(_row(one) for one in found)])
    else:
        say("no discovery was judged yet")
    return 0 if found else 3


def _samples(discoveries: Iterator[Raw]) -> Iterator[Sample]:
    """One for each that was judged. Being merged into another says nothing of either."""
    for node in discoveries:
        if node.get("type") != "discovery":
            continue
        promoted, archived = (_moment(node, f"metadata.{name}_at") for name in ("promoted", "archived"))
        status = "done" if promoted else "cancelled" if nodes.get_field(node, "metadata.merged_into") else "failed"
        if promoted or (archived and nodes.get_field(node, "metadata.status") == "archived"):
            yield Sample(role=_whose(node), model="", status=status, finished=promoted or archived)


def _moment(node: Raw, field: str) -> float:
    return times.epoch(str(nodes.get_field(node, field) or ""))


def _whose(node: Raw) -> str:
    tags = node.get("tags")
    what = "proposals" if isinstance(tags, list) and "proposal" in tags else "discoveries"
    return f"{what} of {one_line(str(node.get('created_by') or 'somebody'), 60)}"


def _facts(one: Stats) -> dict[str, object]:
    return {
        "name": one.name, "judged": one.tasks, "promoted": one.done, "archived": one.failed, "merged": one.cancelled,
        "share": one.rate, "low": one.low, "high": one.high, "weeks": one.weeks,
    }  # fmt: skip


def _row(one: Stats) -> tuple[str, ...]:
    known = one.rate is not None
    share = f"{analytics.percent(one.rate or 0.0)} %" if known else "–"
    interval = f"{analytics.percent(one.low)}–{analytics.percent(one.high)}" if known else "–"
    counts = (one.tasks, one.done, one.failed, one.cancelled)
    return (one.name, *(f"{count:,}" for count in counts), share, interval, analytics.spark(one.weeks))
