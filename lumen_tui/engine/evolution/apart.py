"""Asking a model in a process of its own, which ends when it has answered or when we do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from lumen_tui.engine.supervisor.workers import worker_env
from lumen_tui.model.config import Config
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.opinions import Judgement
from lumen_tui.model.reading import Answer
from lumen_tui.providers.choose import key_names, provider_name

_PATIENCE = 180.0  # seconds for one answer
_LOOK = 0.1
_T = TypeVar("_T", Answer, Judgement)


def ask_process(module: str, config: Config, order: msgspec.Struct, kind: type[_T], over: Callable[[], bool]) -> _T:
    """Run `python -m module` with `order`; return its answer, or one whose `problem` says why not. `over` ends it."""
    models = config.models
    keys = key_names(provider_name(models, os.environ), models, "evolution", "haiku")
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=worker_env(keys),
        umask=0o077,
    )
    ends = time.monotonic() + _PATIENCE
    order_bytes: bytes | None = msgspec.json.encode(order)
    try:
        while True:
            try:
                output, _ = child.communicate(order_bytes, timeout=_LOOK)
                return msgspec.json.decode(output, type=kind)
            except subprocess.TimeoutExpired:
                order_bytes = None
            if over() or time.monotonic() > ends:
                return kind(problem="it took too long")
    except UNDECODABLE:
        return kind(problem=f"the reading process ended with code {child.returncode}")
    finally:
        child.kill()
        child.wait()
