"""How lines of a log are shown: by kind, the first or the last, by hour or by day."""

from __future__ import annotations

import datetime as dt
from collections import Counter

from msgspec import Struct

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.base import JsonObject
from lumen_tui.providers.offline.grammar import PlaybookPlan
from lumen_tui.providers.offline.playbooks.stamps import stamp
from lumen_tui.providers.offline.report import PlaybookFailed, code, line, many, table

_VARIABLE = (
    (lazy_re(r"^[\[(<]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]?|[A-Z][a-z]{2} [ \d]\d )[\d:.,+Z-]*[\])>]?\s*"), ""),
    (lazy_re(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-fA-F]+\b"), "…"),
    (lazy_re(r"(?<=[\w\"]=)(?:\"[^\"]*\"|[^\s,;)\"]+)"), "…"),
    (lazy_re(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{6,}\b"), "…"),
    (lazy_re(r"\d+"), "N"),
)


class LogHits(Struct, frozen=True):
    """The lines that were asked for: their number, and those that are at hand."""

    count: int
    hits: list[JsonObject]
    data: JsonObject
    notes: tuple[str, ...] = ()


def viewed(plan: PlaybookPlan, log_hits: LogHits, today: dt.datetime) -> str:
    if plan.view in ("first", "last"):
        return _edge(plan, log_hits, today)
    if plan.view in ("hours", "days"):
        return _spread(plan, log_hits, today)
    return _kinds(plan, log_hits)


def _edge(plan: PlaybookPlan, log_hits: LogHits, today: dt.datetime) -> str:
    """Return the first or last lines, by time where several files are there."""
    hits = log_hits.hits
    if len({hit["path"] for hit in hits}) > 1:
        stamped = [(stamp(hit["text"], today), hit) for hit in hits]
        if not all(at for at, _ in stamped):
            raise PlaybookFailed(
                "several files have such lines, and not all with a time to order them by: name one file"
            )
        hits = [hit for _, hit in sorted(stamped, key=lambda pair: pair[0])]
    chosen = hits[: plan.number] if plan.view == "first" else hits[-plan.number :]
    rows = [[_place(hit), stamp(hit["text"], today).replace("T", " "), code(hit["text"].strip())] for hit in chosen]
    which = "first" if plan.view == "first" else "last"
    head = f"The {which} {len(chosen)}, in the order of time:" if len(chosen) > 1 else f"The {which} one:"
    return f"{head}\n\n{table(('where', 'when', 'line'), rows)}"


def _spread(plan: PlaybookPlan, log_hits: LogHits, today: dt.datetime) -> str:
    """Return how many lines there are in each hour or on each day, the most first."""
    cut = 13 if plan.view == "hours" else 10
    counts = Counter(stamp(hit["text"], today)[:cut].replace("T", " ") for hit in log_hits.hits)
    if timeless := counts.pop("", 0):
        raise PlaybookFailed(
            f"{many(timeless, 'line')} of {line(plan.path)} without a time that this playbook can read"
        )
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = top[:24]
    unit = "hour" if plan.view == "hours" else "day"
    head = f"The {unit} with the most is {shown[0][0]}{':00' if cut == 13 else ''}, with {shown[0][1]:,}."
    if len(top) > 1 and top[0][1] == top[1][1]:
        head = f"Several {unit}s share the highest number, {shown[0][1]:,}."
    return f"{head}\n\n{table(('lines', unit), [[f'{count:,}', when] for when, count in shown], right=(0,))}"


def _kinds(plan: PlaybookPlan, log_hits: LogHits) -> str:
    groups = sorted(_groups(log_hits.hits).values(), key=lambda hits: (-len(hits), hits[0]["path"], hits[0]["line"]))
    rows = [
        [f"{len(hits):,}", _place(hits[0]), _place(hits[-1]), code(hits[-1]["text"].strip()[:200])]
        for hits in groups[: plan.number]
    ]
    more = f"\n\n{many(len(groups) - len(rows), 'rarer kind')} not shown." if len(groups) > len(rows) else ""
    partly = ""
    if log_hits.count > len(log_hits.hits):
        partly = f"Grouped from the first {len(log_hits.hits):,} matching lines. "
    head = f"{partly}{many(len(groups), 'kind')}, lines that differ only in numbers, ids and values as one:"
    return f"{head}\n\n{table(('times', 'first', 'last', 'latest line'), rows, right=(0,))}{more}"


def _groups(hits: list[JsonObject]) -> dict[str, list[JsonObject]]:
    """Group lines that differ only in dates, numbers and ids."""
    groups: dict[str, list[JsonObject]] = {}
    for hit in hits:
        kind = hit["text"].strip()
        for pattern, instead in _VARIABLE:
            kind = pattern.sub(instead, kind)
        groups.setdefault(kind[:160], []).append(hit)
    return groups


def _place(hit: JsonObject) -> str:
    return code(f"{hit['path'].rsplit('/', 1)[-1]}:{hit['line']}")
