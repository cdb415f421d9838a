"""Accepted observations written to the files of evolved/, to a version and to CLAUDE.md. Call it under the lock.

Of CLAUDE.md only the section between the marks is written, and the mode of a person's file is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import evolvedfiles, freshness, learning_rules, times
from lumen_tui.model.evolution import MODEL_PLACE, Metrics, Observation, ObservationStatus, Version
from lumen_tui.model.evolvedfiles import ENTRY_ID, Assembled, Worth, assemble, placed
from lumen_tui.model.text import safe
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout, from_home
from lumen_tui.store.evolution import evolved, versions
from lumen_tui.store.evolution.constitution import read_constitution
from lumen_tui.store.evolution.text_files import encoded
from lumen_tui.store.memory import facts

if TYPE_CHECKING:
    from lumen_tui.model.config import EvolutionConfig

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
    reason: str,
    free: bool = False,
) -> Written:
    """Bring the files in line with what is accepted. `free`: a person decided, so any number of entries may go."""
    result = Written()
    keep_hand_changes(layout, known, config, now)
    texts = evolved.texts(layout)
    new_files: dict[str, bytes] = {}
    for target, before in texts.items():
        after = _fitted(target, before, known, config.file_kb * 1024, result, now)
        refusals = learning_rules.judge_change(before, after, config.file_kb * 1024)
        binding = [refusal for refusal in refusals if not free or refusal.fault is learning_rules.ChangeFault.LOCKED]
        if binding:
            result.refused[target] = tuple(refusal.text for refusal in binding)
            after = before
        if after.strip() and (before or evolvedfiles.entries(after)):
            new_files[target] = encoded(after)
    if result.put_off:
        evolved.add(layout, result.put_off)
    if versions.digest_of(new_files) != versions.digest_of(versions.on_disk(layout)):
        versions.put(layout, new_files)
        result.version = _record(layout, known, config, now=now, by=by, reason=reason)
    result.claude = write_claude_md(layout, config, now)[0]
    return result


def _fitted(target: str, before: str, known: dict[str, Observation], most: int, result: Written, now: float) -> str:
    """Return the new text of a file; the newest entries without room are put off."""
    entries = evolvedfiles.in_force(known.values(), target)
    present = evolvedfiles.entries(before)
    after = evolvedfiles.render(target, before, entries)
    while len(encoded(after)) > most and (
        new := [observation for observation in entries if observation.id not in present]
    ):
        late = msgspec.structs.replace(
            new[-1], status=ObservationStatus.PROPOSED, reasons=(f"no room in {target}",), updated_at=times.iso(now)
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
        _record(layout, known, config, now=now, by="somebody", reason=HAND)


def _record(
    layout: Layout, known: dict[str, Observation], config: EvolutionConfig, *, now: float, by: str, reason: str
) -> Version:
    texts = versions.on_disk(layout)
    return versions.record(
        layout, texts, _metrics(layout, known, texts), by=by, reason=reason, at=times.iso(now), kind=config.versions
    )


def _metrics(layout: Layout, known: dict[str, Observation], texts: dict[str, bytes]) -> Metrics:
    entries = sum(len(evolvedfiles.entries(data.decode("utf-8", "replace"))) for data in texts.values())
    states = [observation.status for observation in known.values()]
    return Metrics(
        entries,
        len(states),
        states.count(ObservationStatus.PROPOSED),
        states.count(ObservationStatus.REJECTED),
        sum(not key.startswith(MODEL_PLACE) for key in evolved.places(layout)),
        sum(map(len, texts.values())),
    )


def restore(
    layout: Layout, restored: dict[str, bytes], config: EvolutionConfig, *, now: float, by: str, reason: str
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
    version = _record(layout, known, config, now=now, by=by, reason=reason)
    write_claude_md(layout, config, now)
    return version, changed


def _as_in(observation: Observation, entries: dict[str, str], by: str, now: float) -> Observation:
    """Return the observation as these files have it, words included: the next write must not undo the restore."""
    status = observation.status
    text = entries.get(observation.id, observation.text)
    if observation.id in entries:
        status = ObservationStatus.ACCEPTED
    elif status is ObservationStatus.ACCEPTED:
        status = ObservationStatus.WITHDRAWN
    if (status, text) == (observation.status, observation.text):
        return observation
    return msgspec.structs.replace(observation, status=status, text=text, by=by, updated_at=times.iso(now))


def claude_md_path(layout: Layout, config: EvolutionConfig) -> Path:
    """Return the path of CLAUDE.md."""
    return from_home(config.claude_md) if config.claude_md else layout.claude_md


def claude_md_section(layout: Layout, config: EvolutionConfig, now: float) -> Assembled:
    """Return what belongs between the marks now. Where the constitution was changed, its approved text is used.

    Lines that rely on a fact that is not fresh are marked.
    """
    by_id, by_claim = _marks(layout, now)
    texts = {target: _marked(safe(text), by_id, by_claim) for target, text in evolved.texts(layout).items()}
    approved = safe(read_constitution(layout).approved)
    return assemble(approved, texts, config.claude_md_kb * 1024, _worth(layout, by_id))


def _worth(layout: Layout, doubted: Mapping[str, str]) -> Callable[[str], Worth]:
    """Return a function for the worth of a line; observations are read only where something has to be cut."""
    known = cache(lambda: evolved.observations(layout))

    def of(name: str) -> Worth:
        observation = known().get(name)
        if observation is None:
            return (False, 0.0, 0.0)
        return (name not in doubted, observation.confidence, times.epoch(observation.updated_at or observation.at))

    return of


def _marks(layout: Layout, now: float) -> tuple[dict[str, str], dict[str, str]]:
    """Return the marks for lines: by the id of the observation, and by a claim in the words."""
    by_id: dict[str, str] = {}
    by_claim: dict[str, str] = {}
    for state in facts.states(layout):
        fact = state.fact
        words = freshness.dated_mark(state, now)
        if not words or fact.status not in ("open", "superseded"):
            continue
        if fact.observation and not fact.supersedes:
            by_id[fact.observation] = words
        if claim := freshness.claim_of(fact.title):
            by_claim[claim] = words
    return by_id, by_claim


def _marked(text: str, by_id: Mapping[str, str], by_claim: Mapping[str, str]) -> str:
    if not by_id and not by_claim:
        return text
    return "\n".join([" ".join(filter(None, (line, _mark_of(line, by_id, by_claim)))) for line in text.split("\n")])


def _mark_of(line: str, by_id: Mapping[str, str], by_claim: Mapping[str, str]) -> str:
    match = ENTRY_ID.search(line)
    if match and match[1] in by_id:
        return by_id[match[1]]
    plain_line = freshness.plain(line)
    return next((words for claim, words in by_claim.items() if claim in plain_line), "")


def write_claude_md(layout: Layout, config: EvolutionConfig, now: float) -> tuple[Assembled, bool]:
    """Bring the file up to date; return its section, and whether it had to be written."""
    section = claude_md_section(layout, config, now)
    path = claude_md_path(layout, config)
    _check(path, config)
    try:
        old = files.read(path)
        text = encoded(placed((old or b"").decode("utf-8", "surrogateescape"), section.text))
        if text == old:
            return section, False
        if old is None or path == layout.claude_md:
            files.replace(path, text)
        else:
            directories.replace_keeping_mode(path, text)
    except OSError as error:
        raise files.fail(path, error) from error
    return section, True


def _check(path: Path, config: EvolutionConfig) -> None:
    """Raise StoreError where nothing can be written; it says what to change."""
    if not config.claude_md:
        return
    reason = "" if path.is_absolute() else "write an absolute path"
    if not reason and path.is_symlink():
        reason = f"it is a link: name the file that it leads to, {path.resolve()}"
    if not reason and not path.parent.is_dir():
        reason = "there is no such folder: make it, or name another file"
    if reason:
        raise files.StoreError(f"[evolution] claude_md = {config.claude_md!r}: {reason}")
