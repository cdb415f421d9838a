"""Reading of lumen.toml and operator.toml: their tables, what of them holds, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from lumen_tui.model import renamed
from lumen_tui.model.config import Config, ModelsConfig, doubtful, settings, stranger
from lumen_tui.model.problem import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import fail_closed
from lumen_tui.store.settings.grants import refused_grants
from lumen_tui.store.settings.layering import CLOSABLE, TomlTable, layered


def load(layout: Layout) -> tuple[Config, list[Problem]]:
    """Return the settings in force, and the problems of the two files, named by file and line."""
    loaded = _load(layout)
    return loaded.config, _all_problems(layout, loaded)


def load_and_keep(layout: Layout) -> tuple[Config, list[Problem]]:
    """Do as `load`, and save the protective settings for when they cannot be read. For the engine alone."""
    fail_closed.keep(layout)
    loaded = _load(layout)
    if loaded.whole:
        fail_closed.keep_limits(layout, loaded.config)
    return loaded.config, _all_problems(layout, loaded)


def _all_problems(layout: Layout, loaded: _Loaded) -> list[Problem]:
    grants = refused_grants(layout, loaded.config.sandbox.writable, "lumen.toml")
    return [*loaded.problems, *grants, *model_problems(loaded.config.models), *unknown_roles(layout, loaded.config)]


class _Loaded(NamedTuple):
    """The settings in force and how they came to be."""

    config: Config
    problems: list[Problem]
    whole: bool  # every limit in both files could be read


def _load(layout: Layout) -> _Loaded:
    broken: list[Problem] = []
    paths = (layout.config, layout.operator)
    read = [(path.name, *_table(layout, path, broken)) for path in paths]
    tables = [(name, None if table is None else renamed.in_table(table), text) for name, table, text in read]
    config, rejected = layered(Config(), tables)
    last_limits = None
    if bad_sections := {section for setting in rejected for section in setting.policy}:
        last_limits = fail_closed.limits(layout)
        config, rejected = layered(fail_closed.beneath(last_limits, bad_sections), tables)
    limits_known = last_limits is not None
    if any(table is None for _, table, _ in tables):
        closed_sections = frozenset(CLOSABLE)
    else:
        closed_sections = fail_closed.closing_sections(rejected, known=limits_known)
    problems = [*broken, *(fail_closed.problem(setting, known=limits_known) for setting in rejected)]
    return _Loaded(fail_closed.closed(config, closed_sections), problems, whole=not broken and not bad_sections)


def _table(layout: Layout, path: Path, problems: list[Problem]) -> tuple[TomlTable | None, str]:
    """Return a file's settings and its text; of an unreadable file the last protective ones, or None where unknown."""
    try:
        text = (files.read(path) or b"").decode()
        return frontmatter.parse_toml(text), text
    except BadFile as error:
        where = f"{path.name}:{error.line}"
        reason = str(error)
    except UnicodeDecodeError as error:
        where = path.name
        reason = f"not UTF-8 at byte {error.start}"
    except (files.StoreError, OSError) as error:
        where = path.name
        reason = str(error)
    saved = fail_closed.protecting(layout, path)
    problems.append(Problem(where=where, what=reason, hint=fail_closed.STRICT if saved is None else fail_closed.KEPT))
    return (None, "") if saved is None else saved


def model_problems(models: ModelsConfig) -> list[Problem]:
    """Return problems for settings that name a model at an unknown endpoint, and for those that look like a mistake."""
    hint = "a task that needs this model fails until it is fixed"
    unknown = dict.fromkeys(reason for _, value in settings(models) if (reason := stranger(models, value)))
    doubts = dict.fromkeys(doubtful(models))
    return [
        *[Problem(where="lumen.toml", what=reason, hint=hint) for reason in unknown],
        *[Problem(where="lumen.toml", what=reason, hint="fix it, or remove it") for reason in doubts],
    ]


def unknown_roles(layout: Layout, config: Config) -> list[Problem]:
    """Return problems for roles that settings name and that do not exist. A fired one may be hired again."""
    named = [("models.roles", name) for name in config.models.roles]
    named += [("budget.roles", name) for name in config.budget.roles]
    if not named:
        return []
    import difflib  # only where roles are named: the hot verbs read settings too

    from lumen_tui.model.trials import SLEEP, TRIALS
    from lumen_tui.storage.shipped import shipped

    own = {("budget.roles", TRIALS), ("budget.roles", SLEEP)}
    named = [line for line in named if line not in own]
    known = sorted(
        {path.stem for folder in (shipped("roles"), layout.roles, layout.retired_roles) for path in folder.glob("*.md")}
    )
    problems = []
    for table, name in named:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 3, 0.5) or known
        message = f"{table}.{one_line(name, 64)}: there is no such role; did you mean {' or '.join(near)}?"
        problems.append(Problem(where="lumen.toml", what=message, hint="it counts for nobody until it is fixed"))
    return problems
