"""All that the evolution screen shows, read at once. Every text is safe."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.constitution import Standing
from lumen_tui.model.evolution import Observation, Status
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved, versions
from lumen_tui.store.evolution.constitution import read_standing
from lumen_tui.store.evolution.evolved import Rejection
from lumen_tui.store.evolution.versions import Version

_MOST = 2000  # observations that are shown, and rejections
_ORDER = [Status.PROPOSED, Status.ACCEPTED, Status.SUPERSEDED, Status.WITHDRAWN, Status.REJECTED]


class EvolutionPage(Struct, frozen=True):
    """What waits first, then what stands; the newest first in each."""

    observations: tuple[Observation, ...] = ()
    versions: tuple[Version, ...] = ()  # newest first
    standing: Standing = Standing("", "")
    turned_away: int = 0
    rejections: tuple[Rejection, ...] = ()  # newest first


def read_page(layout: Layout) -> EvolutionPage:
    """What is there now."""
    newest = reversed(evolved.observations(layout).values())
    found = sorted(newest, key=lambda one: _ORDER.index(one.status))[:_MOST]
    there = [
        Version(one.version, safe(one.at), one_line(one.by, 40), one_line(one.why, 200), one.digest, {}, one.metrics)
        for one in reversed(versions.listed(layout))
    ]
    standing = read_standing(layout)
    shown = Standing(safe(standing.text), safe(standing.approved), safe(standing.why), safe(standing.by), standing.at)
    away = evolved.rejections(layout)
    newest_away = tuple(evolved.clean_rejection(one) for one in away[: -_MOST - 1 : -1])
    return EvolutionPage(tuple(evolved.clean(one) for one in found), tuple(there), shown, len(away), newest_away)
