"""The sandbox tier in force, and the event about a new one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.sandbox import tiers
from lumen_tui.tools.sandbox.tiers import TierChoice, TierTest

if TYPE_CHECKING:
    from lumen_tui.model.config import SandboxConfig

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
