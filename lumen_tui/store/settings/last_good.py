"""The last readable protective settings, which stay in force while their file, or one of them, cannot be read.

Whenever the engine has read the settings, it keeps copies below index/: of the files, for when one of them cannot be
read, and of the sections that hold limits, for when a value cannot. Without a copy, nothing is known of what the
operator had set, and the strictest values apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from lumen_tui.model.config import ApprovalsConfig, BudgetConfig, Config, SandboxConfig
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.protective_keys import SECTIONS

_LIMITS = "last-good-limits.json"


class ProtectiveLimits(msgspec.Struct, frozen=True):
    """The sections in which a wrong value could open what was closed."""

    sandbox: SandboxConfig
    budget: BudgetConfig
    approvals: ApprovalsConfig


def _copy(layout: Layout, path: Path) -> Path:
    return layout.index / f"last-good-{path.name}"


def keep(layout: Layout) -> None:
    """Keep a copy of each readable file; a missing one counts as empty. A failure costs only the copy."""
    for path in (layout.config, layout.operator):
        try:
            data = files.read(path) or b""
            frontmatter.parse_toml(data.decode())
            if data != files.read(_copy(layout, path)):
                files.replace(_copy(layout, path), data)
        except (frontmatter.BadFile, UnicodeDecodeError, files.StoreError, OSError):
            continue


def protecting(layout: Layout, path: Path) -> tuple[dict[str, Any], str] | None:
    """Return the protective tables of a file as last read, and the whole text; None where they are unknown."""
    try:
        data = files.read(_copy(layout, path))
        text = (data or b"").decode()
        tables = frontmatter.parse_toml(text)
    except (frontmatter.BadFile, UnicodeDecodeError, files.StoreError, OSError):
        return None
    if data is None:
        return None
    return {section: table for section, table in tables.items() if section in SECTIONS}, text


def keep_limits(layout: Layout, config: Config) -> None:
    """Keep the limits in force, all of which could be read. A failure costs only the copy."""
    data = msgspec.json.encode(ProtectiveLimits(config.sandbox, config.budget, config.approvals))
    path = layout.index / _LIMITS
    try:
        if data != files.read(path):
            files.replace(path, data)
    except (files.StoreError, OSError):
        return


def limits(layout: Layout) -> ProtectiveLimits | None:
    """Return the limits that were in force when all of them could last be read; None where unknown."""
    try:
        return msgspec.json.decode(files.read(layout.index / _LIMITS) or b"", type=ProtectiveLimits)
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


def beneath(last_limits: ProtectiveLimits | None, bad_sections: Iterable[str]) -> Config:
    """Return the base for the settings: the defaults, and in the bad sections what was in force before.

    The list of writable folders is not taken from before, as it is looser than its default.
    """
    if last_limits is None:
        return Config()
    safe = replace(last_limits, sandbox=replace(last_limits.sandbox, writable=()))
    known = [section for section in bad_sections if section in ProtectiveLimits.__struct_fields__]
    return replace(Config(), **{section: getattr(safe, section) for section in known})
