"""Role profiles on disk: shipped ones in the package, overridden by hired ones in the state folder; custom tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from lumen_tui.model import acceptance, agent, ids, renamed, times
from lumen_tui.model.hosts import pattern_fault
from lumen_tui.model.problem import Problem
from lumen_tui.model.roles import ALL_TOOLS, CustomTool, PythonTool, Role, ToolRule, rule_fault, unusable
from lumen_tui.model.tasks import TIERS
from lumen_tui.model.toolservers import grant_fault, grants, parts_of
from lumen_tui.storage import directories, files, frontmatter
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import read_shipped, shipped
from lumen_tui.store.settings import config_errors, toolservers
from lumen_tui.store.settings.grants import refused_grants


def check_rules(rules: Sequence[ToolRule], tools: Iterable[str], text: str) -> None:
    """Raise BadFile for the first invalid rule, so that whatever carries it cannot be used."""
    known = tuple(tools)
    for number, rule in enumerate(rules):
        field, reason = rule_fault(rule, known)
        if reason:
            raise BadFile(f"rules: {reason}", rule_line(text, number, field))


def rule_line(text: str, number: int, field: str) -> int:
    """Return the line of a field of the rule with that number (from 0), or of its header where it has no such field."""
    headers = list(re.finditer(r"^[ \t]*\[\[[ \t]*rules[ \t]*\]\]", text, re.MULTILINE))
    if number >= len(headers):
        return frontmatter.line_of(text, "rules")
    begin = headers[number].end()
    end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
    match = re.search(rf"^[ \t]*{re.escape(field)}[ \t]*=", text[begin:end], re.MULTILINE) if field else None
    return text[: begin + match.start() if match else begin].count("\n") + 1


def error_line(error: Exception, text: str) -> int:
    """Return the line of what could not be read within a rule; 0 where the error is about something else."""
    match = re.search(r"at `\$\.rules\[(\d+)\](?:\.(\w+))?", str(error))
    if not match:
        return 0
    unknown = re.search(r"field `([^`]*)`", str(error))
    return rule_line(text, int(match.group(1)), match.group(2) or (unknown.group(1) if unknown else ""))


def parse_role(name: str, text: str, source: str) -> Role:
    """Return the role in `text`. BadFile says what is wrong and on which line."""
    table, prompt = frontmatter.split(text)
    fields = renamed.in_table({"purpose": "", **table})
    try:
        role = msgspec.convert({**fields, "name": name, "prompt": prompt, "source": source}, Role)
    except msgspec.ValidationError as error:
        line = error_line(error, text) or frontmatter.line_of(text, config_errors.place(error))
        raise BadFile(config_errors.in_words(error, Role, fields), line) from error
    _check(role, text)
    return role


def parse_hire(name: str, text: str) -> Role:
    """Return the role in a text that is to be hired. BadFile also where it could not use what it would be given."""
    role = parse_role(name, text, "hired")
    field, reason = unusable(role)
    if reason:
        raise BadFile(reason, frontmatter.line_of(text, field))
    return role


def _check(role: Role, text: str) -> None:
    if role.tier not in TIERS:
        raise BadFile(f"tier {role.tier!r} is unknown: one of {', '.join(TIERS)}", frontmatter.line_of(text, "tier"))
    if unknown := [tool for tool in role.tools if tool not in ALL_TOOLS]:
        line = frontmatter.line_of(text, "tools")
        raise BadFile(f"tool {unknown[0]!r} is unknown: of {', '.join(ALL_TOOLS)}", line)
    if role.shell not in ("none", "read", "any"):
        raise BadFile(f"shell {role.shell!r} is unknown: none, read or any", frontmatter.line_of(text, "shell"))
    if fault := next((f"{name!r} is {reason}" for name in role.command_hosts if (reason := pattern_fault(name))), ""):
        raise BadFile(f"command_hosts: {fault}", frontmatter.line_of(text, "command_hosts"))
    try:
        acceptance.checked(role.accept)
    except acceptance.BadCheck as error:
        raise BadFile(f"accept: {error}", frontmatter.line_of(text, "accept")) from error
    if role.until and not times.epoch(role.until):
        message = f"until {role.until!r} is no time: write it as 2026-03-08T12:00:00Z"
        raise BadFile(message, frontmatter.line_of(text, "until"))
    if fault := next(filter(None, map(grant_fault, role.mcp)), ""):
        raise BadFile(f"mcp: {fault}", frontmatter.line_of(text, "mcp"))
    own = agent.TOOLS if role.name == agent.ROLE else ()
    servers = grants(role.mcp)  # which tools they have is looked up when a task begins
    theirs = [rule.tool for rule in role.rules if parts_of(rule.tool)[0] in servers and parts_of(rule.tool)[1]]
    theirs += [tool for rule in role.rules for tool in rule.then if parts_of(tool)[0] in servers and parts_of(tool)[1]]
    check_rules(role.rules, (*ALL_TOOLS, *own, *role.custom_tools, *theirs), text)


def render_role(role: Role) -> str:
    """Return the text of a role's file."""
    fields: dict[str, object] = msgspec.to_builtins(role)
    for dropped in ("name", "prompt", "source"):
        fields.pop(dropped, None)
    return frontmatter.join(fields, role.prompt)


