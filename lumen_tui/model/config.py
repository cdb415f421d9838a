"""The operator's intent: lumen.toml with operator.toml layered over it. Every field has a default."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from lumen_tui.model.decay import DecayRule


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[agent]"""

    name: str = "lumen"


class HeartbeatConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[heartbeat]"""

    every_minutes: float = 5.0
    jitter: float = 0.1  # share of the interval, both ways
    settle_seconds: float = 5.0  # news brings the next beat this near


class WorkersConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[workers]"""

    limit: int = 3
    retries: int = 1  # of a lost worker
    ask_seconds: float = 3.0  # between asking a worker to stop and TERM
    term_seconds: float = 3.0  # between TERM and KILL


class ModelsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models]: model ids by tier; they are the operator's to change."""

    provider: str = "auto"  # auto | offline | anthropic | openai | claude
    haiku: str = "claude-haiku-5-5"
    sonnet: str = "claude-sonnet-5-5"
    opus: str = "claude-opus-5-5"


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[budget]: 0 means no limit."""

    day_tokens: int = 100_000
    day_usd: float = 5.0


class DecayConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.decay]"""

    enabled: bool = True
    threshold: float = 0.1
    half_life_days: float = 30.0
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
    interval_tool_calls: int = 30


class EnforcementConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.enforcement]"""

    require_checkpoint_for_done: Literal["off", "warn", "block"] = "warn"
    auto_checkpoint: AutoCheckpointConfig = field(default_factory=AutoCheckpointConfig)


class LanesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[lanes]: how many work units may be in progress in one lane."""

    wip: int = 1
    stale_hours: float = 24.0  # a lane lock this old no longer counts, where its holder is gone as well
    limits: dict[str, int] = field(default_factory=dict)  # lane name -> its own limit

    def limit(self, lane: str) -> int:
        """The limit of one lane."""
        return max(1, self.limits.get(lane, self.wip))


class MemoryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory]"""

    checkpoint_interval: int = 30
    max_checkpoints: int = 10
    auto_checkpoint: bool = True
    decay: DecayConfig = field(default_factory=DecayConfig)
    enforcement: EnforcementConfig = field(default_factory=EnforcementConfig)


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
