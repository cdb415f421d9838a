"""The folder evolved/: observations, rejections, how far sessions were read, the files made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from lumen_tui.model.decoding import safe_record
from lumen_tui.model.evolution import TARGETS, Observation, ObservationStatus, ReadPosition, Rejection
from lumen_tui.storage import files, journal
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution.text_files import read_text

LOCK = "evolution"


def observations(layout: Layout) -> dict[str, Observation]:
    """Return the valid record of each observation, in the order in which they were first written."""
    by_id: dict[str, Observation] = {}
    for observation in Journal(layout.observations).records(Observation):
        by_id[observation.id] = observation
    return by_id


def add(layout: Layout, changed: Iterable[Observation]) -> None:
    """Append records durably."""
    Journal(layout.observations).append_all(changed)


def reject(layout: Layout, rejected: Iterable[Rejection]) -> None:
    """Append rejections, with their reasons."""
    Journal(layout.rejections).append_all(rejected)


def rejections(layout: Layout) -> list[Rejection]:
    """Return all rejections, oldest first."""
    return list(Journal(layout.rejections).records(Rejection))


def places(layout: Layout) -> dict[str, ReadPosition]:
    """Return how far each session was read, by its key."""
    return {place.key: place for place in Journal(layout.read_sessions).records(ReadPosition)}


def remember(layout: Layout, place: ReadPosition) -> None:
    """Note how far a session was read."""
    files.append(layout.read_sessions, journal.encode(place))


def path_of(layout: Layout, target: str) -> Path:
    """Return the file of a target; KeyError for an unknown one."""
    return layout.evolved / (target if target in TARGETS else TARGETS[target])


def texts(layout: Layout) -> dict[str, str]:
    """Return the text of each file in evolved/ that evolution writes; empty where there is none yet."""
    return {target: read_text(path_of(layout, target)) or "" for target in TARGETS}


def waiting(observations_by_id: dict[str, Observation]) -> list[Observation]:
    """Return the observations that wait for a person, oldest first."""
    return [
        observation for observation in observations_by_id.values() if observation.status is ObservationStatus.PROPOSED
    ]


def json_fields(record: Observation | Rejection) -> dict[str, object]:
    """Return the record as JSON fields, every text safe."""
    fields: dict[str, object] = msgspec.to_builtins(safe_record(record))
    return fields
