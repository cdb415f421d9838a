"""Policy sections that cannot be fully understood: they close, and a problem says so.

An unknown setting may have been meant to forbid anything, so its whole section closes, whatever else is in it. A known
setting with a wrong value keeps the value that was last read; where that is unknown, and for the setting of the
weakest acceptable sandbox, the section closes, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from lumen_tui.model.config import CLOSED_TOKENS, NOWHERE, UNREADABLE, Config
from lumen_tui.model.snapshot import Problem
from lumen_tui.store.settings.layering import RejectedSetting
from lumen_tui.store.settings.protective_keys import CLOSABLE

KEPT = (
    "what protects (sandbox, budgets, approvals, the web, models, memory, evolution) holds as it was last read; all "
    "else of this file is not in force until it is fixed"
)
STRICT = (
    "nothing is known of its limits, so until it is fixed no command of a worker is run, no model call is made, the "
    "web is closed, every change asks, nothing is learnt by itself and no work unit is done without a checkpoint; "
    "nothing else of this file is in force"
)
_FALLS_BACK = "the rest is in force, this falls back to its default"
_STAYS = "the rest is in force; this, and what is left out beside it, stays as it could last be read"
_UNTIL = "until it is fixed"
_CLOSED = {
    "sandbox": "no command of a worker is run",
    "budget": "no model call is made",
    "approvals": "every change asks",
    "web": "no page is fetched",
    "allow": "no saved rule holds, so that calls ask again",
    "evolution": "nothing is learnt by itself",
    "memory": "no work unit is done without a checkpoint",
}
_STAYING = ("sandbox", "budget")  # where the last good value may stay: in the others it could only be looser
_FLOOR = (("sandbox", "require"), ("sandbox", "tier"))
_EVERYTHING = (
    "write",
    "shell",
    "web_fetch",
    "custom",
    "remember",
    "block_append",
    "block_replace",
    "block_rethink",
    "relay_submit",
)


def closing_sections(rejected: Iterable[RejectedSetting], *, known: bool) -> frozenset[str]:
    """Return the sections that close. `known`: whether the settings that were last read in full are known."""
    return frozenset(section for setting in rejected if _closes(setting, known=known) for section in setting.policy)


def _closes(setting: RejectedSetting, *, known: bool) -> bool:
    if setting.unknown or len(setting.keys) == 1 or setting.keys in _FLOOR:
        return True
    return not (known and setting.keys[0] in _STAYING)


def problem(setting: RejectedSetting, *, known: bool) -> Problem:
    """Return the rejected setting as a problem, with what applies meanwhile."""
    if not setting.policy:
        return Problem(where=setting.where, what=setting.what, hint=_FALLS_BACK)
    if not _closes(setting, known=known):
        return Problem(where=setting.where, what=setting.what, hint=_STAYS)
    closures = ", ".join(_CLOSED[section] for section in setting.policy)
    return Problem(where=setting.where, what=setting.what, hint=f"{closures} {_UNTIL}")


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
    "allow": _close_allow,
    "evolution": _close_evolution,
    "memory": _close_memory,
}
