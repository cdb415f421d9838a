"""CLAUDE.md on disk: of a person's own file only the section between our marks is written, its mode is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from lumen_tui.model import freshness, times
from lumen_tui.model.claudemd import ENTRY_ID, Assembled, Worth, assemble, placed
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout, from_home
from lumen_tui.store.evolution import evolved
from lumen_tui.store.evolution.constitution import read_standing
from lumen_tui.store.memory import facts


def place_of(layout: Layout, config: EvolutionConfig) -> Path:
    """Where it goes."""
    return from_home(config.claude_md) if config.claude_md else layout.claude_md


def assembled(layout: Layout, config: EvolutionConfig, now: float) -> Assembled:
    """What belongs between our marks now. Of a constitution that was changed the approved text is used.

    Lines that rely on a fact that is not fresh say so.
    """
    by_id, by_claim = _marks(layout, now)
    texts = {target: _marked(evolved.shown(text), by_id, by_claim) for target, text in evolved.texts(layout).items()}
    approved = evolved.shown(read_standing(layout).approved)
    return assemble(approved, texts, config.claude_md_kb * 1024, _worth(layout, by_id))


def _worth(layout: Layout, doubted: Mapping[str, str]) -> Callable[[str], Worth]:
    """What a line is worth by its observation, which are read only where something has to be cut."""
    known = cache(lambda: evolved.observations(layout))

    def of(name: str) -> Worth:
        one = known().get(name)
        if one is None:
            return (False, 0.0, 0.0)
        return (name not in doubted, one.confidence, times.epoch(one.updated_at or one.at))

    return of


def _marks(layout: Layout, now: float) -> tuple[dict[str, str], dict[str, str]]:
    """What goes beside a line: by the observation it stands for, and by a claim in its words."""
    by_id: dict[str, str] = {}
    by_claim: dict[str, str] = {}
    for state in facts.states(layout):
        fact, words = state.fact, freshness.dated_mark(state, now)
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
    found = ENTRY_ID.search(line)
    if found and found[1] in by_id:
        return by_id[found[1]]
    said = freshness.plain(line)
    return next((words for claim, words in by_claim.items() if claim in said), "")


def write(layout: Layout, config: EvolutionConfig, now: float) -> tuple[Assembled, bool]:
    """Bring the file up to date; whether it had to be written."""
    made, path = assembled(layout, config, now), place_of(layout, config)
    _check(path, config)
    try:
        old = files.read(path)
        text = evolved.encoded(placed((old or b"").decode("utf-8", "surrogateescape"), made.text))
        if text == old:
            return made, False
        if old is None or path == layout.claude_md:
            files.replace(path, text)
        else:
            directories.replace_keeping_mode(path, text)
    except OSError as error:
        raise files.fail(path, error) from error
    return made, True


def _check(path: Path, config: EvolutionConfig) -> None:
    """StoreError where nothing can be written there: it says what to change."""
    if not config.claude_md:
        return
    wrong = "" if path.is_absolute() else "write an absolute path"
    if not wrong and path.is_symlink():
        wrong = f"it is a link: name the file that it leads to, {path.resolve()}"
    if not wrong and not path.parent.is_dir():
        wrong = "there is no such folder: make it, or name another file"
    if wrong:
        raise files.StoreError(f"[evolution] claude_md = {config.claude_md!r}: {wrong}")
