"""From accepted observations to the files of evolved/, to a version, to CLAUDE.md. Call it under the lock."""

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
    """What a rebuild did."""

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
    """Bring the files in line with what is accepted. `free`: a person decided, so entries may go in any number."""
    done = Written()
    keep_hand_changes(layout, known, config, now)
    texts = evolved.texts(layout)
    made: dict[str, bytes] = {}
    for target, before in texts.items():
        after = _fitted(target, before, known, config.file_kb * 1024, done, now)
        reasons = gate.judge_change(before, after, config.file_kb * 1024)
        if free:
            reasons = tuple(reason for reason in reasons if "locked" in reason)
        if reasons:
            done.refused[target], after = reasons, before
        if after.strip() and (before or evolvedfiles.entries(after)):
            made[target] = evolved.encoded(after)
    if done.put_off:
        evolved.add(layout, done.put_off)
    if versions.digest_of(made) != versions.digest_of(versions.on_disk(layout)):
        versions.put(layout, made)
        done.version = _record(layout, known, config, now=now, by=by, why=why)
    done.claude = claude_md.write(layout, config, now)[0]
    return done


def _fitted(target: str, before: str, known: dict[str, Observation], most: int, done: Written, now: float) -> str:
    """The new text of a file; the newest entries that have no room wait."""
    entries = evolvedfiles.in_force(known.values(), target)
    there = evolvedfiles.entries(before)
    after = evolvedfiles.render(target, before, entries)
    while len(evolved.encoded(after)) > most and (new := [one for one in entries if one.id not in there]):
        late = msgspec.structs.replace(
            new[-1], status=Status.PROPOSED, reasons=(f"no room in {target}",), updated_at=times.iso(now)
        )
        known[late.id] = late
        done.put_off.append(late)
        entries.remove(new[-1])
        after = evolvedfiles.render(target, before, entries)
    return after


def keep_hand_changes(layout: Layout, known: dict[str, Observation], config: EvolutionConfig, now: float) -> None:
    """Where somebody edited the files since the last version, that is a version of its own."""
    there = versions.on_disk(layout)
    listed = versions.listed(layout)
    if versions.digest_of(there) != (listed[-1].digest if listed else versions.digest_of({})):
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
    states = [one.status for one in known.values()]
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
    layout: Layout, wanted: dict[str, bytes], config: EvolutionConfig, *, now: float, by: str, why: str
) -> tuple[Version, list[Observation]]:
    """Put these files in place byte for byte, and let each observation say what now holds of it."""
    known = evolved.observations(layout)
    keep_hand_changes(layout, known, config, now)
    there: dict[str, str] = {}
    for data in wanted.values():
        there |= evolvedfiles.entries(data.decode("utf-8", "surrogateescape"))
    changed = [one for old in known.values() if (one := _as_in(old, there, by, now)) is not old]
    known |= {one.id: one for one in changed}
    versions.put(layout, wanted)
    if changed:
        evolved.add(layout, changed)
    version = _record(layout, known, config, now=now, by=by, why=why)
    claude_md.write(layout, config, now)
    return version, changed


def _as_in(one: Observation, there: dict[str, str], by: str, now: float) -> Observation:
    """The observation as these files have it: in the words of then, too, or the next write would undo the restore."""
    status, text = one.status, there.get(one.id, one.text)
    if one.id in there:
        status = Status.ACCEPTED
    elif status is Status.ACCEPTED:
        status = Status.WITHDRAWN
    if (status, text) == (one.status, one.text):
        return one
    return msgspec.structs.replace(one, status=status, text=text, by=by, updated_at=times.iso(now))
