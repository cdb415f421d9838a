"""Names that tools and their arguments had in version 0.2. The release after the next one knows them no more.

A call with one of them is answered with the new name and not carried out. What a person wrote (roles, settings,
constraints) goes on working, and `doctor` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lumen_tui.model.patterns import lazy_re

TOOLS = {
    "find": "glob",
    "block_append": "memory_insert",
    "block_replace": "memory_replace",
    "block_rethink": "memory_rethink",
}
# By the tool's present name: its arguments then and now; where there is none any more, what holds instead.
ARGUMENTS = {
    "read_file": {"first_line": "offset", "lines": "limit"},
    "glob": {"name": "pattern"},
    "grep": {"name": "glob"},
    "disk_usage": {"name": "glob"},
    "write_file": {"text": "content"},
    "edit_file": {"old": "old_string", "new": "new_string"},
    "memory_insert": {"block": "label", "text": "new_string"},
    "memory_replace": {"block": "label", "old": "old_string", "new": "new_string"},
    "memory_rethink": {"block": "label", "text": "new_memory"},
    "shell": {"seconds": "timeout"},
    "shell_start": {"seconds": "timeout"},
    "shell_output": {"seconds": "timeout"},
    "web_fetch": {"seconds": "timeout"},
}
GONE = {"grep": {"regex": "pattern is always a regular expression; a backslash takes . * ( and their like literally"}}
_KEYS = ("tool", "tools", "then", "ask")  # of tables in files, that name tools


def tool(name: str) -> str:
    """Return the present name of a tool."""
    return TOOLS.get(name, name)


def changed_arguments(name: str, given: Mapping[str, object]) -> str:
    """Return what became of the arguments that the tool no longer has; empty where there are none of them."""
    known, gone = ARGUMENTS.get(name, {}), GONE.get(name, {})
    sentences = [f"{old} is called {known[old]} now" for old in given if old in known]
    return "; ".join(sentences + [f"{old} is gone: {gone[old]}" for old in given if old in gone])


def in_table(table: dict[str, object]) -> dict[str, object]:
    """Return a table of a role or of settings with the present names of tools."""
    return {key: _renamed(key, value) for key, value in table.items()}


def _renamed(key: str, value: object) -> object:
    if isinstance(value, dict):
        return in_table(value)
    if isinstance(value, list):
        return [_renamed(key, item) for item in value]
    return tool(value) if isinstance(value, str) and key in _KEYS else value


_QUOTED = lazy_re(rf"""(["'])({"|".join(TOOLS)})\1""")


def in_toml(text: str) -> str:
    """Return the text of TOML with each quoted name of a tool as it is now, comments and order as they were.

    In a text that names a tool for another purpose, too, this changes too much: compare with `in_table`.
    """
    return _QUOTED.sub(lambda match: f"{match[1]}{TOOLS[match[2]]}{match[1]}", text)


def named_in(table: Mapping[str, object]) -> Iterator[str]:
    """Yield the tools in a table of a role or of settings that have another name by now."""
    for key, value in table.items():
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict):
                yield from named_in(item)
            elif key in _KEYS and isinstance(item, str) and item in TOOLS:
                yield item
