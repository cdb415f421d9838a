"""Writes accepted observations to the files of evolved/, to a version and to CLAUDE.md. Call it under the lock."""

from __future__ import annotations

import msgspec

from lumen_tui.model import evolvedfiles, gate, times
from lumen_tui.model.claudemd import Assembled
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.model.evolution import Observation, Status
from lumen_tui.model.sessionlog import MODEL_PLACE
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import claude_md, evolved, versions
from lumen_tui.store.evolution.versions import Metrics, Version

HAND = "changed by hand"


class Written(msgspec.Struct):
    """The result of a rebuild."""

    version: Version | None = None  # the new one, where anything changed
    put_off: list[Observation] = msgspec.field(default_factory=list)  # accepted, without room in their file
    refused: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)  # file -> why it was left as it is
    claude: Assembled | None = None


def rebuild(
    layout: Layout,
    known: dict[str, Observation],
    config: EvolutionConfig,
    *,
    now: float,
    by: str,
    why: str,
    free: bool = False,
) -> Written:
    """Bring the files in line with what is accepted. `free`: a person decided, so any number of entries may go."""
    result = Written()
    keep_hand_changes(layout, known, config, now)
    texts = evolved.texts(layout)
    new_files: dict[str, bytes] = {}
    for target, before in texts.items():
        after = _fitted(target, before, known, config.file_kb * 1024, result, now)
        reasons = gate.judge_change(before, after, config.file_kb * 1024)
        if free:
            reasons = tuple(reason for reason in reasons if "locked" in reason)
        if reasons:
            result.refused[target] = reasons
            after = before
        if after.strip() and (before or evolvedfiles.entries(after)):
            new_files[target] = evolved.encoded(after)
    if result.put_off:
        evolved.add(layout, result.put_off)
    if versions.digest_of(new_files) != versions.digest_of(versions.on_disk(layout)):
        versions.put(layout, new_files)
        result.version = _record(layout, known, config, now=now, by=by, why=why)
    result.claude = claude_md.write(layout, config, now)[0]
    return result


def _fitted(target: str, before: str, known: dict[str, Observation], most: int, result: Written, now: float) -> str:
    """Return the new text of a file; the newest entries without room are put off."""
    entries = evolvedfiles.in_force(known.values(), target)
    present = evolvedfiles.entries(before)
    after = evolvedfiles.render(target, before, entries)
    while len(evolved.encoded(after)) > most and (
        new := [observation for observation in entries if observation.id not in present]
    ):
        late = msgspec.structs.replace(
            new[-1], status=Status.PROPOSED, reasons=(f"no room in {target}",), updated_at=times.iso(now)
        )
        known[late.id] = late
        result.put_off.append(late)
        entries.remove(new[-1])
        after = evolvedfiles.render(target, before, entries)
    return after


def keep_hand_changes(layout: Layout, known: dict[str, Observation], config: EvolutionConfig, now: float) -> None:
    """Record edits by hand since the last version as a version of their own."""
    current = versions.on_disk(layout)
    listed = versions.listed(layout)
    if versions.digest_of(current) != (listed[-1].digest if listed else versions.digest_of({})):
        _record(layout, known, config, now=now, by="somebody", why=HAND)


def _record(
    layout: Layout, known: dict[str, Observation], config: EvolutionConfig, *, now: float, by: str, why: str
) -> Version:
    texts = versions.on_disk(layout)
    return versions.record(
        layout, texts, _metrics(layout, known, texts), by=by, why=why, at=times.iso(now), kind=config.versions
    )


def _metrics(layout: Layout, known: dict[str, Observation], texts: dict[str, bytes]) -> Metrics:
    entries = sum(len(evolvedfiles.entries(data.decode("utf-8", "replace"))) for data in texts.values())
    states = [observation.status for observation in known.values()]
    return Metrics(
        entries,
        len(states),
        states.count(Status.PROPOSED),
        states.count(Status.REJECTED),
        _sessions(layout),
        sum(map(len, texts.values())),
    )


def _sessions(layout: Layout) -> int:
    return sum(not key.startswith(MODEL_PLACE) for key in evolved.places(layout))


def restore(
    layout: Layout, restored: dict[str, bytes], config: EvolutionConfig, *, now: float, by: str, why: str
) -> tuple[Version, list[Observation]]:
    """Restore these files byte for byte, and update each observation to match them."""
    known = evolved.observations(layout)
    keep_hand_changes(layout, known, config, now)
    entries: dict[str, str] = {}
    for data in restored.values():
        entries |= evolvedfiles.entries(data.decode("utf-8", "surrogateescape"))
    changed = [updated for old in known.values() if (updated := _as_in(old, entries, by, now)) is not old]
    known |= {updated.id: updated for updated in changed}
    versions.put(layout, restored)
    if changed:
        evolved.add(layout, changed)
    version = _record(layout, known, config, now=now, by=by, why=why)
    claude_md.write(layout, config, now)
    return version, changed


def _as_in(observation: Observation, entries: dict[str, str], by: str, now: float) -> Observation:
    """Return the observation as these files have it, words included: the next write must not undo the restore."""
    status = observation.status
    text = entries.get(observation.id, observation.text)
    if observation.id in entries:
        status = Status.ACCEPTED
    elif status is Status.ACCEPTED:
        status = Status.WITHDRAWN
    if (status, text) == (observation.status, observation.text):
        return observation
    return msgspec.structs.replace(observation, status=status, text=text, by=by, updated_at=times.iso(now))
