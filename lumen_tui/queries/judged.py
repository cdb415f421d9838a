"""What became of discoveries: each decision with who and why, and how often what was noticed or proposed was right."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from lumen_tui.model import analytics, times
from lumen_tui.model.analytics import Sample, Stats
from lumen_tui.model.records import ALIKE_FROM
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit import journal
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.nodes import Raw, get_field

_AGENT = "agent:"  # before the task, as the client of what its model did
_MOST_DECIDED = 3  # earlier decisions that say enough
_LONGEST = 200  # characters of a title and of a reason


class PastDecision(Struct, frozen=True):
    """One discovery that was decided. Texts are safe."""

    node_id: str
    title: str
    verdict: str  # `archived`, `merged`, `promoted to WU-101`
    at: float = 0.0  # seconds since 1970
    by: str = ""
    reason: str = ""
    score: int = 0  # the likeness of its title to the one that is looked at, in per cent


class Judged(Struct, frozen=True):
    """All that was decided. A rate is the share that turned out right: promoted, or of a priority nobody changed."""

    decisions: tuple[PastDecision, ...] = ()  # the newest first
    authors: tuple[Stats, ...] = ()  # `proposals of lumen`, `discoveries of builder`
    priorities: tuple[Stats, ...] = ()  # by author of the discoveries that had one


def read(layout: Layout, now: float) -> Judged:
    """Read every discovery. A merge counts neither for nor against its author."""
    changed = _reprioritized(layout)
    decisions: list[PastDecision] = []
    authors: list[Sample] = []
    priorities: list[Sample] = []
    for node in newest_nodes(layout, "discovery"):
        decision = _decision(node) if node.get("type") == "discovery" else None
        if decision is None:
            continue
        decisions.append(decision)
        status = {"archived": "failed", "merged": "cancelled"}.get(decision.verdict, "done")
        author = one_line(str(node.get("created_by") or "somebody"), 60)
        authors.append(Sample(role=f"{_kind(node)} of {author}", model="", status=status, finished=decision.at))
        if get_field(node, "metadata.priority"):
            outcome = "failed" if decision.node_id in changed else "done"
            priorities.append(Sample(role=author, model="", status=outcome, finished=decision.at))
    return Judged(
        tuple(sorted(decisions, key=lambda decision: -decision.at)),
        analytics.task_statistics(authors, now).roles,
        analytics.task_statistics(priorities, now).roles,
    )


def _decision(node: Raw) -> PastDecision | None:
    """Return what became of a discovery; None for one that is open, or deleted."""

    def field(name: str) -> str:
        return one_line(str(get_field(node, f"metadata.{name}") or ""), _LONGEST)

    title = one_line(str(node.get("content", "")).partition("\n")[0], _LONGEST)
    identifier, by = str(node.get("id", "")), one_line(str(node.get("updated_by") or ""), 60)
    if at := times.epoch(field("promoted_at")):
        return PastDecision(identifier, title, f"promoted to {field('promoted_to')}", at, by)
    at = times.epoch(field("archived_at"))
    if not at or field("status") != "archived":
        return None
    verdict = "merged" if field("merged_into") else "archived"
    return PastDecision(identifier, title, verdict, at, field("archived_by") or by, field("archive_reason"))


def _kind(node: Raw) -> str:
    tags = node.get("tags")
    return "proposals" if isinstance(tags, list) and "proposal" in tags else "discoveries"


def _reprioritized(layout: Layout) -> set[str]:
    """Return the discoveries whose priority a person changed."""
    entries = journal.in_effect(layout, lambda action: action.verb == "triage.edit")
    return {
        change.key
        for entry in entries
        for action in entry.actions
        if not action.client.startswith(_AGENT)
        for change in action.changes
        if "metadata.priority" in (change.after or {}) and _priority(change.before) not in ("", _priority(change.after))
    }


def _priority(side: dict[str, object] | None) -> str:
    return str((side or {}).get("metadata.priority") or "")


def decided_alike(title: str, decisions: Sequence[PastDecision]) -> list[PastDecision]:
    """Return the decisions on discoveries with a similar title, the most similar first, and the newer of equals."""
    from rapidfuzz import fuzz, process, utils  # not before somebody looks at one

    titles = {place: utils.default_process(decision.title) for place, decision in enumerate(decisions)}
    wanted = utils.default_process(title)
    near = process.extract(wanted, titles, scorer=fuzz.token_set_ratio, score_cutoff=ALIKE_FROM, limit=_MOST_DECIDED)
    return [msgspec.structs.replace(decisions[place], score=round(score)) for _, score, place in near]
