"""What an engine is made of, loaded once it holds its lease and has adopted its workers."""

from __future__ import annotations

from lumen_tui.engine.chat import ChatTurns
from lumen_tui.engine.command_inbox import CommandInbox
from lumen_tui.engine.evolution.learning import Learning
from lumen_tui.engine.freshness import Freshness
from lumen_tui.engine.loops.loops import Arrivals, MainLoop
from lumen_tui.engine.mail.places import MailPlaces
from lumen_tui.engine.monitors import ApprovalMonitor, HookNews, JournalMonitor, RoleExpiry
from lumen_tui.engine.mouths.mouths import Mouths
from lumen_tui.engine.queue_journal import QueueJournal
from lumen_tui.engine.sandbox_tier import SandboxMonitor
from lumen_tui.engine.schedules.scheduler import Scheduler
from lumen_tui.engine.supervisor.pauses import KillSwitch, PauseControl
from lumen_tui.storage.repair import Sweeper

__all__ = [
    "ApprovalMonitor",
    "Arrivals",
    "ChatTurns",
    "CommandInbox",
    "Freshness",
    "HookNews",
    "JournalMonitor",
    "KillSwitch",
    "Learning",
    "MailPlaces",
    "MainLoop",
    "Mouths",
    "PauseControl",
    "QueueJournal",
    "RoleExpiry",
    "SandboxMonitor",
    "Scheduler",
    "Sweeper",
]
