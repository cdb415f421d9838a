"""A frozen snapshot of everything the room shows. Panes render slices of it and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from lumen_tui.model import agent
from lumen_tui.model.config import Config
from lumen_tui.model.decay import DecayRule, DecayView
from lumen_tui.model.freshness import FactsView
from lumen_tui.model.liveness import EngineView
from lumen_tui.model.operators import OperatorsView
from lumen_tui.model.progress import HookView
from lumen_tui.model.queueing import QueueConditions
from lumen_tui.model.spendbook import SpendView

if TYPE_CHECKING:
    from lumen_tui.model.approvals import Approval
    from lumen_tui.model.decay import DecayForecast
    from lumen_tui.model.loop import LoopState, Packet
    from lumen_tui.model.problem import Problem
    from lumen_tui.model.records import DiscoveryRow, SignalRow
    from lumen_tui.model.roles import Role
    from lumen_tui.model.schedule_runs import Upcoming
    from lumen_tui.model.tasks import TaskView
    from lumen_tui.model.themes import OwnTheme
    from lumen_tui.model.transitions import OpenItem
    from lumen_tui.model.work import WorkUnit


class Need(StrEnum):
    """Why something needs a person, most urgent first."""

    ENGINE = "engine"
    APPROVAL = "approval"  # a worker waits for a word on a call
    QUESTION = "question"  # a worker, or the main agent, asks something
    P0_SIGNAL = "signal"
    FAILED = "failed"
    LOST = "lost"
    STALLED = "stalled"
    BUDGET = "budget"
    EXPIRED = "expired"  # a question that nobody answered in time: it was denied by itself
    CONSTITUTION = "constitution"  # it was changed: nothing is learnt
    ROLLED_BACK = "rollback"  # a change of how the agent works was taken back by itself
    FACT = "fact"  # one that drifted, and on which something current relies
    P0_DISCOVERY = "discovery"
    CHANGES = "changes"  # a task handed in what it changed
    LOOP = "loop"  # loops that fail, or change nothing
    RELAY = "relay"  # a text that was written without a look at what came before it
    TRIAGE = "triage"  # discoveries that nobody has judged for long
    PROGRESS = "progress"  # a progress signal that did not come
    PROPOSAL = "proposal"  # what was learnt and waits for a word
    PROBLEM = "problem"
    RETIREMENT = "retirement"  # a role that does worse than the others


class Attention(Struct, frozen=True):
    """One thing that needs a person. `target` is the id of the row it is about; `since` in seconds since 1970."""

    need: Need
    target: str
    text: str
    since: float = 0.0
    until: str = ""  # where it was put off: the day or the moment at which it comes back
    role: str = ""  # of a retirement
    closes: float = 0.0  # when it expires, of what does

    @property
    def key(self) -> str:
        """Its name in a list; problems of one place are told apart by what they say."""
        return f"{self.need}:{self.target}" + (f":{self.text}" if self.need is Need.PROBLEM else "")


class WakeState(Struct, frozen=True):
    """wake-state.md with its own age (`written` in seconds since 1970, 0 where there is none)."""

    text: str = ""
    written: float = 0.0


class Revisions(Struct, frozen=True):
    """A counter for each slice: a pane redraws when its own has moved, and not otherwise."""

    loop: int = 0
    wake: int = 0
    tasks: int = 0
    signals: int = 0
    nodes: int = 0
    roles: int = 0
    engine: int = 0
    problems: int = 0
    approvals: int = 0
    facts: int = 0


class DemoMark(Struct, frozen=True):
    """demo.json: when a demo was opened, and when what is in it was really done."""

    made_at: str = ""
    recorded_at: str = ""


class Snapshot(Struct, frozen=True):
    """Everything, at one moment. The sequences are lazy: an item is read from disk when it is asked for."""

    root: str
    taken: float
    serial: int = 0  # counts what one reader read: the newer of two has the higher one
    config: Config = field(default_factory=Config)
    engine: EngineView = field(default_factory=EngineView)
    loop: LoopState | None = None
    packets: tuple[Packet, ...] = ()  # the most recent, oldest first
    wake: WakeState = field(default_factory=WakeState)
    tasks: Sequence[TaskView] = ()  # what needs a person, then live, queued, ended; newest first in each
    signals: Sequence[SignalRow] = ()  # newest first
    unread: int = 0
    discoveries: Sequence[DiscoveryRow] = ()  # open ones by priority, then oldest first
    discovery_counts: dict[str, int] = field(default_factory=dict)  # open ones by priority
    decay: DecayView = field(default_factory=lambda: DecayView(rule=DecayRule()))
    fading: Sequence[DecayForecast] = ()  # active and unprotected, soonest first
    roles: tuple[Role, ...] = ()
    retired: tuple[str, ...] = ()
    themes: tuple[OwnTheme, ...] = ()
    work: tuple[WorkUnit, ...] = ()
    work_percent: dict[str, int] = field(default_factory=dict)  # of those in progress, as far as a signal names it
    lanes: tuple[str, ...] = ()
    spend: SpendView = field(default_factory=SpendView)
    approvals: tuple[Approval, ...] = ()  # calls that wait for a person's word, the oldest first
    questions: tuple[Approval, ...] = ()  # questions that wait for an answer, the oldest first
    killed: str = ""  # who killed the agent and why; empty where nobody did
    paused: dict[str, str] = field(default_factory=dict)  # everything, the loop, `role NAME` -> by whom and why
    standing: QueueConditions = field(default_factory=QueueConditions)  # what holds queued tasks back
    hooks: HookView = field(default_factory=HookView)
    facts: FactsView = field(default_factory=FactsView)
    attention: tuple[Attention, ...] = ()
    snoozed: tuple[Attention, ...] = ()  # what comes back by itself
    waiting: tuple[OpenItem, ...] = ()  # what is on the queue by its journal, for whoever tells of it
    operators: OperatorsView = field(default_factory=OperatorsView)
    problems: tuple[Problem, ...] = ()
    upcoming: tuple[Upcoming, ...] = ()  # the next runs of schedules, the soonest first
    demo: str = ""  # of a demo, what it is in a few words
    gone: str = ""  # why there is no state folder any more, or empty
    read_only: str = ""  # why nothing can be written, or empty
    loading: float = 1.0  # share of the journals read so far
    revisions: Revisions = field(default_factory=Revisions)

    @property
    def session(self) -> TaskView | None:
        """The session of the main agent's loop, while it is at work. What is alive comes first among the tasks."""
        for view in self.tasks:
            if not view.status.alive:
                return None
            if agent.loop_of(view.id):
                return view
        return None
