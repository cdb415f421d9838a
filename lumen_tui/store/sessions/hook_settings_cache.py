"""Writes the settings that a hook needs to a small file beside the index, so that hooks read no TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.settings.config import load_config


def remember(root: str, stamp: str) -> dict[str, Any]:
    """Read the settings and cache what hooks need under this stamp; a failure to write is ignored."""
    memory = load_config(Layout(Path(root)))[0].memory
    rule = memory.enforcement.auto_checkpoint
    signals = memory.progress_signals
    fields = {
        "stamp": stamp,
        "enabled": rule.enabled,
        "every": rule.interval_tool_calls,
        "frequency": signals.frequency if signals.enabled else 0,
        "on_tests_pass": signals.enabled and signals.on_tests_pass,
        "on_milestone": signals.enabled and signals.on_milestone,
        "on_signals": signals.enabled and signals.auto_checkpoint,
        "max_checkpoints": memory.max_checkpoints,
    }
    try:
        directories.make_folder(Path(root) / "index")
        files.replace(f"{root}/{hook_journal.RULE}", msgspec.json.encode(fields))
    except files.StoreError:
        pass  # the next hook tries again
    return fields