def read_role_file(path: Path, source: str) -> Role:
    """Read a role file. BadFile where a person must fix it, FileNotFoundError where it is missing."""
    data = _read(path, source)
    if data is None:
        raise FileNotFoundError(path)
    try:
        return parse_role(ids.check_name(path.stem, "role"), data.decode(), source)
    except UnicodeDecodeError as error:
        raise BadFile("the file is not UTF-8", data[: error.start].count(b"\n") + 1) from error
    except ids.BadId as error:
        raise BadFile(str(error)) from error


def _read(path: Path, source: str) -> bytes | None:
    return read_shipped(path) if source == "shipped" else files.read(path)


def load_role(layout: Layout, name: str) -> Role:
    """Return the role in force under `name`: the hired one, else the shipped one. FileNotFoundError, BadFile."""
    try:
        return read_role_file(layout.role(name), "hired")
    except FileNotFoundError:
        if layout.retired_role(name).exists():
            raise
        return read_role_file(shipped("roles") / f"{name}.md", "shipped")


def is_in_force(layout: Layout, name: str) -> bool:
    """Return whether a role of this name is in force: one file is read where `list_roles` reads all."""
    try:
        load_role(layout, ids.check_name(name, "role"))
    except (ids.BadId, BadFile, files.StoreError, OSError):
        return False
    return True


def role_files(layout: Layout) -> list[Path]:
    """Return the files and folders by whose state `list_roles` may answer anew."""
    hired = sorted(layout.roles.glob("*.md"))
    return [shipped("roles"), layout.roles, layout.retired_roles, *hired]


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
            problems += refused_grants(layout, role.writable if role.changes_files else (), f"roles/{path.name}")
            problems += _left_out(role, path)
        except BadFile as error:
            where = f"roles/{path.name}" + (f":{error.line}" if error.line else "")
            problems.append(Problem(where=where, what=str(error), hint="fix the file; the role is not in force"))
        except (files.StoreError, OSError) as error:
            problems.append(Problem(where=f"roles/{path.name}", what=str(error)))
    return sorted(roles, key=lambda role: role.name), [name for name in retired if name not in files_by_name], problems


def _left_out(role: Role, path: Path) -> list[Problem]:
    """Return what a role in force has and cannot use: earlier versions hired such roles, too."""
    field, reason = unusable(role)
    if not reason:
        return []
    line = frontmatter.line_of((_read(path, role.source) or b"").decode(errors="replace"), field)
    return [Problem(where=f"roles/{path.name}:{line}", what=reason, hint="until then its tasks go without that")]


RoleTexts = dict[str, str | None]  # "hired" and "retired" -> the file's text, None where there is none
_MARK = "# retired "


def role_paths(layout: Layout, name: str) -> dict[str, Path]:
    """Return the paths of the two files of a role."""
    return {"hired": layout.role(name), "retired": layout.retired_role(name)}


def role_texts(layout: Layout, name: str) -> RoleTexts:
    """Return the current texts of both files."""
    by_kind: RoleTexts = {}
    for kind, path in role_paths(layout, name).items():
        data = files.read(path)
        by_kind[kind] = None if data is None else data.decode(errors="replace")
    return by_kind


def put_role_texts(layout: Layout, name: str, new_texts: RoleTexts) -> None:
    """Give both files new texts, durably; writing comes before removing."""
    present = role_texts(layout, name)
    both = role_paths(layout, name)
    for kind, path in both.items():
        text = new_texts[kind]
        if text is not None and text != present[kind]:
            files.replace(path, text.encode())
    for kind, path in both.items():
        if new_texts[kind] is None and present[kind] is not None:
            directories.remove(path)


