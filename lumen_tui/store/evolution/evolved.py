"""evolved/: observations, rejections, how far sessions were read, and the files that are made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model import times
from lumen_tui.model.evolution import TARGETS, EvolutionView, Observation, Status
from lumen_tui.model.sessionlog import Place
from lumen_tui.model.text import one_line, safe, safe_all
from lumen_tui.storage import files, journal
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout

LOCK = "evolution"
GATE = "gate"  # who turned it away: the rules, and no model
_MOST_FILE = 4 * 1024 * 1024


def observations(layout: Layout) -> dict[str, Observation]:
    """The valid record of each observation, in the order in which they were first written."""
    found: dict[str, Observation] = {}
    for one in Journal(layout.observations).records(Observation):
        found[one.id] = one
    return found


def clean(one: Observation) -> Observation:
    """The same with every text made safe to show."""
    return msgspec.convert(safe_all(msgspec.to_builtins(one)), Observation)


def add(layout: Layout, changed: Iterable[Observation]) -> None:
    """Append records, durably."""
    Journal(layout.observations).append_all(changed)


class Rejection(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of rejections.jsonl. The words are made safe and without secrets before they are kept."""

    at: str
    text: str
    quote: str
    session: str
    line: int
    kind: str
    reasons: tuple[str, ...]
    id: str = ""  # of the observation, where a model turned it away: a person can take it over
    by: str = GATE  # or `model` and its name

    @property
    def whose(self) -> str:
        """Who turned it away, for people and programs."""
        return "rules" if self.by == GATE else self.by


def reject(layout: Layout, found: Iterable[Rejection]) -> None:
    """Keep what was turned away, with the reasons."""
    Journal(layout.rejections).append_all(found)


def rejections(layout: Layout) -> list[Rejection]:
    """All of them, oldest first."""
    return list(Journal(layout.rejections).records(Rejection))


def clean_rejection(one: Rejection) -> Rejection:
    """The same with every text made safe to show."""
    return msgspec.convert(safe_all(msgspec.to_builtins(one)), Rejection)


def places(layout: Layout) -> dict[str, Place]:
    """How far each session was read."""
    return {place.key: place for place in Journal(layout.read_sessions).records(Place)}


def remember(layout: Layout, place: Place) -> None:
    """Note how far a session was read."""
    files.append(layout.read_sessions, journal.encode(place))


def path_of(layout: Layout, target: str) -> Path:
    """The file of a target; KeyError for what is none."""
    return layout.evolved / (target if target in TARGETS else TARGETS[target])


def texts(layout: Layout) -> dict[str, str]:
    """What stands in each file of evolved/ that evolution writes; empty where there is none yet."""
    return {target: read_text(path_of(layout, target)) or "" for target in TARGETS}


def read_text(path: Path) -> str | None:
    """A text file of ours, byte for byte; None where there is none."""
    data = files.read(path, _MOST_FILE)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of what `read_text` gave."""
    return text.encode("utf-8", "surrogateescape")


def waiting(found: dict[str, Observation]) -> list[Observation]:
    """What waits for a person, oldest first."""
    return [one for one in found.values() if one.status is Status.PROPOSED]


def view(layout: Layout) -> EvolutionView:
    """For the queue of what needs a person. What cannot be read shows as nothing: the engine tells of it."""
    from lumen_tui.store.evolution.constitution import read_standing

    try:
        found = waiting(observations(layout))
    except (files.StoreError, OSError):
        found = []
    standing = read_standing(layout)
    changed = [line[:1] for line in standing.diff.splitlines() if not line.startswith(("+++", "---"))]
    newest = one_line(found[-1].text, 200) if found else ""
    since = times.epoch(found[0].at) if found else 0.0
    diff = f"+{changed.count('+')} −{changed.count('-')} lines" if standing.why else ""
    return EvolutionView(len(found), newest, since, one_line(standing.why), diff)


def facts(one: Observation) -> dict[str, Any]:
    """The record for people and programs: every text safe."""
    shown: dict[str, Any] = msgspec.to_builtins(clean(one))
    return shown


def rejection_facts(one: Rejection) -> dict[str, Any]:
    """The record for people and programs: every text safe."""
    shown: dict[str, Any] = msgspec.to_builtins(clean_rejection(one))
    return shown


def shown(text: str) -> str:
    """A text of evolved/ for the screen."""
    return safe(text)
