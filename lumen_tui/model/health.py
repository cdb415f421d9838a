"""Is the engine healthy, and may it start work? Judged from the snapshot, for people, containers and load balancers.

The words and the shape are those of the draft `application/health+json` (draft-inadarei-api-health-check).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model.liveness import EngineLife

if TYPE_CHECKING:
    from lumen_tui.model.snapshot import Snapshot

PASS, WARN, FAIL = "pass", "warn", "fail"
_ORDER = (PASS, WARN, FAIL)


class HealthCheck(Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at. `output` says what is wrong with it."""

    status: str
    output: str = ""


class HealthReport(Struct, frozen=True):
    """All that was looked at, by name; `status` is the worst of it."""

    checks: dict[str, HealthCheck]

    @property
    def status(self) -> str:
        return max((check.status for check in self.checks.values()), key=_ORDER.index, default=PASS)

    @property
    def alive(self) -> bool:
        """Whether there is an engine that sees to what comes in, now or as soon as a person lets it."""
        return self.status != FAIL

    @property
    def ready(self) -> bool:
        """Whether the engine starts work that it is given now."""
        return self.status == PASS

    def fields(self) -> dict[str, object]:
        """Return what a monitor reads: `checks` has a list for each name, as the draft has it."""
        return {"status": self.status, "checks": {name: [check] for name, check in self.checks.items()}}


def judge(snapshot: Snapshot, lacking: tuple[str, ...] = ()) -> HealthReport:
    """Return the health by a snapshot; `lacking` says why tasks will not get their model.

    It fails where nobody would see to what comes in. What a person held back, and what ails work alone, is a warning.
    """
    engine = snapshot.engine
    degraded = engine.heartbeat is not None and engine.heartbeat.phase == "degraded"
    checks = {"engine": _engine(engine.life, engine.why)}
    if engine.life is EngineLife.ALIVE:
        reason = engine.heartbeat.note if engine.heartbeat and degraded else ""
        checks["state"] = HealthCheck(FAIL, f"degraded: {reason}") if degraded else HealthCheck(PASS)
    for name, reasons in (("work", [*_held(snapshot)]), ("model", lacking)):
        checks[name] = HealthCheck(WARN, "; ".join(reasons)) if reasons else HealthCheck(PASS)
    return HealthReport(checks)


def _engine(life: EngineLife, why: str) -> HealthCheck:
    if life is EngineLife.ALIVE:
        return HealthCheck(PASS)
    return HealthCheck(WARN if life is EngineLife.LATE else FAIL, f"{life.value}: {why}" if why else life.value)


def _held(snapshot: Snapshot) -> Iterator[str]:
    """Yield what keeps all new work from starting."""
    if snapshot.killed:
        yield snapshot.killed
    if how := snapshot.paused.get("everything"):
        yield how
    if snapshot.spend.full:
        yield snapshot.spend.full
