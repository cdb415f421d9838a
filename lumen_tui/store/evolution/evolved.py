"""The folder evolved/: observations, rejections, how far sessions were read, the files made of them, the constitution.

The constitution's approval is recorded where no worker can write.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from lumen_tui.model.constitution import ConstitutionApproval, ConstitutionState, check_approval, digest
from lumen_tui.model.decoding import UNDECODABLE, safe_record
from lumen_tui.model.evolution import TARGETS, Observation, ObservationStatus, ReadPosition, Rejection
from lumen_tui.storage import directories, files, journal
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout

LOCK = "evolution"
_MOST_FILE = 4 * 1024 * 1024


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


def read_text(path: Path) -> str | None:
    """Return a text file of evolution, byte for byte; None where there is none."""
    data = files.read(path, _MOST_FILE)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes of what `read_text` returned."""
    return text.encode("utf-8", "surrogateescape")


def waiting(observations_by_id: dict[str, Observation]) -> list[Observation]:
    """Return the observations that wait for a person, oldest first."""
    return [
        observation for observation in observations_by_id.values() if observation.status is ObservationStatus.PROPOSED
    ]


def json_fields(record: Observation | Rejection) -> dict[str, object]:
    """Return the record as JSON fields, every text safe."""
    fields: dict[str, object] = msgspec.to_builtins(safe_record(record))
    return fields


def read_constitution(layout: Layout) -> ConstitutionState:
    """Return the state of the constitution. A file that cannot be read stops evolution as a changed one does."""
    try:
        text = read_text(layout.constitution)
        return check_approval(text, _approval(layout))
    except (files.StoreError, OSError, *UNDECODABLE) as error:
        return ConstitutionState("", "", f"the constitution or its approval cannot be read: {error}")


def _approval(layout: Layout) -> ConstitutionApproval | None:
    data = files.read(layout.approved_constitution)
    return None if data is None else msgspec.json.decode(data, type=ConstitutionApproval)


def read_approval(layout: Layout) -> ConstitutionApproval | None:
    """Return the record of the approval; None where there is none or it cannot be read."""
    try:
        return _approval(layout)
    except UNDECODABLE:
        return None


def approved_constitution(layout: Layout) -> str | None:
    """Return the approved text; None where there is none or it cannot be read."""
    record = read_approval(layout)
    return record.text if record else None


def approve_constitution(layout: Layout, text: str | None, *, by: str, at: str) -> None:
    """Record the approval of this text; None removes the record."""
    if text is None:
        directories.remove(layout.approved_constitution)
        return
    record = ConstitutionApproval(digest(text), text, at, by)
    files.replace(layout.approved_constitution, msgspec.json.format(msgspec.json.encode(record), indent=1))
