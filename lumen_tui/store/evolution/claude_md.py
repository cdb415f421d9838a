"""CLAUDE.md on disk: only the section between the marks is written, and the mode of a person's file is kept."""

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
from lumen_tui.store.evolution.constitution import read_state
from lumen_tui.store.memory import facts


def place_of(layout: Layout, config: EvolutionConfig) -> Path:
    """Return the path of CLAUDE.md."""
    return from_home(config.claude_md) if config.claude_md else layout.claude_md


def assembled(layout: Layout, config: EvolutionConfig, now: float) -> Assembled:
    """Return what belongs between the marks now. Where the constitution was changed, its approved text is used.

    Lines that rely on a fact that is not fresh are marked.
    """
    by_id, by_claim = _marks(layout, now)
    texts = {target: _marked(evolved.shown(text), by_id, by_claim) for target, text in evolved.texts(layout).items()}
    approved = evolved.shown(read_state(layout).approved)
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


def write(layout: Layout, config: EvolutionConfig, now: float) -> tuple[Assembled, bool]:
    """Bring the file up to date; return its section, and whether it had to be written."""
    section = assembled(layout, config, now)
    path = place_of(layout, config)
    _check(path, config)
    try:
        old = files.read(path)
        text = evolved.encoded(placed((old or b"").decode("utf-8", "surrogateescape"), section.text))
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
