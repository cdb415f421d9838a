"""One settings file layered over another. A setting that is invalid becomes a record: its fault, and what it concerns.

Which sections a rejected setting may close hangs on its keys alone; `fail_closed` decides whether it does.
"""

from __future__ import annotations

import re
from enum import Enum, auto

import msgspec
from msgspec import Struct

from lumen_tui.model.config import Config
from lumen_tui.model.text import one_line
from lumen_tui.storage import frontmatter
from lumen_tui.store.settings import config_errors

WHOLE = ("sandbox", "budget", "approvals", "web", "mcp", "allow")  # sections in which every setting restricts
_ANY = "*"  # a name that the operator chose
# In other sections these restrict. Without its price, or with a server that seems to need no key, a call is free.
_GATES = {
    ("models", "provider"): "budget",  # `offline` lets no model be called
    ("models", "prices"): "budget",
    ("models", "endpoints", _ANY, "key_env"): "budget",
    ("evolution", "enabled"): "evolution",
    ("evolution", "extractor"): "evolution",
    ("evolution", "judge"): "evolution",
    ("memory", "enforcement", "require_checkpoint_for_done"): "memory",
}
CLOSABLE = (*WHOLE, "evolution", "memory")
# Kept for when their file cannot be read: a slip elsewhere in it takes no schedule out.
PROTECTIVE = frozenset([*WHOLE, *(gate[0] for gate in _GATES), "schedules", "scheduling"])


KNOWN_SECTIONS = Config.__struct_fields__
_NEAR = 0.6  # likeness from which the name of a section counts as a misspelling of another

SettingsFile = tuple[str, str]  # a file's name and its text
TomlTable = dict[str, object]
Tables = list[tuple[str, TomlTable | None, str]]  # name of the file, its tables, its text


class SettingFault(Enum):
    """What is wrong with a setting. What is unknown may have been meant to forbid anything."""

    UNKNOWN_SECTION = auto()
    UNKNOWN_SETTING = auto()
    BAD_VALUE = auto()


class RejectedSetting(Struct, frozen=True):
    """A setting that is invalid, and so not in force."""

    keys: tuple[str, ...]
    fault: SettingFault
    policy: tuple[str, ...]  # the restricting sections that it concerns
    where: str  # file:line
    what: str


def layered(config: Config, tables: Tables) -> tuple[Config, list[RejectedSetting]]:
    """Layer the tables over `config`; return the result and the rejected settings."""
    rejected: list[RejectedSetting] = []
    for name, table, text in tables:
        for section, value in (table or {}).items():
            if section in KNOWN_SECTIONS:
                config = _take(config, (section,), value, (name, text), rejected)
            else:
                rejected.extend(_unknown_section(section, value, (name, text)))
    return config, rejected


def _take(
    config: Config, keys: tuple[str, ...], value: object, source: SettingsFile, rejected: list[RejectedSetting]
) -> Config:
    """Layer one setting over `config`; tables are taken key by key, so that one bad key spoils only itself."""
    if isinstance(value, dict):
        for key, inner in value.items():
            config = _take(config, (*keys, key), inner, source, rejected)
        return config
    try:
        return _set(config, keys, value)
    except msgspec.ValidationError as error:
        rejected.append(_rejection(keys, config_errors.of_value(error, Config, keys, value), source))
        return config


def _set(config: Config, keys: tuple[str, ...], value: object) -> Config:
    """Return `config` with one setting. Raise ValidationError.

    Converting its section alone, not all of them, is 10 ms less in each process: msgspec looks at the types first.
    """
    section = getattr(config, keys[0])
    if len(keys) == 1 or not isinstance(section, Struct):
        return msgspec.convert(_with(config, keys, value), Config)
    changed = msgspec.convert(_with(section, keys[1:], value), type(section))
    return msgspec.structs.replace(config, **{keys[0]: changed})


def _with(settings: Struct, keys: tuple[str, ...], value: object) -> TomlTable:
    """Return `settings` as tables, with one setting in its place, even where no table belongs."""
    tables: TomlTable = msgspec.to_builtins(settings)
    table = tables
    for key in keys[:-1]:
        inner = table.get(key)
        if not isinstance(inner, dict):
            inner = table[key] = {}
        table = inner
    table[keys[-1]] = value
    return tables