def shipped_text(name: str) -> str | None:
    """Return the text of a shipped role; None where there is none."""
    data = read_shipped(shipped("roles") / f"{ids.check_name(name, 'role')}.md")
    return None if data is None else data.decode(errors="replace")


def mark_retired(text: str, note: str) -> str:
    """Return the role file with a comment in its front matter that says why it was retired."""
    first, newline, body = text.partition("\n")
    return f"{first}{newline}{_MARK}{note}\n{body}"


def unmark_retired(text: str) -> str:
    """Return the role file without such comments."""
    return "".join([line for line in text.splitlines(keepends=True) if not line.startswith(_MARK)])


def load_custom_tool(layout: Layout, name: str) -> CustomTool:
    """Read one tool. BadFile names the line; it is raised for a missing tool as well, and one not accepted."""
    if paths := python_files(layout):
        from lumen_tui.store.settings import pythontools  # with ast, which few need

        if (own := pythontools.find(paths, name)) is not None:
            return accepted_tool(layout, own)
    path = layout.custom_tool(name)
    data = files.read(path)
    if data is None:
        raise BadFile(f"there is no custom-tools/{name}.toml")
    if renamed.tool(name) in ALL_TOOLS:
        raise BadFile(f"{name!r} is the name of a built-in tool: give the file another", 1)
    try:
        return _parse(name, data.decode())
    except UnicodeDecodeError as error:
        raise BadFile("the file is not UTF-8", data[: error.start].count(b"\n") + 1) from error


def python_files(layout: Layout) -> list[Path]:
    """Return the files that may declare Python tools."""
    return sorted(path for path in layout.custom_tools.glob("*.py") if not path.name.startswith((".", "_")))


def accepted_tool(layout: Layout, tool: PythonTool) -> PythonTool:
    """Return a Python tool whose file a person accepted as it is."""
    acceptance = toolservers.accepted(layout).tools.get(tool.name)
    if acceptance is None or acceptance.hash != tool.hash:
        state = "was changed since it was accepted" if acceptance else "was not accepted yet"
        raise BadFile(f"custom-tools/{tool.file} {state}: read it, then `lumen-tui tool accept {tool.name}`")
    if layout.custom_tools.joinpath(f"{tool.name}.toml").exists():
        raise BadFile(f"{tool.name} is declared twice: in {tool.file} and in {tool.name}.toml")
    return tool


def _parse(name: str, text: str) -> CustomTool:
    table = _whole(frontmatter.parse_toml(text), name)
    try:
        tool = msgspec.convert({**table, "name": name}, CustomTool)
    except msgspec.ValidationError as error:
        line = error_line(error, text) or frontmatter.line_of(text, config_errors.place(error))
        raise BadFile(config_errors.in_words(error, CustomTool, table), line) from error
    check_rules(tool.rules, (name,), text)
    if strange := [part for part in tool.command if not part or "\0" in part]:
        raise BadFile(f"command: {strange[0]!r} is no argument", frontmatter.line_of(text, "command"))
    return tool


def _whole(table: dict[str, object], name: str) -> dict[str, object]:
    """Return the table, with the tool itself as the tool of every rule that names none."""
    rules = table.get("rules")
    if not isinstance(rules, list):
        return table
    return {**table, "rules": [{"tool": name, **rule} if isinstance(rule, dict) else rule for rule in rules]}


def list_custom_tools(layout: Layout) -> tuple[list[CustomTool], list[Problem]]:
    """Return the usable tools, and the problems of the others."""
    tools = []
    problems = []
    for path in sorted(layout.custom_tools.glob("*.toml")):
        try:
            tools.append(load_custom_tool(layout, ids.check_name(path.stem, "tool")))
        except (BadFile, ids.BadId, files.StoreError, OSError) as error:
            line = getattr(error, "line", 0)
            where = f"custom-tools/{path.name}" + (f":{line}" if line else "")
            problems.append(Problem(where=where, what=str(error), hint="fix the file; the tool cannot be used"))
    for path in python_files(layout):
        from lumen_tui.store.settings import pythontools

        try:
            tools += [accepted_tool(layout, tool) for tool in pythontools.tools_in(path.name, files.read(path) or b"")]
        except (BadFile, files.StoreError, OSError) as error:
            where = f"custom-tools/{path.name}" + (f":{line}" if (line := getattr(error, "line", 0)) else "")
            problems.append(Problem(where=where, what=str(error), hint="no task of a role that names it can begin"))
    return tools, problems
