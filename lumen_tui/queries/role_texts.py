"""Roles as the texts that people edit: read, checked and written; nothing is stored."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.model import agent
from lumen_tui.model.roles import Role
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.settings.roles import parse_hire, read_role_file, render_role, role_texts, shipped_text


def hired_role(name: str, text: str) -> Role:
    """Parse the text of a role that a person hired. BadFile, a ValueError, where it is wrong."""
    return parse_hire(name, text)


def text_of(role: Role) -> str:
    """Return the text that gives this role."""
    return render_role(role)


def fault(name: str, text: str) -> str:
    """Return what is wrong with the text of a role, with its line; empty where it is in order."""
    try:
        parse_hire(name, text)
    except BadFile as error:
        return f"Line {error.line}: {error}" if error.line else str(error)
    return ""


def file_of(root: Path, role: Role) -> str:
    """Return the role's own file with its comments, else the role rendered. Reads the disk: call it from a thread."""
    try:
        hired = role_texts(Layout(root), role.name)["hired"]
        return hired or shipped_text(role.name) or render_role(role)
    except (files.StoreError, OSError):
        return render_role(role)


def templates() -> list[Role]:
    """Return the roles that ship, those that were retired or changed here too. Reads the disk, for a thread."""
    shipped_roles = []
    for path in sorted(shipped("roles").glob("*.md")):
        try:
            role = read_role_file(path, "shipped")
        except (BadFile, files.StoreError, OSError):
            continue
        if role.name != agent.ROLE:
            shipped_roles.append(role)
    return shipped_roles