def _rejection(keys: tuple[str, ...], reason: str, source: SettingsFile) -> RejectedSetting:
    """Return the rejection of a setting in a known section."""
    fault = SettingFault.BAD_VALUE
    if not config_errors.is_known(Config, keys):
        fault = SettingFault.UNKNOWN_SETTING
        reason = f"there is no such setting{config_errors.instead(Config, keys)}"
    return RejectedSetting(keys, fault, closes(keys), _where(keys, source), f"{_dotted(keys)}: {reason}")


def _unknown_section(section: str, value: object, source: SettingsFile) -> list[RejectedSetting]:
    """Return the rejections of an unknown section: one for each of its keys."""
    meant = meant_by(section, value)
    inside: list[tuple[str, ...]] = [(section, key) for key in value] if isinstance(value, dict) else []
    return [
        RejectedSetting(
            keys,
            SettingFault.UNKNOWN_SECTION,
            policy=_policies(meant, keys),
            where=_where(keys, source),
            what=f"{_dotted(keys)}: there is no section [{one_line(section, 64)}]; {_instead(keys, meant)}",
        )
        for keys in inside or [(section,)]
    ]


def _policies(meant: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the restricting sections that a setting in an unknown one may be meant for; all where nobody knows."""
    if not meant:
        return CLOSABLE
    names = {name for section in meant for name in closes((section, *keys[1:]))}
    return tuple(name for name in CLOSABLE if name in names)


def closes(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sections that an invalid setting concerns; for an unknown one, those of what may be meant by it."""
    if keys[0] in WHOLE:
        return (keys[0],)
    meant = _meant(keys)
    return tuple(dict.fromkeys(section for gate, section in _GATES.items() if _concerns(gate, meant)))


def _meant(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys with the first unknown one replaced by the closest known one, or cut before it."""
    known = next((depth for depth in range(1, len(keys) + 1) if not config_errors.is_known(Config, keys[:depth])), 0)
    if not known:
        return keys
    above = keys[: known - 1]
    near = config_errors.close(keys[known - 1], config_errors.fields(Config, above))
    return (*above, near, *keys[known:]) if near else above


def _concerns(gate: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    """Return whether one is the other, or is below it."""
    return all(part in (_ANY, key) for part, key in zip(gate, keys, strict=False))


def meant_by(section: str, value: object) -> tuple[str, ...]:
    """Return the sections that an unknown one may mean: by its name, else by its keys. Empty: nobody knows."""
    if near := config_errors.close(section, KNOWN_SECTIONS, _NEAR):
        return (near,)
    inside = {key.casefold() for key in value} if isinstance(value, dict) else {section.casefold()}
    return tuple(known for known in KNOWN_SECTIONS if inside & {*config_errors.fields(Config, (known,))})


def _instead(keys: tuple[str, ...], meant: tuple[str, ...]) -> str:
    """Return what to write instead of a setting in an unknown section."""
    if not meant:
        return f"take it out, or put it under one of {', '.join(KNOWN_SECTIONS)}"
    return f"did you mean {' or '.join(_nearest(section, keys[-1]) for section in meant)}?"


def _nearest(section: str, key: str) -> str:
    """Return `section.setting` for the setting spelled like `key`; without one, the section alone."""
    near = config_errors.close(key, config_errors.fields(Config, (section,)))
    return f"{section}.{near}" if near else section


def _dotted(keys: tuple[str, ...]) -> str:
    return ".".join(one_line(key, 64) for key in keys)


def _where(keys: tuple[str, ...], source: SettingsFile) -> str:
    name, text = source
    return f"{name}:{line_of_setting(text, keys)}"


def line_of_setting(text: str, keys: tuple[str, ...]) -> int:
    """Return the line of a setting: its name below the header of its table, or of the table that has it inline."""
    for depth in range(len(keys) - 1, 0, -1):
        header = re.search(rf"^[ \t]*\[[ \t]*{re.escape('.'.join(keys[:depth]))}[ \t]*\]", text, re.MULTILINE)
        if header:
            below = text[header.end() :]
            return text[: header.end()].count("\n") + frontmatter.line_of(below, keys[depth])
    return frontmatter.line_of(text, keys[-1])
