"""The settings for hooks and checkpoints, from a small cache file; settings are read in full only after a change."""

from __future__ import annotations

from lumen_tui import __version__
from lumen_tui.storage import raw_json
from lumen_tui.store.sessions import hook_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMBERS = ("every", "max_checkpoints", "frequency", "on_tests_pass", "on_milestone")


def rule(root: str) -> dict[str, Any]:
    """Return the settings in force in this state folder."""
    expected_stamp = f"{__version__} {hook_journal.stamp(root)}"
    remembered = raw_json.read(f"{root}/{hook_journal.RULE}") or {}
    if remembered.get("stamp") == expected_stamp and all(isinstance(remembered.get(name), int) for name in _NUMBERS):
        return remembered
    from lumen_tui.store.sessions import hook_settings_cache

    return hook_settings_cache.remember(root, expected_stamp)
