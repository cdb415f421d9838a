"""Regular expressions that are compiled when they are first used: a program needs few of those that it declares.

Compiling takes 0.1 ms and more each, which is a tenth of what a command takes to start. Whatever else is declared at
the top of a module and dear to make can be made the same way.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any, AnyStr, TypeVar

    T = TypeVar("T")

_DECLARED: list[_Lazy] = []


class _Lazy:
    """What stands for something that is made when it is first used; each of its methods is looked up once."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.made(), name)
        setattr(self, name, value)
        return value

    def made(self) -> Any:
        """Return what it stands for."""
        if self._made is None:
            self._made = self._make()
        return self._made


def made_on_use(make: Callable[[], T]) -> T:
    """Return what stands for what `make` returns, made when an attribute of it is first asked for."""
    declared = _Lazy(make)
    _DECLARED.append(declared)
    return declared  # type: ignore[return-value]  # it has what the other has


def lazy_re(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern of `text`, compiled when it is first used; the functions of `re` do not take it."""

    def compiled() -> re.Pattern[AnyStr]:
        import re

        return re.compile(text, flags)

    return made_on_use(compiled)


def make_all() -> int:
    """Make what was declared so far, for a process that is forked often; return how much there is."""
    for declared in _DECLARED:
        declared.made()
    return len(_DECLARED)
