"""What is in force: the settings that the engine uses and the sandbox tier, and events about what is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from lumen_tui.engine.events import EventLog
from lumen_tui.model.config import Config, SandboxConfig
from lumen_tui.model.problem import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.settings import roles
from lumen_tui.store.settings.config import load_and_keep, load_config
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.settings.toolservers import server_problems
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.sandbox import tiers
from lumen_tui.tools.sandbox.tiers import TierChoice, TierTest

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


_EVERY = 3600.0  # seconds between two tests while nothing changes


class SandboxMonitor:
    """Keeps track of the tier in force."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._tested = 0.0
        self._settings: SandboxConfig | None = None
        self.choice = TierChoice("")

    @property
    def tier(self) -> str:
        """`bubblewrap`, `landlock`, `ask` or `refused`; empty before the first test."""
        return self.choice.tier

    def refresh(self, settings: SandboxConfig, running: float) -> TierChoice | None:
        """Test where it is due: at the start, after a change of the settings, once an hour. Return a new choice.

        It takes about a tenth of a second. `running` is a clock that never goes back.
        """
        if settings == self._settings and running - self._tested < _EVERY:
            return None
        self._settings = settings
        self._tested = running
        results = tiers.test_all(self._layout.index, os.environ.get("PATH", os.defpath), settings)
        choice = tiers.choose(settings, results)
        if choice == self.choice:
            return None
        self.choice = choice
        return choice


def examined(layout: Layout, *, now: bool) -> tuple[str, str, tuple[TierTest, ...]]:
    """Return the tier, a sentence on it and what each test tried: run `now`, else from the last run.

    All empty where there was none. Nothing is written in the state folder.
    """
    settings, path = load_config(layout)[0].sandbox, os.environ.get("PATH", os.defpath)
    if now:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="lumen-sandbox-") as folder:
            results: tiers.SelfTestResults | None = tiers.test_all(Path(folder), path, settings)
    else:
        results = tiers.stored_results(layout.index, path, settings)
    if results is None:
        return "", "", ()
    choice = tiers.choose(settings, results)
    return choice.tier, f"sandbox: {sentence_on(choice)}", results.tested


def sentence_on(choice: TierChoice) -> str:
    """Describe the tier in a sentence."""
    if choice.tier == tiers.REFUSED:
        return choice.reason
    sentence = {
        "bubblewrap": "commands of workers run in bubblewrap",
        "landlock": "commands of workers run under Landlock",
        "ask": "no sandbox: every command of a worker asks first",
    }[choice.tier]
    return sentence + (f" ({choice.reason})" if choice.reason else "")
