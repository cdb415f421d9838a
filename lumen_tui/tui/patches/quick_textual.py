"""Textual imported without what the room has no use for.

The command palette brings twenty modules along, of trees, lists and selections; asyncio brings TLS, which the room does
not speak; what typing_extensions has for Textual is in `typing`; and of a dozen patterns for style sheets, markup and
log lines, up to 1 ms each, the first screens use few.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from types import ModuleType
from typing import Any

from lumen_tui.model.quick_imports import OnCall, standing_in


class _StandIn(ModuleType):
    """Has a class for each name that is asked for."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Later:
    """A pattern that is compiled when it is first used; to ask for its `match` or `search` is not to use it yet."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def match(self, *where: Any) -> re.Match[str] | None:
        return self._compiled.match(*where)

    def search(self, *where: Any) -> re.Match[str] | None:
        return self._compiled.search(*where)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


# Modules that do nothing with their patterns but to call a method of theirs.
_PATIENT = frozenset({"textual.css.tokenizer", "textual.actions", "rich.markup", "fractions", "logging", "string"})


@contextmanager
def _patterns_later() -> Iterator[None]:
    """Let some modules, which compile their patterns when they are imported, do so later."""
    compile_now = re.compile

    def compile_later(pattern: Any, flags: Any = 0) -> Any:
        patient = sys._getframe(1).f_globals["__name__"] in _PATIENT
        return _Later(pattern, flags) if patient else compile_now(pattern, flags)

    re.compile = compile_later
    try:
        yield
    finally:
        re.compile = compile_now


_CALLED = ("difflib", "mimetypes", "rich.table", "urllib.parse")  # by what the first screens do not call


def import_textual() -> None:
    """Import Textual's application; what was left out is imported as ever by whoever asks for it later."""
    left_out = {name: _StandIn(name) for name in ("textual.command", "platformdirs")}
    others = {"ssl": None, "typing_extensions": typing, **{name: OnCall(name) for name in _CALLED}}
    with standing_in({**left_out, **others}), _patterns_later():
        from lumen_tui.tui.patches import class_making

        class_making.install()
        import textual.app
        import textual.drivers.linux_driver
        import textual.widgets._button
        import textual.widgets._input  # noqa: F401 - for those that come after
