"""One file of settings laid over another; each setting that could not be taken becomes a value and a sentence."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from lumen_tui.model.config import Config
from lumen_tui.model.text import one_line
from lumen_tui.storage import frontmatter
from lumen_tui.store.settings import config_errors, protective_keys

_SECTIONS = Config.__struct_fields__
_NEAR = 0.6  # likeness from which the name of a section counts as a misspelling of another

SettingsFile = tuple[str, str]  # a file's name and its text
Tables = list[tuple[str, dict[str, Any] | None, str]]  # name of the file, its tables, its text


class Slip(Struct, frozen=True):
    """A setting that could not be taken."""

    keys: tuple[str, ...]
    unknown: bool  # there is no such setting, so nobody knows what it was to hold back
    policy: tuple[str, ...]  # the sections that hold something back and that it concerns
    where: str  # file:line
    what: str


def layered(config: Config, tables: Tables) -> tuple[Config, list[Slip]]:
    """Lay the tables over `config`; also what of them could not be taken."""
    slips: list[Slip] = []
    for name, table, text in tables:
        for section, value in (table or {}).items():
            if section in _SECTIONS:
                config = _take(config, (section,), value, (name, text), slips)
            else:
                slips.extend(_no_section(section, value, (name, text)))
    return config, slips


def _take(config: Config, keys: tuple[str, ...], value: Any, source: SettingsFile, slips: list[Slip]) -> Config:
    """Lay one setting over `config`; tables are taken apart, so that one bad key spoils only itself."""
    if isinstance(value, dict):
        for key, inner in value.items():
            config = _take(config, (*keys, key), inner, source, slips)
        return config
    try:
        return msgspec.convert(_with(config, keys, value), Config)
    except msgspec.ValidationError as error:
        slips.append(_slip(keys, config_errors.of_value(error, Config, keys, value), source))
        return config


def _with(config: Config, keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Give `config` as tables, with one setting in its place: also where a table has no business to be."""
    whole: dict[str, Any] = msgspec.to_builtins(config)
    table = whole
    for key in keys[:-1]:
        if not isinstance(table.get(key), dict):
            table[key] = {}
        table = table[key]
    table[keys[-1]] = value
    return whole


def _slip(keys: tuple[str, ...], what: str, source: SettingsFile) -> Slip:
    """Make the slip of a setting in a section that there is."""
    unknown = not config_errors.is_known(Config, keys)
    if unknown:
        what = f"there is no such setting{config_errors.instead(Config, keys)}"
    return Slip(keys, unknown, protective_keys.closes(keys), _where(keys, source), f"{_dotted(keys)}: {what}")


def _no_section(section: str, value: Any, source: SettingsFile) -> list[Slip]:
    """Make the slips of a section that there is not: one for each of its keys."""
    meant = meant_by(section, value)
    inside: list[tuple[str, ...]] = [(section, key) for key in value] if isinstance(value, dict) else []
    return [
        Slip(
            keys,
            unknown=True,
            policy=_held_back(meant, keys),
            where=_where(keys, source),
            what=f"{_dotted(keys)}: there is no section [{one_line(section, 64)}]; {_instead(keys, meant)}",
        )
        for keys in inside or [(section,)]
    ]


def _held_back(meant: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """The sections that a setting in an unknown one may have been meant for: all of them where nobody knows."""
    if not meant:
        return protective_keys.CLOSABLE
    found = {name for section in meant for name in protective_keys.closes((section, *keys[1:]))}
    return tuple(name for name in protective_keys.CLOSABLE if name in found)


def meant_by(section: str, value: Any) -> tuple[str, ...]:
    """The sections that an unknown one may stand for: by its name, else by what is in it. Empty: nobody knows."""
    if near := config_errors.close(section, _SECTIONS, _NEAR):
        return (near,)
    inside = {key.casefold() for key in value} if isinstance(value, dict) else {section.casefold()}
    return tuple(known for known in _SECTIONS if inside & {*config_errors.fields(Config, (known,))})


def _instead(keys: tuple[str, ...], meant: tuple[str, ...]) -> str:
    """What to write in the place of a setting in an unknown section."""
    if not meant:
        return f"take it out, or put it under one of {', '.join(_SECTIONS)}"
    return f"did you mean {' or '.join(_nearest(section, keys[-1]) for section in meant)}?"


def _nearest(section: str, key: str) -> str:
    """Return the section with the setting in it that is spelt like `key`; without one, the section alone."""
    near = config_errors.close(key, config_errors.fields(Config, (section,)))
    return f"{section}.{near}" if near else section


def _dotted(keys: tuple[str, ...]) -> str:
    return ".".join(one_line(key, 64) for key in keys)


def _where(keys: tuple[str, ...], source: SettingsFile) -> str:
    name, text = source
    return f"{name}:{_line(text, keys)}"


def _line(text: str, keys: tuple[str, ...]) -> int:
    """The line of a setting: its name below the header of its table, or of the table that holds it inline."""
    for depth in range(len(keys) - 1, 0, -1):
        header = re.search(rf"^[ \t]*\[[ \t]*{re.escape('.'.join(keys[:depth]))}[ \t]*\]", text, re.MULTILINE)
        if header:
            below = text[header.end() :]
            return text[: header.end()].count("\n") + frontmatter.line_of(below, keys[depth])
    return frontmatter.line_of(text, keys[-1])
