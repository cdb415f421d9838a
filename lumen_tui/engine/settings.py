"""What is in force: the settings that the engine uses, and events about what is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from lumen_tui.engine.events import EventLog
from lumen_tui.model.config import Config
from lumen_tui.model.problem import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.settings import roles
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.loading import load_and_keep
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.settings.toolservers import server_problems
from lumen_tui.tools.policy.fence import redactor

EVENT = "settings"  # the kind of the engine's event
_REPAIRED = "all settings, roles and tools apply again"


class Settings:
    """Reads settings again when a file of theirs changed; reports what is not in force."""

    def __init__(self, layout: Layout) -> None:
        self._read: Stamped[tuple[Config, list[str]]] = Stamped(
            lambda: list(_files(layout)), lambda: _words(layout, load_and_keep)
        )
        self._reported: list[str] = []

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._read.value[0]

    def refresh(self, log: EventLog, now: float) -> None:
        """Take in what changed, and record an event for each new problem."""
        self._read.refresh()
        wrong = self._read.value[1]
        if wrong == self._reported:
            return
        news = [text for text in wrong if text not in self._reported] if wrong else [_REPAIRED]
        for text in news:
            log.add(EVENT, text, now)
        self._reported = wrong


def not_in_force(layout: Layout) -> list[str]:
    """Return every setting, role and tool that is not in force: where it is, why, and what applies instead."""
    return _words(layout, load_config)[1]


def _files(layout: Layout) -> Iterator[Path]:
    yield from (layout.config, layout.operator, layout.accepted)
    for folder, pattern in ((layout.roles, "*.md"), (layout.retired_roles, "*.md"), (layout.custom_tools, "*.*")):
        yield folder
        yield from sorted(folder.glob(pattern))


def _words(layout: Layout, load: Callable[[Layout], tuple[Config, list[Problem]]]) -> tuple[Config, list[str]]:
    config, problems = load(layout)
    redact = redactor(os.environ)
    in_force, _, unreadable = list_roles(layout)
    servers = server_problems(layout, config, in_force)
    wrong = [*problems, *unreadable, *roles.list_custom_tools(layout)[1], *servers]
    return config, [
        redact(one_line(f"{problem.where}: {problem.what}" + (problem.hint and f"; {problem.hint}"), 600))
        for problem in wrong
    ]
