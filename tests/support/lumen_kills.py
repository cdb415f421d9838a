"""Work in a child process that is killed before one of its writes."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any


def killed_at(point: int, writes: Iterable[tuple[ModuleType, str]], act: Callable[[], object]) -> bool:
    """Run `act` in a process that is killed before its n-th call of one of `writes`; return whether it was killed.

    A process that fails instead fails the test: else a sweep that killed nothing would pass.
    """
    child = os.fork()
    if not child:
        status = 1
        try:
            _arm(point, writes)
            act()
            status = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(status)
    ended = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(ended) or os.waitstatus_to_exitcode(ended) == 0, "it failed before it was killed"
    return os.WIFSIGNALED(ended)


def _arm(point: int, writes: Iterable[tuple[ModuleType, str]]) -> None:
    remaining = [point]

    def fatal(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            remaining[0] -= 1
            if remaining[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for module, name in writes:
        setattr(module, name, fatal(getattr(module, name)))
