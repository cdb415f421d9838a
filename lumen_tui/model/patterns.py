"""Regular expressions that are compiled when they are first used: a program needs few of those that it declares.

Compiling takes 0.1 ms and more each, which is a tenth of what a command takes to start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

_DECLARED: list[_Lazy] = []


class _Lazy:
    """What stands for a compiled pattern; each of its methods is looked up once."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags
        self._compiled: re.Pattern[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._compiled is None:
            import re

            self._compiled = re.compile(self._text, self._flags)
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def lazy_re(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern of `text`, compiled when it is first used; the functions of `re` do not take it."""
    declared = _Lazy(text, flags)
    _DECLARED.append(declared)
    return declared  # type: ignore[return-value]  # it has what a pattern has


def compile_all() -> int:
    """Compile what was declared so far, for a process that is forked often; return how many there are."""
    for declared in _DECLARED:
        declared.pattern  # noqa: B018
    return len(_DECLARED)
