"""Policy sections that cannot be fully understood: they close, and a problem says so.

An unknown setting may have been meant to forbid anything, so its whole section closes, whatever else is in it. A known
setting with a wrong value keeps the value that was last read; where that is unknown, and for the setting of the
weakest acceptable sandbox, the section closes, too. The engine keeps what it last read under index/ for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lumen_tui.model.config import (
    CLOSED_TOKENS,
    NOWHERE,
    UNREADABLE,
    ApprovalsConfig,
    BudgetConfig,
    Config,
    SandboxConfig,
)
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.problem import Problem
from lumen_tui.model.roles import BLOCK_TOOLS
from lumen_tui.model.toolservers import McpConfig
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.layering import CLOSABLE, PROTECTIVE, RejectedSetting, SettingFault, TomlTable

KEPT = (
    "what protects (sandbox, budgets, approvals, the web, mcp, models, memory, evolution) and schedules hold as they "
    "were last read; all else of this file is not in force until it is fixed"
)
STRICT = (
    "nothing is known of its limits, so until it is fixed no command of a worker is run, no model call is made, the "
    "web is closed, no MCP server is used, every change asks, nothing is learnt by itself and no work unit is done "
    "without a checkpoint; nothing else of this file is in force"
)
_CLOSED = {
    "sandbox": "no command of a worker is run",
    "budget": "no model call is made",
    "approvals": "every change asks",
    "web": "no page is fetched",
    "mcp": "no MCP server is used",
    "allow": "no saved rule holds, so that calls ask again",
    "evolution": "nothing is learnt by itself",
    "memory": "no work unit is done without a checkpoint",
}
_STAYING = ("sandbox", "budget")  # where the last good value may stay: in the others it could only be looser
_LIMITS = "last-good-limits.json"  # below index/
_FLOOR = (("sandbox", "require"), ("sandbox", "tier"))
_EVERYTHING = ("write", "shell", "web_fetch", "custom", "remember", *BLOCK_TOOLS, "relay_submit")


class SettingEffect(Enum):
    """What applies while a setting is rejected."""

    DEFAULT = "the rest is in force, this falls back to its default"
    LAST_GOOD = "the rest is in force; this, and what is left out beside it, stays as it could last be read"
    CLOSED = "until it is fixed"  # behind what each of its sections forbids


def effect_of(setting: RejectedSetting, *, known: bool) -> SettingEffect:
    """Return what applies meanwhile. `known`: whether the settings that were last read in full are known."""
    if not setting.policy:
        return SettingEffect.DEFAULT
    if setting.fault is not SettingFault.BAD_VALUE or len(setting.keys) == 1 or setting.keys in _FLOOR:
        return SettingEffect.CLOSED
    return SettingEffect.LAST_GOOD if known and setting.keys[0] in _STAYING else SettingEffect.CLOSED


def closing_sections(rejected: Iterable[RejectedSetting], *, known: bool) -> frozenset[str]:
    """Return the sections that close, as `effect_of` has it."""
    closing = [setting for setting in rejected if effect_of(setting, known=known) is SettingEffect.CLOSED]
    return frozenset(section for setting in closing for section in setting.policy)


def problem(setting: RejectedSetting, *, known: bool) -> Problem:
    """Return the rejected setting as a problem, with what applies meanwhile."""
    effect = effect_of(setting, known=known)
    hint: str = effect.value
    if effect is SettingEffect.CLOSED:
        hint = f"{', '.join(_CLOSED[section] for section in setting.policy)} {hint}"
    return Problem(where=setting.where, what=setting.what, hint=hint)


def closed(config: Config, sections: Iterable[str]) -> Config:
    """Return `config` with these policy sections closed."""
    for section in CLOSABLE:
        if section in sections:
            config = _CLOSE[section](config)
    return config


def _close_sandbox(config: Config) -> Config:
    return replace(config, sandbox=replace(config.sandbox, require=UNREADABLE))


def _close_budget(config: Config) -> Config:
    return replace(config, budget=replace(config.budget, day_tokens=CLOSED_TOKENS))


def _close_approvals(config: Config) -> Config:
    asks = dict.fromkeys([*config.approvals.ask, *_EVERYTHING])
    return replace(config, approvals=replace(config.approvals, ask=tuple(asks)), allow=())


def _close_web(config: Config) -> Config:
    return replace(config, web=replace(config.web, hosts=(NOWHERE,), private=()))


def _close_mcp(config: Config) -> Config:
    return replace(config, mcp=McpConfig())


def _close_allow(config: Config) -> Config:
    return replace(config, allow=())


def _close_evolution(config: Config) -> Config:
    return replace(config, evolution=replace(config.evolution, enabled=False, extractor="offline"))


def _close_memory(config: Config) -> Config:
    blocks = replace(config.memory.enforcement, require_checkpoint_for_done="block")
    return replace(config, memory=replace(config.memory, enforcement=blocks))


_CLOSE = {
    "sandbox": _close_sandbox,
    "budget": _close_budget,
    "approvals": _close_approvals,
    "web": _close_web,
    "mcp": _close_mcp,
    "allow": _close_allow,
    "evolution": _close_evolution,
    "memory": _close_memory,
}


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


def protecting(layout: Layout, path: Path) -> tuple[TomlTable, str] | None:
    """Return the protective tables of a file as last read, and the whole text; None where they are unknown."""
    try:
        data = files.read(_copy(layout, path))
        text = (data or b"").decode()
        tables = frontmatter.parse_toml(text)
    except (frontmatter.BadFile, UnicodeDecodeError, files.StoreError, OSError):
        return None
    if data is None:
        return None
    return {section: table for section, table in tables.items() if section in PROTECTIVE}, text


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
