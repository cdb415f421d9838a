"""What a task's model calls cost, counted as they happen and held against its budget."""

from __future__ import annotations

from lumen_tui.model.tasks import Spec, Usage
from lumen_tui.providers.base import ProviderError
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import Tally, World


class Spending:
    """Sets aside what a call can cost before it is made, and settles what it did cost."""

    def __init__(self, world: World, tally: Tally, spec: Spec, events: Recorder) -> None:
        self._world, self._tally, self._spec, self._events = world, tally, spec, events

    def reserve(self, most: Usage, model: str) -> None:
        """Set aside the most a call can cost. ProviderError where the budget has no room for it."""
        used, budget = self._tally.usage, self._spec.budget
        over = 0 < budget.tokens < used.tokens + most.tokens or 0 < budget.usd < used.usd + most.usd
        if over:
            raise ProviderError(f"the task's budget has no room for another call of {model}: {self._so_far()}")

    def spent(self, usage: Usage) -> None:
        """Count one call. ProviderError where the task's budget is used up."""
        before = self._tally.usage
        total = Usage(
            input_tokens=before.input_tokens + usage.input_tokens,
            output_tokens=before.output_tokens + usage.output_tokens, usd=before.usd + usage.usd,
        )  # fmt: skip
        self._tally.usage = total
        self._events.event(
            "usage", self._so_far(), input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, usd=usage.usd
        )
        budget = self._spec.budget
        if 0 < budget.tokens <= total.tokens or 0 < budget.usd <= total.usd:
            raise ProviderError(f"the task's budget is used up: {self._so_far()}")

    def _so_far(self) -> str:
        total = self._tally.usage
        return f"{total.tokens:,} tokens, ${total.usd:.4f} so far"
