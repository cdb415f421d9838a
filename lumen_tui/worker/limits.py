"""How far a task may go, and how that is changed while it runs."""

from __future__ import annotations

from lumen_tui.model.config import Config
from lumen_tui.model.roles import Role
from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Spec
from lumen_tui.model.times import span
from lumen_tui.tools.policy.rules import derive
from lumen_tui.tools.toolbox import Toolbox
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.stopping import Stopper


class TaskLimits:
    """The time limit in force, in seconds; `used` of it went to attempts from which this one goes on."""

    def __init__(self, stopper: Stopper, role: Role, spec: Spec, used: float) -> None:
        self._stopper = stopper
        self._role = role
        self._used = used
        self.seconds = spec.timeout_seconds or role.limits.timeout_seconds

    def begin(self) -> None:
        """Put the time limit into force."""
        self._stopper.limit(self.seconds)
        self._stopper.extend(-self._used, self.seconds)

    def used(self) -> float:
        """Return how much of the time is used, by all these attempts."""
        return round(self.seconds - self._stopper.remaining(), 3)

    def reached(self, toolbox: Toolbox) -> Progress:
        """Return how many of the task's calls and how much of its time are used."""
        return Progress(toolbox.steps, toolbox.rules.max_steps, self.used(), self.seconds)

    def change(self, spec: Spec, toolbox: Toolbox, spending: Spending, config: Config) -> str:
        """Put the limits of a changed spec into force; return those of calls and time in words."""
        toolbox.allow_steps(derive(self._role, spec, config).max_steps)
        seconds = spec.timeout_seconds or self._role.limits.timeout_seconds
        spending.change(spec.budget, seconds - self.seconds)
        self._stopper.extend(seconds - self.seconds, seconds)
        self.seconds = seconds
        return f"{toolbox.rules.max_steps} tool calls and {span(seconds)} altogether"
