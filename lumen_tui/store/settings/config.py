"""lumen.toml (the operator's own, never rewritten) with operator.toml (what menus changed) layered over it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model.config import UNREADABLE, Config
from lumen_tui.model.modelsconfig import ModelsConfig, doubtful, settings, stranger
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.text import one_line
from lumen_tui.store import files, frontmatter, locks
from lumen_tui.store.frontmatter import BadFile
from lumen_tui.store.layout import Layout
from lumen_tui.store.settings import lastgood, plainly

_HINT = "the rest is in force, this falls back to its default"
_CLOSED = "no command of a worker is run until it is mended"
_FLOOR = ("sandbox: ", "sandbox.require")
_MISSPELLED = ("did you mean require?", "did you mean sandbox?")


def load_config(layout: Layout) -> tuple[Config, list[Problem]]:
    """What is in force, and what in the two files could not be taken, named by file and line.

    A broken file or setting never stops the rest, and never opens what it had closed.
    """
    config, problems = _load(layout)
    return config, [*problems, *strangers(config.models), *unknown_roles(layout, config)]


def load_and_keep(layout: Layout) -> tuple[Config, list[Problem]]:
    """As `load_config`; what protects is kept for the time when it cannot be read. For the engine alone."""
    lastgood.keep(layout)
    config, problems = load_config(layout)
    unread = any(problem.hint in (lastgood.KEPT, lastgood.STRICT) for problem in problems)
    if not unread and not lastgood.wrong_limits(problems):
        lastgood.keep_limits(layout, config)
    return config, problems


def _load(layout: Layout) -> tuple[Config, list[Problem]]:
    broken: list[Problem] = []
    paths = (layout.config, layout.operator)
    tables = [(path.name, *_table(layout, path, broken)) for path in paths]
    config, problems = _layered(Config(), tables)
    if wrong := lastgood.wrong_limits(problems):
        kept = lastgood.limits(layout)
        config, problems = _layered(lastgood.beneath(kept, wrong), tables)
        config = config if kept else lastgood.stopped(config, wrong)
        problems = [lastgood.hinted(problem, known=kept is not None) for problem in problems]
    if any(table is None for _, table, _ in tables):
        return lastgood.strictest(config), [*broken, *problems]
    return _closed(config, problems), [*broken, *problems]


def _layered(config: Config, tables: list[tuple[str, dict[str, Any] | None, str]]) -> tuple[Config, list[Problem]]:
    """The tables laid over `config`, each with the name and the text of its file, and what could not be taken."""
    problems: list[Problem] = []
    for name, table, text in tables:
        for section, value in (table or {}).items():
            config = _take(config, (section,), value, (name, text), problems)
    return config, problems


def _closed(config: Config, problems: list[Problem]) -> Config:
    """A floor of safety that cannot be read is not left out: no command is run until somebody has mended it."""
    unread = [
        number for number, problem in enumerate(problems)
        if problem.what.startswith(_FLOOR) or problem.what.endswith(_MISSPELLED)
    ]  # fmt: skip
    for number in unread:
        problems[number] = msgspec.structs.replace(problems[number], hint=_CLOSED)
    floor = UNREADABLE if unread else config.sandbox.require
    return msgspec.structs.replace(config, sandbox=msgspec.structs.replace(config.sandbox, require=floor))


def _table(layout: Layout, path: Path, problems: list[Problem]) -> tuple[dict[str, Any] | None, str]:
    """A file's settings and its text. Of a file that cannot be read, those that protect; None where nobody knows."""
    try:
        text = (files.read(path) or b"").decode()
        return frontmatter.parse_toml(text), text
    except BadFile as error:
        where, what = f"{path.name}:{error.line}", str(error)
    except UnicodeDecodeError as error:
        where, what = path.name, f"not UTF-8 at byte {error.start}"
    except (files.StoreError, OSError) as error:
        where, what = path.name, str(error)
    kept = lastgood.protecting(layout, path)
    problems.append(Problem(where=where, what=what, hint=lastgood.STRICT if kept is None else lastgood.KEPT))
    return (None, "") if kept is None else kept


def _take(
    config: Config, keys: tuple[str, ...], value: Any, source: tuple[str, str], problems: list[Problem]
) -> Config:
    """`config` with one setting laid over it; tables are taken apart, so that one bad key spoils only itself."""
    if isinstance(value, dict) and keys != ("keys",):
        for key, inner in value.items():
            config = _take(config, (*keys, key), inner, source, problems)
        return config
    merged: dict[str, Any] = msgspec.to_builtins(config)
    table = merged
    for key in keys[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            break
    else:
        table[keys[-1]] = value
    try:
        return msgspec.convert(merged, Config)
    except msgspec.ValidationError as error:
        name, text = source
        where = f"{name}:{_line(text, keys)}"
        what = plainly.of_value(error, Config, keys, value)
        problems.append(Problem(where=where, what=f"{'.'.join(keys)}: {what}", hint=_HINT))
        return config


def _line(text: str, keys: tuple[str, ...]) -> int:
    """The line of a setting: its name below the header of its table, or of the table that holds it inline."""
    for depth in range(len(keys) - 1, 0, -1):
        header = re.search(rf"^[ \t]*\[[ \t]*{re.escape('.'.join(keys[:depth]))}[ \t]*\]", text, re.MULTILINE)
        if header:
            below = text[header.end() :]
            return text[: header.end()].count("\n") + frontmatter.line_of(below, keys[depth])
    return frontmatter.line_of(text, keys[-1])


def strangers(models: ModelsConfig) -> list[Problem]:
    """The settings that name a model at an endpoint which nobody knows, and those that can hardly be meant."""
    hint = "a task that needs this model fails until it is mended"
    found = dict.fromkeys(why for _, value in settings(models) if (why := stranger(models, value)))
    doubts = dict.fromkeys(doubtful(models))
    return [
        *[Problem(where="lumen.toml", what=why, hint=hint) for why in found],
        *[Problem(where="lumen.toml", what=why, hint="mend it, or take it out") for why in doubts],
    ]


def unknown_roles(layout: Layout, config: Config) -> list[Problem]:
    """The roles that settings name and that there are not. One that was fired may be hired again."""
    named = [("models.roles", name) for name in config.models.roles]
    named += [("budget.roles", name) for name in config.budget.roles]
    if not named:
        return []
    import difflib  # only where roles are named: the hot verbs read settings too

    from lumen_tui.store.shipped import shipped

    known = sorted(
        {path.stem for folder in (shipped("roles"), layout.roles, layout.retired_roles) for path in folder.glob("*.md")}
    )
    found = []
    for table, name in named:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 3, 0.5) or known
        what = f"{table}.{one_line(name, 64)}: there is no such role; did you mean {' or '.join(near)}?"
        found.append(Problem(where="lumen.toml", what=what, hint="it counts for nobody until it is mended"))
    return found


def change_operator(layout: Layout, changes: dict[str, Any]) -> None:
    """Set dotted keys in operator.toml; a value of None takes the key out. BadFile where the file is broken."""
    import tomli_w

    with locks.waiting_lock(layout.lock("operator")):
        text = (files.read(layout.operator) or b"").decode()
        table = frontmatter.parse_toml(text)
        for dotted, value in changes.items():
            *parents, leaf = dotted.split(".")
            target = table
            for key in parents:
                target = target.setdefault(key, {})
            if value is None:
                target.pop(leaf, None)
            else:
                target[leaf] = value
        files.replace(layout.operator, tomli_w.dumps(table).encode())
