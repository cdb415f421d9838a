"""Imports that every process needs, made quickly."""

from __future__ import annotations

import os
import sys


class _Platform:
    """What `uuid` asks `platform` for, which compiles nine patterns when it is imported."""

    @staticmethod
    def system() -> str:
        return os.uname().sysname


def import_msgspec() -> None:
    """Import msgspec, with what `typing` has where it prefers typing_extensions: 9 ms less of 70 for each command."""
    if "msgspec" in sys.modules:
        return
    stand_ins = {"typing_extensions": None, "platform": _Platform}
    mine = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(mine)  # type: ignore[arg-type]
    try:
        import msgspec  # noqa: F401 - for those that come after
    finally:
        for name in mine:
            del sys.modules[name]
