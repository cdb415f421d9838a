"""Imports that every process needs, made quickly: without what is only needed by functions that nobody calls here."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class _Platform:
    """What `uuid` asks `platform` for, which compiles nine patterns when it is imported."""

    @staticmethod
    def system() -> str:
        return os.uname().sysname


class _Untranslated:
    """What argparse takes from `gettext`: its words as they are, in English as all others here."""

    @staticmethod
    def gettext(message: str) -> str:
        return message

    @staticmethod
    def ngettext(one: str, several: str, number: int) -> str:
        return one if number == 1 else several


class OnCall:
    """Stands for a module of which only functions are taken: it is imported when one of them is called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: object, **named: object) -> object:
            from importlib import import_module

            return getattr(import_module(self._name), name)(*arguments, **named)

        return call


@contextmanager
def standing_in(modules: Mapping[str, object]) -> Iterator[None]:
    """Let others be imported while these stand for the modules of those names, where they are not imported yet."""
    mine = {name: module for name, module in modules.items() if name not in sys.modules}
    sys.modules.update(mine)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in mine:
            del sys.modules[name]


def import_basics() -> None:
    """Import pathlib and msgspec.

    pathlib without `urllib.parse`, which it has for URIs; msgspec with what `typing` has where it prefers
    typing_extensions, and its JSON schemas when somebody asks for one: 13 ms less of 70 for each command.
    """
    if "msgspec" in sys.modules:
        return
    functions = {name: OnCall(name) for name in ("urllib.parse", "msgspec.inspect", "msgspec._json_schema")}
    with standing_in({"typing_extensions": None, "platform": _Platform, **functions}):
        import pathlib  # noqa: F401 - for those that come after

        import msgspec

    del msgspec.inspect  # so that whoever imports it gets the real one


def import_argparse() -> None:
    """Import argparse without gettext, which looks for a translation of each of its words: 3 ms less for a command."""
    if "argparse" in sys.modules:
        return
    with standing_in({"gettext": _Untranslated}):
        import argparse  # noqa: F401 - for those that come after


def import_asyncio() -> None:
    """Import asyncio without TLS, which an engine speaks in threads alone: 5 ms less, and 4 MiB of OpenSSL."""
    if "asyncio" in sys.modules:
        return
    with standing_in({"ssl": None}):
        import asyncio  # noqa: F401 - for those that come after
