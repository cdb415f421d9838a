"""Textual imported without what the room has no use for.

The command palette brings twenty modules along, of trees, lists and selections; asyncio brings TLS, which the room does
not speak; and what typing_extensions has for Textual is in `typing`.
"""

from __future__ import annotations

import typing
from types import ModuleType

from lumen_tui.model.quick_imports import OnCall, standing_in


class _StandIn(ModuleType):
    """Has a class for each name that is asked for."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


_CALLED = ("difflib", "mimetypes", "rich.table", "urllib.parse")  # by what the first screens do not call


def import_textual() -> None:
    """Import Textual's application; what was left out is imported as ever by whoever asks for it later."""
    unused = {name: _StandIn(name) for name in ("textual.command", "platformdirs")}
    with standing_in({**unused, "ssl": None, "typing_extensions": typing, **{name: OnCall(name) for name in _CALLED}}):
        from lumen_tui.tui.patches import class_making

        class_making.install()
        import textual.app
        import textual.drivers.linux_driver
        import textual.widgets._button
        import textual.widgets._input  # noqa: F401 - for those that come after
