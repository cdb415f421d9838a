"""Settings that protect stay in force while their file cannot be read: from a copy of it as it last could be.

The engine keeps the copies below index/, whenever it has read the settings. Where there is none, nothing is known of
what the operator had set, and the strictest holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model.config import UNREADABLE, ApprovalsConfig, BudgetConfig, Config, WebConfig
from lumen_tui.store import files, frontmatter
from lumen_tui.store.layout import Layout

PROTECTS = ("sandbox", "budget", "approvals", "allow", "web")
KEPT = (
    "what protects (sandbox, budgets, approvals, the web) holds as it was last read; all else of this file is not in "
    "force until it is mended"
)
STRICT = (
    "nothing is known of its limits, so until it is mended no command of a worker is run, no model call is made, the "
    "web is closed and every change asks; nothing else of this file is in force"
)
_LEAST = 1  # token: no call fits below it


def _copy(layout: Layout, path: Path) -> Path:
    return layout.index / f"last-good-{path.name}"


def keep(layout: Layout) -> None:
    """Keep a copy of each file that can be read; one that is not there is empty. That it fails costs only the copy."""
    for path in (layout.config, layout.operator):
        try:
            data = files.read(path) or b""
            frontmatter.parse_toml(data.decode())
            if data != files.read(_copy(layout, path)):
                files.replace(_copy(layout, path), data)
        except (frontmatter.BadFile, UnicodeDecodeError, files.StoreError, OSError):
            continue


def protecting(layout: Layout, path: Path) -> tuple[dict[str, Any], str] | None:
    """The tables of a file that protect, as they last could be read, and the whole text; None where nobody knows."""
    try:
        data = files.read(_copy(layout, path))
        text = (data or b"").decode()
        found = frontmatter.parse_toml(text)
    except (frontmatter.BadFile, UnicodeDecodeError, files.StoreError, OSError):
        return None
    if data is None:
        return None
    return {section: table for section, table in found.items() if section in PROTECTS}, text


def strictest(config: Config) -> Config:
    """`config` with everything closed that protects."""
    return msgspec.structs.replace(
        config, sandbox=msgspec.structs.replace(config.sandbox, require=UNREADABLE), web=WebConfig(), allow=(),
        budget=BudgetConfig(day_tokens=_LEAST),
        approvals=ApprovalsConfig(ask=("write", "shell", "web_fetch", "custom")),
    )  # fmt: skip
