"""The stacks of a hanging test: beside those of its threads those of its coroutines, which no thread shows."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from typing import Any

import pytest_timeout  # type: ignore[import-untyped]


def install() -> None:
    """Let pytest-timeout print the stacks of coroutines, too."""
    threads = pytest_timeout.dump_stacks

    def all_stacks(terminal: Any) -> None:
        threads(terminal)
        terminal.write(coroutines())

    pytest_timeout.dump_stacks = all_stacks


def coroutines() -> str:
    """Return where each coroutine of the running event loop waits; the empty string outside of one."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:
        return ""
    return "".join(f"{task.get_name()} waits in\n{''.join(_chain(task.get_coro()))}" for task in tasks)


def _chain(awaited: Any) -> Iterator[str]:
    """Yield stack lines from the outermost coroutine to what it waits for: asyncio prints only the first."""
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None)
        yield from traceback.format_stack(frame, limit=1) if frame else [f"  {awaited!r}\n"]
        awaited = getattr(awaited, "cr_await", None)
