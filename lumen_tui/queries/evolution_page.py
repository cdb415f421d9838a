"""All that the evolution screen shows, read at once. Every text is safe."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.constitution import ConstitutionState
from lumen_tui.model.evolution import EvolutionView, Observation, Status
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved, versions
from lumen_tui.store.evolution.evolved import Rejection, read_constitution
from lumen_tui.store.evolution.versions import Version

_MOST = 2000  # observations that are shown, and rejections
_ORDER = [Status.PROPOSED, Status.ACCEPTED, Status.SUPERSEDED, Status.WITHDRAWN, Status.REJECTED]


class EvolutionPage(Struct, frozen=True):
    """What waits first, then what stands; the newest first in each."""

    observations: tuple[Observation, ...] = ()
    versions: tuple[Version, ...] = ()  # newest first
    standing: ConstitutionState = ConstitutionState("", "")
    rejected_count: int = 0
    rejections: tuple[Rejection, ...] = ()  # newest first


def read_page(layout: Layout) -> EvolutionPage:
    """Read the page as it is now."""
    newest = reversed(evolved.observations(layout).values())
    observations = sorted(newest, key=lambda item: _ORDER.index(item.status))[:_MOST]
    shown_versions = [
        Version(
            item.version, safe(item.at), one_line(item.by, 40), one_line(item.why, 200), item.digest, {}, item.metrics
        )
        for item in reversed(versions.listed(layout))
    ]
    standing = read_constitution(layout)
    shown = ConstitutionState(
        safe(standing.text), safe(standing.approved), safe(standing.why), safe(standing.by), standing.at
    )
    rejections = evolved.rejections(layout)
    newest_rejections = tuple(evolved.clean_rejection(item) for item in rejections[: -_MOST - 1 : -1])
    return EvolutionPage(
        tuple(evolved.clean(item) for item in observations),
        tuple(shown_versions),
        shown,
        len(rejections),
        newest_rejections,
    )


def summary(layout: Layout) -> EvolutionView:
    """Return what the attention queue needs. What cannot be read counts as nothing: the engine reports it."""
    try:
        proposed = evolved.waiting(evolved.observations(layout))
    except (files.StoreError, OSError):
        proposed = []
    constitution = read_constitution(layout)
    changed = [line[:1] for line in constitution.diff.splitlines() if not line.startswith(("+++", "---"))]
    newest = one_line(proposed[-1].text, 200) if proposed else ""
    since = times.epoch(proposed[0].at) if proposed else 0.0
    diff = f"+{changed.count('+')} −{changed.count('-')} lines" if constitution.why else ""
    return EvolutionView(len(proposed), newest, since, one_line(constitution.why), diff)
