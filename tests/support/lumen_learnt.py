"""What was learnt and waits for a person: `observed(layout)`, then `home.do("evolution.accept", ids=...)`."""

from __future__ import annotations

import time

from lumen_tui.model.evolution import Observation, ObservationKind, ObservationStatus, Source, Trust
from lumen_tui.model.times import iso
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved

RULE = "Never use requests for HTTP calls here, use httpx"


def observed(layout: Layout, text: str = RULE, name: str = "evo-1abc") -> str:
    """Add an observation that is proposed as a rule; return its id."""
    record = Observation(
        name, iso(time.time()), ObservationKind.RULE, text, "strategies/tool-preferences.md", "q",
        (Source("s", 1),), Trust.PERSON, status=ObservationStatus.PROPOSED,
    )  # fmt: skip
    evolved.add(layout, [record])
    return record.id
