"""CLAUDE.md on disk: of a person's own file only the section between our marks is written, its mode is kept."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.model.claudemd import Assembled, assemble, placed
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.store import evolved, files, filing
from lumen_tui.store.constitution import read_standing
from lumen_tui.store.layout import Layout


def place_of(layout: Layout, config: EvolutionConfig) -> Path:
    """Where it goes."""
    return Path(config.claude_md).expanduser() if config.claude_md else layout.claude_md


def assembled(layout: Layout, config: EvolutionConfig) -> Assembled:
    """What belongs between our marks now. Of a constitution that was changed the approved text is used."""
    texts = {target: evolved.shown(text) for target, text in evolved.texts(layout).items()}
    return assemble(evolved.shown(read_standing(layout).approved), texts, config.claude_md_kb * 1024)


def write(layout: Layout, config: EvolutionConfig) -> tuple[Assembled, bool]:
    """Bring the file up to date; whether it had to be written."""
    made, path = assembled(layout, config), place_of(layout, config)
    if not path.is_absolute():
        raise files.StoreError(f"[evolution] claude_md = {config.claude_md!r}: write an absolute path")
    try:
        old = files.read(path)
        text = evolved.encoded(placed((old or b"").decode("utf-8", "surrogateescape"), made.text))
        if text == old:
            return made, False
        if old is None or path == layout.claude_md:
            files.replace(path, text)
        else:
            filing.replace_keeping_mode(path, text)
    except OSError as error:
        raise files.fail(path, error) from error
    return made, True
