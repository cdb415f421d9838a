"""Settings that protect stay in force while their file, or one of them, cannot be read: as they last could be.

The engine keeps copies below index/, whenever it has read the settings: of the files, for when one of them cannot be
read, and of the sections that hold limits, for when a value cannot. Where there is no copy, nothing is known of what
the operator had set, and the strictest holds.
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
    return {section: table for section, table in found.items() if section in SECTIONS}, text


def keep_limits(layout: Layout, config: Config) -> None:
    """Keep the limits in force, all of which could be read. That it fails costs only the copy."""
    data = msgspec.json.encode(ProtectiveLimits(config.sandbox, config.budget, config.approvals))
    path = layout.index / _LIMITS
    try:
        if data != files.read(path):
            files.replace(path, data)
    except (files.StoreError, OSError):
        return


def limits(layout: Layout) -> ProtectiveLimits | None:
    """The limits that were in force when all of them could last be read."""
    try:
        return msgspec.json.decode(files.read(layout.index / _LIMITS) or b"", type=ProtectiveLimits)
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


def beneath(kept: ProtectiveLimits | None, wrong: Iterable[str]) -> Config:
    """What settings are laid over: the defaults, and in the sections that are `wrong` what was in force before.

    A folder may be written only where the file says so now: that list is looser than its default.
    """
    if kept is None:
        return Config()
    safe = replace(kept, sandbox=replace(kept.sandbox, writable=()))
    known = [section for section in wrong if section in ProtectiveLimits.__struct_fields__]
    return replace(Config(), **{section: getattr(safe, section) for section in known})
