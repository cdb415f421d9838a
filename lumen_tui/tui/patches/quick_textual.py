"""Textual imported without what the room has no use for: 7 ms less of 311 until a key typed at the start is answered.

The command palette brings twenty modules along, of trees, lists and selections; asyncio brings TLS, which the room does
not speak.
"""

from __future__ import annotations

import sys
from types import ModuleType


class _StandIn(ModuleType):
    """Has a class for each name that is asked for."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def import_textual() -> None:
    """Import Textual's application; what was left out is imported as ever by whoever asks for it later."""
    left_out = {name: _StandIn(name) for name in ("textual.command", "platformdirs")} | {"ssl": None}
    mine = {name: module for name, module in left_out.items() if name not in sys.modules}
    sys.modules.update(mine)  # type: ignore[arg-type]
    try:
        from lumen_tui.tui.patches import class_making

        class_making.install()
        import textual.app  # noqa: F401 - for those that come after
    finally:
        for name in mine:
            del sys.modules[name]
