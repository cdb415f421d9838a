"""Probes that are made at once in a child process, for a person who waits for what they see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lumen_tui.model.facts import Outcome, Probe, Reading
from lumen_tui.storage.store import Store

if TYPE_CHECKING:
    from lumen_tui.tools.probes.batch import ProbeJob

_PATIENCE = 10.0  # seconds that a person waits for probes


def suggested(store: Store, text: str) -> list[Probe]:
    """Return probes that a text suggests and that hold now."""
    from lumen_tui.tools.probes.batch import suggest

    return [job.probe for job, reading in run(store, suggest(text)) if reading.outcome is Outcome.HOLDS]


def run(store: Store, probes: Sequence[Probe]) -> list[tuple[ProbeJob, Reading]]:
    """Make probes of no fact that is on record, and return what each saw, as far as time sufficed."""
    from lumen_tui.tools.probes import batch  # starts a process: not for every verb

    jobs = [batch.ProbeJob("", probe) for probe in probes]
    return batch.run(store.root, jobs, seconds=_PATIENCE, each=_PATIENCE / max(1, len(jobs)))
