"""lumen.toml (the operator's own, never rewritten) with operator.toml (what menus changed) layered over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from lumen_tui.model.config import Config
from lumen_tui.model.modelsconfig import ModelsConfig, doubtful, settings, stranger
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files, frontmatter, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import fail_closed, last_good, write_grants
from lumen_tui.store.settings.layering import layered
from lumen_tui.store.settings.protective_keys import CLOSABLE


def load_config(layout: Layout) -> tuple[Config, list[Problem]]:
    """What is in force, and what in the two files could not be taken, named by file and line.

    A broken file or setting never stops the rest, and never opens what it had closed.
    """
    loaded = _load(layout)
    return loaded.config, _all_problems(layout, loaded)


def load_and_keep(layout: Layout) -> tuple[Config, list[Problem]]:
    """As `load_config`; what protects is kept for the time when it cannot be read. For the engine alone."""
    last_good.keep(layout)
    loaded = _load(layout)
    if loaded.whole:
        last_good.keep_limits(layout, loaded.config)
    return loaded.config, _all_problems(layout, loaded)


def _all_problems(layout: Layout, loaded: _Loaded) -> list[Problem]:
    refused = write_grants.refused(layout, loaded.config.sandbox.writable, "lumen.toml")
    return [*loaded.problems, *refused, *strangers(loaded.config.models), *unknown_roles(layout, loaded.config)]


class _Loaded(NamedTuple):
    """The settings in force and how they came to be."""

    config: Config
    problems: list[Problem]
    whole: bool  # every limit in both files could be read


def _load(layout: Layout) -> _Loaded:
    broken: list[Problem] = []
    paths = (layout.config, layout.operator)
    tables = [(path.name, *_table(layout, path, broken)) for path in paths]
    config, slips = layered(Config(), tables)
    kept = None
    if wrong := {section for slip in slips for section in slip.policy}:
        kept = last_good.limits(layout)
        config, slips = layered(last_good.beneath(kept, wrong), tables)
    known = kept is not None
    shut = CLOSABLE if any(table is None for _, table, _ in tables) else fail_closed.shut(slips, known=known)
    problems = [*broken, *(fail_closed.problem(slip, known=known) for slip in slips)]
    return _Loaded(fail_closed.closed(config, shut), problems, whole=not broken and not wrong)


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
    kept = last_good.protecting(layout, path)
    problems.append(Problem(where=where, what=what, hint=fail_closed.STRICT if kept is None else fail_closed.KEPT))
    return (None, "") if kept is None else kept


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

    from lumen_tui.storage.shipped import shipped

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
            _set(table, dotted.split("."), value)
        if table:
            files.replace(layout.operator, tomli_w.dumps(table).encode())
        else:
            directories.remove(layout.operator)


def _set(table: dict[str, Any], names: list[str], value: Any) -> None:
    """Set the value below these names; None takes it out, and what is empty then."""
    first, *rest = names
    if rest:
        inner = table.setdefault(first, {})
        _set(inner, rest, value)
        if not inner:
            del table[first]
    elif value is None:
        table.pop(first, None)
    else:
        table[first] = value
