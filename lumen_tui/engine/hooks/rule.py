"""The settings that a hook needs, kept in a small file beside the index so that it reads no TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.store import files, filing
from lumen_tui.store.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.transcripts import hookjournal


def remember(root: str, stamp: str) -> dict[str, Any]:
    """Read the settings and keep what counts under this stamp; fine where it cannot be kept."""
    memory = load_config(Layout(Path(root)))[0].memory
    rule = memory.enforcement.auto_checkpoint
    signals = memory.progress_signals
    found = {
        "stamp": stamp, "enabled": rule.enabled, "every": rule.interval_tool_calls,
        "frequency": signals.frequency if signals.enabled else 0,
        "on_tests_pass": signals.enabled and signals.on_tests_pass,
        "on_milestone": signals.enabled and signals.on_milestone,
        "on_signals": signals.enabled and signals.auto_checkpoint, "max_checkpoints": memory.max_checkpoints,
    }  # fmt: skip
    try:
        filing.make_folder(Path(root) / "index")
        files.replace(f"{root}/{hookjournal.RULE}", msgspec.json.encode(found))
    except files.StoreError:
        pass  # the next hook tries again
    return found
