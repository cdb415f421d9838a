"""The operator's intent: lumen.toml with operator.toml layered over it. Every field has a default."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from lumen_tui.model.decay import DecayRule


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[agent]"""

    name: str = "lumen"


class HeartbeatConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[heartbeat]"""

    every_minutes: Annotated[float, Meta(ge=0.1, le=1440)] = 5.0
    jitter: Annotated[float, Meta(ge=0, le=0.9)] = 0.1  # share of the interval, both ways
    settle_seconds: Annotated[float, Meta(ge=0.05, le=3600)] = 5.0  # news brings the next beat this near


class WorkersConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[workers]"""

    limit: Annotated[int, Meta(ge=1, le=64)] = 3
    retries: Annotated[int, Meta(ge=0, le=10)] = 1  # of a lost worker
    ask_seconds: Annotated[float, Meta(ge=0, le=600)] = 3.0  # between asking a worker to stop and TERM
    term_seconds: Annotated[float, Meta(ge=0, le=600)] = 3.0  # between TERM and KILL


class ModelsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models]: model ids by tier; they are the operator's to change."""

    provider: str = "auto"  # auto | offline | anthropic | openai | claude
    haiku: str = "claude-haiku-5-5"
    sonnet: str = "claude-sonnet-5-5"
    opus: str = "claude-opus-5-5"


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[budget]: 0 means no limit."""

    day_tokens: Annotated[int, Meta(ge=0, le=1_000_000_000_000)] = 100_000
    day_usd: Annotated[float, Meta(ge=0, le=1_000_000)] = 5.0


class DecayConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.decay]"""

    enabled: bool = True
    threshold: Annotated[float, Meta(gt=0, lt=1)] = 0.1
    half_life_days: Annotated[float, Meta(gt=0, le=36_500)] = 30.0
    trigger: Literal["on_done", "manual"] = "on_done"

    @property
    def rule(self) -> DecayRule:
        """The rule these numbers make; numbers that make none fall back to the defaults."""
        if self.half_life_days > 0 and 0 < self.threshold < 1:
            return DecayRule(half_life_days=self.half_life_days, threshold=self.threshold)
        return DecayRule()


class AutoCheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.enforcement.auto_checkpoint]: by hooks of the agent's own program"""

    enabled: bool = True
    interval_tool_calls: Annotated[int, Meta(ge=0, le=100_000)] = 30


class EnforcementConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.enforcement]"""

    require_checkpoint_for_done: Literal["off", "warn", "block"] = "warn"
    auto_checkpoint: AutoCheckpointConfig = field(default_factory=AutoCheckpointConfig)


class ProgressSignalsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.progress_signals]: signals that are expected of an agent; a missing one needs a person"""

    enabled: bool = False
    frequency: Annotated[int, Meta(ge=0, le=100_000)] = 0  # tool calls after which one is due; 0 for never
    on_milestone: bool = True
    on_tests_pass: bool = True
    before_gates: bool = True  # one at least before a work unit is done
    on_blocked: bool = True
    auto_checkpoint: bool = False  # a checkpoint as well, at milestones and passed tests


class LanesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[lanes]: how many work units may be in progress in one lane."""

    wip: Annotated[int, Meta(ge=1, le=1000)] = 1
    stale_hours: Annotated[float, Meta(ge=0, le=8760)] = (
        24.0  # a lane lock this old no longer counts, where its holder is gone as well
    )
    limits: dict[str, Annotated[int, Meta(ge=1, le=1000)]] = field(default_factory=dict)  # lane name -> its own limit

    def limit(self, lane: str) -> int:
        """The limit of one lane."""
        return max(1, self.limits.get(lane, self.wip))


class MemoryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory]"""

    checkpoint_interval: Annotated[int, Meta(ge=0, le=10_080)] = 30
    max_checkpoints: Annotated[int, Meta(ge=1, le=1000)] = 10
    auto_checkpoint: bool = True
    decay: DecayConfig = field(default_factory=DecayConfig)
    enforcement: EnforcementConfig = field(default_factory=EnforcementConfig)
    progress_signals: ProgressSignalsConfig = field(default_factory=ProgressSignalsConfig)


class RoomConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[room]"""

    on_quit: Literal["ask", "stop", "keep"] = "ask"
    theme: str = "lumen"


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """All of it."""

    agent: AgentConfig = field(default_factory=AgentConfig)
    heartbeat: HeartbeatConfig = field(default_factory=HeartbeatConfig)
    workers: WorkersConfig = field(default_factory=WorkersConfig)
    models: ModelsConfig = field(default_factory=ModelsConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    lanes: LanesConfig = field(default_factory=LanesConfig)
    room: RoomConfig = field(default_factory=RoomConfig)
    keys: dict[str, str] = field(default_factory=dict)
