"""The settings that hooks and checkpoints follow, as `rule` remembered them; read in full only after a change."""

from __future__ import annotations

from lumen_tui import __version__
from lumen_tui.store import rawjson
from lumen_tui.store.transcripts import hookjournal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMBERS = ("every", "max_checkpoints", "frequency", "on_tests_pass", "on_milestone")


def rule(root: str) -> dict[str, Any]:
    """What is in force in this state folder."""
    wanted = f"{__version__} {hookjournal.stamp(root)}"
    found = rawjson.read(f"{root}/{hookjournal.RULE}") or {}
    if found.get("stamp") == wanted and all(isinstance(found.get(name), int) for name in _NUMBERS):
        return found
    from lumen_tui.engine.hooks import rule

    return rule.remember(root, wanted)
