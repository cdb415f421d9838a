"""The settings that hooks and checkpoints follow, as `rule` remembered them; read in full only after a change."""

from __future__ import annotations

from lumen_tui import __version__
from lumen_tui.storage import raw_json
from lumen_tui.store.sessions import hook_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMBERS = ("every", "max_checkpoints", "frequency", "on_tests_pass", "on_milestone")


def rule(root: str) -> dict[str, Any]:
    """What is in force in this state folder."""
    wanted = f"{__version__} {hook_journal.stamp(root)}"
    found = raw_json.read(f"{root}/{hook_journal.RULE}") or {}
    if found.get("stamp") == wanted and all(isinstance(found.get(name), int) for name in _NUMBERS):
        return found
    from lumen_tui.store.sessions import hook_settings_cache

    return hook_settings_cache.remember(root, wanted)
