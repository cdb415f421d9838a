"""The health of an engine, for the command line and for servers: the snapshot, and what its models lack."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.model.health import HealthReport, judge
from lumen_tui.model.liveness import EngineLife

if TYPE_CHECKING:
    from lumen_tui.model.snapshot import Snapshot


def health_report(snapshot: Snapshot) -> HealthReport:
    """Return the health by a snapshot and by what stands ready for its models."""
    return judge(snapshot, tuple(without_model(snapshot)))


def without_model(snapshot: Snapshot) -> list[str]:
    """Return why tasks will not get their model, by the environment of a live engine, else by ours."""
    from lumen_tui.providers.choose import lacking

    heartbeat = snapshot.engine.heartbeat if snapshot.engine.life is EngineLife.ALIVE else None
    return lacking(snapshot.config.models, _environ(heartbeat.pid if heartbeat else 0))


def _environ(pid: int) -> Mapping[str, str]:
    """Return the environment with which a process started; our own where that cannot be read."""
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes() if pid else b""
    except OSError:
        data = b""
    variables = dict(os.fsdecode(entry).partition("=")[::2] for entry in data.split(b"\0") if b"=" in entry)
    return variables or os.environ
