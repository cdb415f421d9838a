"""Role profiles on disk: shipped ones in the package, overridden by hired ones in the state folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model import agent, ids, times
from lumen_tui.model.roles import ALL_TOOLS, Role
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.tasks import TIERS
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.settings import config_errors, rule_lines, write_grants


def parse_role(name: str, text: str, source: str) -> Role:
    """Return the role in `text`. BadFile says what is wrong and on which line."""
    fields, prompt = frontmatter.split(text)
    fields.setdefault("purpose", "")
    try:
        role = msgspec.convert({**fields, "name": name, "prompt": prompt, "source": source}, Role)
    except msgspec.ValidationError as error:
        line = rule_lines.place(error, text) or frontmatter.line_of(text, config_errors.place(error))
        raise BadFile(config_errors.in_words(error, Role, fields), line) from error
    _check(role, text)
    return role


def _check(role: Role, text: str) -> None:
    if role.tier not in TIERS:
        raise BadFile(f"tier {role.tier!r} is unknown: one of {', '.join(TIERS)}", frontmatter.line_of(text, "tier"))
    if unknown := [tool for tool in role.tools if tool not in ALL_TOOLS]:
        line = frontmatter.line_of(text, "tools")
        raise BadFile(f"tool {unknown[0]!r} is unknown: of {', '.join(ALL_TOOLS)}", line)
    if role.shell not in ("none", "read", "any"):
        raise BadFile(f"shell {role.shell!r} is unknown: none, read or any", frontmatter.line_of(text, "shell"))
    if role.until and not times.epoch(role.until):
        message = f"until {role.until!r} is no time: write it as 2026-03-08T12:00:00Z"
        raise BadFile(message, frontmatter.line_of(text, "until"))
    own = agent.TOOLS if role.name == agent.ROLE else ()
    rule_lines.check(role.rules, (*ALL_TOOLS, *own, *role.custom_tools), text)


def render_role(role: Role) -> str:
    """Return the text of a role's file."""
    fields: dict[str, Any] = msgspec.to_builtins(role)
    for dropped in ("name", "prompt", "source"):
        fields.pop(dropped, None)
    return frontmatter.join(fields, role.prompt)


def read_role_file(path: Path, source: str) -> Role:
    """Read a role file. BadFile where a person must fix it, FileNotFoundError where it is missing."""
    data = files.read(path)
    if data is None:
        raise FileNotFoundError(path)
    try:
        return parse_role(ids.check_name(path.stem, "role"), data.decode(), source)
    except UnicodeDecodeError as error:
        raise BadFile("the file is not UTF-8", data[: error.start].count(b"\n") + 1) from error
    except ids.BadId as error:
        raise BadFile(str(error)) from error


def load_role(layout: Layout, name: str) -> Role:
    """Return the role in force under `name`: the hired one, else the shipped one. FileNotFoundError, BadFile."""
    try:
        return read_role_file(layout.role(name), "hired")
    except FileNotFoundError:
        if layout.retired_role(name).exists():
            raise
        return read_role_file(shipped("roles") / f"{name}.md", "shipped")


def list_roles(layout: Layout) -> tuple[list[Role], list[str], list[Problem]]:
    """Return the roles in force, the names of the retired ones, and the problems of unreadable files."""
    retired = sorted(path.stem for path in layout.retired_roles.glob("*.md"))
    files_by_name: dict[str, tuple[Path, str]] = {}
    for path in sorted(shipped("roles").glob("*.md")):
        if path.stem not in retired:
            files_by_name[path.stem] = (path, "shipped")
    for path in sorted(layout.roles.glob("*.md")):
        files_by_name[path.stem] = (path, "hired")
    roles = []
    problems = []
    for path, source in files_by_name.values():
        try:
            roles.append(role := read_role_file(path, source))
            problems += write_grants.refused(layout, role.writable if role.write else (), f"roles/{path.name}")
        except BadFile as error:
            where = f"roles/{path.name}" + (f":{error.line}" if error.line else "")
            problems.append(Problem(where=where, what=str(error), hint="fix the file; the role is not in force"))
        except (files.StoreError, OSError) as error:
            problems.append(Problem(where=f"roles/{path.name}", what=str(error)))
    return sorted(roles, key=lambda role: role.name), [name for name in retired if name not in files_by_name], problems
