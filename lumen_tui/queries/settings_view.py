"""The settings in force as a person sees them: the value of each, which file says so, and what the seed says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct, inspect

from lumen_tui.model import renamed
from lumen_tui.model.config import Config
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.layering import RejectedSetting, layered, line_of_setting

DEFAULT = "default"
SWITCH, NUMBER, TEXT, CHOICE, TABLE = "switch", "number", "text", "choice", "table"
_SET = lazy_re(r"(?:# )?([a-z_]+) = (.*)$")
_SEED_LINE = lazy_re(r"# ([a-z_]+) = .*? # (.+)$")
_SEED_HEADER = lazy_re(r"\[([a-z_.]+)\]$")
_Value: TypeAlias = object


class Setting(Struct, frozen=True):
    """One setting. `value` and `default` are as a person writes them; texts are safe."""

    key: str  # dotted
    kind: str
    value: str
    default: str
    source: str = DEFAULT  # the file that says so
    line: int = 0  # in that file; of a default its line in lumen.toml, 0 where it has none
    below: str = ""  # what lumen.toml says where operator.toml says something else
    comment: str = ""  # of the seed
    problem: str = ""  # why what a file says is not in force
    choices: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        """The table that it stands in."""
        return self.key.rpartition(".")[0]

    @property
    def changed(self) -> bool:
        """Whether a file says something of it."""
        return self.source != DEFAULT or bool(self.problem)


class _File(Struct, frozen=True):
    name: str
    table: dict[str, object] | None  # None where it cannot be read
    text: str

    def says(self, keys: Sequence[str]) -> _Value:
        """Return the value that the file gives a setting; UNSET where it gives none."""
        value: object = self.table
        for key in keys:
            if not isinstance(value, dict) or key not in value:
                return msgspec.UNSET
            value = value[key]
        return value


def read_settings(layout: Layout) -> Sequence[Setting]:
    """Return every setting in the order of the configuration."""
    config, problems = load_config(layout)
    read = [_read(layout, layout.config.name), _read(layout, layout.operator.name)]
    rejected = layered(Config(), [(file.name, file.table, file.text) for file in read])[1]
    unread = {problem.where.partition(":")[0]: problem.what for problem in problems}
    comments = seed_comments()
    return [
        _setting(keys, kind, config, read, rejected, unread, comments)
        for keys, kind in _leaves(inspect.type_info(Config))
    ]


def _read(layout: Layout, name: str) -> _File:
    try:
        text = (files.read(layout.root / name) or b"").decode()
        return _File(name, renamed.in_table(frontmatter.parse_toml(text)), text)
    except (BadFile, UnicodeDecodeError, files.StoreError, OSError):
        return _File(name, None, "")


def _leaves(kind: inspect.Type, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], inspect.Type]]:
    """Yield the names and the type of each setting; a table of names that the operator chooses is one."""
    if not isinstance(kind, inspect.StructType):
        yield keys, kind
        return
    for field in kind.fields:
        yield from _leaves(field.type, (*keys, field.name))


def _setting(
    keys: tuple[str, ...],
    kind: inspect.Type,
    config: Config,
    read: Sequence[_File],
    rejected: Sequence[RejectedSetting],
    unread: dict[str, str],
    comments: dict[str, str],
) -> Setting:
    seed, operator = read
    key = ".".join(keys)
    refused = [rejection for rejection in rejected if rejection.keys[: len(keys)] == keys]
    declaring = [file for file in read if file.says(keys) is not msgspec.UNSET]
    source = declaring[-1] if declaring else None
    value = _at(config, keys)
    problem = "; ".join(rejection.what for rejection in refused) or _closed(source, keys, value, unread)
    below = seed.says(keys) if source is operator else msgspec.UNSET
    return Setting(
        key=key,
        kind=_kind(kind),
        value=one_line(toml_words(value), 2000),
        default=one_line(toml_words(_at(Config(), keys)), 2000),
        source=source.name if source else DEFAULT,
        line=line_of_setting(source.text, keys) if source else commented_line(seed.text, keys),
        below=one_line(toml_words(below), 200) if below is not msgspec.UNSET else "",
        comment=comments.get(key, ""),
        problem=one_line(problem, 400),
        choices=_choices(kind),
    )


def _closed(source: _File | None, keys: Sequence[str], value: _Value, unread: dict[str, str]) -> str:
    """Return why a value is not what the files say: one cannot be read, or a restricting section is closed."""
    if source is None:
        held = value != _at(Config(), keys)
        return f"{', '.join(unread)} cannot be read: {next(iter(unread.values()))}" if held and unread else ""
    given = source.says(keys)
    if isinstance(given, dict) or toml_words(given) == toml_words(value):
        return ""
    if isinstance(given, (int, float)) and isinstance(value, (int, float)) and given == value:
        return ""
    return "something near it cannot be read: it stays closed until that is mended"


def _at(config: Config, keys: Sequence[str]) -> _Value:
    value: object = config
    for key in keys:
        value = getattr(value, key)
    return msgspec.to_builtins(value)


def toml_words(value: _Value) -> str:
    """Return a value as a person reads it."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _kind(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.LiteralType):
        return CHOICE
    if isinstance(kind, inspect.BoolType):
        return SWITCH
    if isinstance(kind, (inspect.IntType, inspect.FloatType)):
        return NUMBER
    return TEXT if isinstance(kind, inspect.StrType) else TABLE


def _choices(kind: inspect.Type) -> tuple[str, ...]:
    return tuple(str(value) for value in kind.values) if isinstance(kind, inspect.LiteralType) else ()


def typed_value(kind: str, text: str) -> object:
    """Return what was typed as the value of a setting. ValueError where it is no number."""
    if kind != NUMBER:
        return text
    number = float(text)
    return int(number) if number.is_integer() and "." not in text else number


def seed_comments() -> dict[str, str]:
    """Return what the seed of lumen.toml says of each setting, by its dotted name."""
    section, comments = "", {}
    for line in (shipped("state") / "lumen.toml").read_text(encoding="utf-8").splitlines():
        if header := _SEED_HEADER.match(line):
            section = f"{header[1]}."
        elif (match := _SEED_LINE.match(line)) is not None:
            comments[f"{section}{match[1]}"] = match[2].strip()
    return comments


def commented_line(text: str, keys: Sequence[str]) -> int:
    """Return the line on which a setting stands with its default, taken out; 0 where it does not stand there."""
    wanted, section = ".".join(keys[:-1]), ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _SEED_HEADER.match(line.strip()):
            section = header[1]
        elif section == wanted and (match := _SET.match(line)) is not None and match[1] == keys[-1]:
            return number
    return 0
