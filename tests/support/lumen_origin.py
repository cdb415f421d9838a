"""Tests that an agent runs: what its program leaves in the environment and above this process is not looked at here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from lumen_tui.storage import origin

BELOW_AN_AGENT = bool(origin.agent_evidence(os.environ))


def _variables_alone(environ: Mapping[str, str]) -> str:
    return next((f"{name} is set" for name in origin.MARKS if environ.get(name)), "")


def forget_agents() -> None:
    """Take off its variables, and judge in this process by those alone that a test sets."""
    if BELOW_AN_AGENT:
        for name in origin.MARKS:
            os.environ.pop(name, None)
        origin.agent_evidence = _variables_alone
