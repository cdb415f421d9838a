"""The gate's rules as they are in force in one state folder."""

from __future__ import annotations

import os

from lumen_tui.model import constitution
from lumen_tui.model.gate import Rules
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution.constitution import read_standing
from lumen_tui.tools.policy.redaction import redactor


def gate_rules(layout: Layout) -> Rules:
    """The approved constitution's, and what the secrets of this process look like."""
    return Rules(constitution.never_learn(read_standing(layout).approved), redactor(os.environ))
