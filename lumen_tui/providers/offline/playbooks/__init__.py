"""What the offline provider can do, by name."""

from __future__ import annotations

from collections.abc import Callable

from lumen_tui.providers.offline.playbook_router import PlaybookPlan
from lumen_tui.providers.offline.playbooks.history import git_log
from lumen_tui.providers.offline.playbooks.shape import Play
from lumen_tui.providers.offline.playbooks.space import disk_usage, largest_files
from lumen_tui.providers.offline.playbooks.text import count, log_errors, search_text

PLAYBOOKS: dict[str, Callable[[PlaybookPlan], Play]] = {
    "largest-files": largest_files,
    "disk-usage": disk_usage,
    "search-text": search_text,
    "count": count,
    "git-log": git_log,
    "log-errors": log_errors,
}
