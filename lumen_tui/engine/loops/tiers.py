"""Which tier a loop of the main agent begins on: the cheap one for routine, its own for orders, alarms and plans."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from lumen_tui.engine.loops.news import News, by_end, failed
from lumen_tui.model import times
from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.loop import LoopState
from lumen_tui.model.roles import Role
from lumen_tui.providers.choose import routine_model

_HOUR = 3600.0  # seconds: how long a vendor keeps a prompt at most


class Tier(Struct, frozen=True):
    """What a loop begins on. `model` is empty where it is the role's own; `kept`: those asked in the last hour."""

    model: str = ""
    why: str = ""
    kept: tuple[str, ...] = ()


OWN = Tier()


def choose(
    config: ModelsConfig, role: Role, news: News, state: LoopState | None, environ: Mapping[str, str], *,
    asked: bool, now: float,
) -> Tier:  # fmt: skip
    """Return the tier of the loop that this news begins."""
    asked_on = state.models if state else {}
    recent = tuple(name for name, at in asked_on.items() if 0 <= now - times.epoch(at) < _HOUR)
    first = routine_model(config, role, environ)
    if not first:
        return Tier("", "no other is set for routine", recent)
    if reason := _needs_own(news, state, asked=asked):
        return Tier("", reason, recent)
    return Tier(first, "the news is routine", recent)


def _needs_own(news: News, state: LoopState | None, *, asked: bool) -> str:
    """Return why this news is no routine; empty where it is."""
    signals = [signal for _, signal in news.signals]
    reasons = (
        (any(signal.order for signal in signals), "an order of the operator"),
        (any(run.order for run in news.woken), "an order of the operator by schedule"),
        (bool(news.woken), "what the agent has planned is due"),
        (any(signal.priority == "P0" for signal in signals), "an alarm (P0)"),
        (bool(failed(by_end(news.ended)[1])), "a task failed"),
        (state is not None and state.failed_loops > 0, "the loop before failed"),
        (asked, "a person asked for the loop"),
    )
    return next((reason for holds, reason in reasons if holds), "")
