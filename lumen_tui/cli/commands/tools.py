"""`tool`: MCP servers and Python tools: what is configured, what they declare, what was accepted."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model.requests.tools import AcceptTool, WithdrawTool
from lumen_tui.model.text import one_line, safe

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.model.roles import PythonTool
    from lumen_tui.model.toolservers import ServerTools, ToolServer

_WIDEST = 60


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("tool", "Tools that are not ours: MCP servers and Python tools.", alone="list")
    listing = group.add("list", run_list, "What is configured, for which roles, and what was accepted.", "tool list")
    check = group.add("check", run_check, "Ask servers what they offer now; of all without a name.", "tool check git")
    check.add_argument("names", metavar="NAME", nargs="*", help="the servers [all]")
    show = group.add("show", run_show, "What a server declares, or a Python tool.", "tool show git")
    show.add_argument("name", metavar="NAME", help="the server, or the Python tool")
    show.add_argument("--accepted", action="store_true", help="of a server what was accepted, not what was seen last")
    for command in (listing, check, show):
        command.json()
    text = "Let workers have the tools of a server, or a Python tool, as they are now."
    group.verb("accept", AcceptTool, text, "tool accept git")
    group.verb("withdraw", WithdrawTool, "Take that back.", "tool withdraw git")


def run_list(session: Session, args: Namespace) -> int:
    from lumen_tui.store.settings.config import load_config

    session.must_exist()
    servers = load_config(session.layout)[0].mcp.servers
    rows = [_server_row(session, name, server) for name, server in servers.items()]
    rows += [_python_row(session, tool) for tool in _python_tools(session)]
    if args.json:
        document(rows)
        return 0 if rows else 3
    table([_line(row) for row in rows])
    if not rows:
        talk("nothing is configured: [mcp.servers] in lumen.toml, or a Python file in custom-tools/ (docs/tools.md)")
    return 0 if rows else 3


def _line(row: dict[str, object]) -> tuple[str, ...]:
    roles = row["roles"]
    named = ", ".join(roles) if isinstance(roles, list) and roles else "no role"
    return str(row["name"]), str(row["kind"]), str(row["state"]), named, one_line(str(row["where"]), _WIDEST)


def _server_row(session: Session, name: str, server: ToolServer) -> dict[str, object]:
    from lumen_tui.model import toolservers
    from lumen_tui.store.settings import toolservers as records

    accepted, seen = records.accepted_definitions(session.layout, name), records.seen(session.layout, name)
    count = len([tool for tool in accepted.tools if not tool.problem]) if accepted else 0
    state = f"accepted {accepted.hash}, {_tools(count)}" if accepted else "not accepted"
    if seen and (changed := toolservers.differences(accepted, seen)) and accepted:
        state += f"; differs now ({toolservers.in_words(changed)})"
    if fault := toolservers.server_fault(name, server):
        state = fault
    latest = seen or accepted
    return {
        "name": name, "kind": "mcp", "state": state, "roles": _roles(session, name), "protocol":
        latest.protocol if latest else "", "where": server.url or " ".join(server.command),
        "hash": accepted.hash if accepted else "", "seen": seen.hash if seen else "",
        "tools": sorted(accepted.named()) if accepted else [],
    }  # fmt: skip


def _tools(count: int) -> str:
    return f"{count} tool{'' if count == 1 else 's'}"


def _python_row(session: Session, tool: PythonTool) -> dict[str, object]:
    from lumen_tui.store.settings import toolservers as records

    held = records.accepted(session.layout).tools.get(tool.name)
    state = (
        "not accepted" if held is None else "accepted" if held.hash == tool.hash else "changed since it was accepted"
    )
    return {
        "name": tool.name, "kind": "python", "state": f"{state} {tool.hash}", "roles": _roles(session, tool.name),
        "where": f"custom-tools/{tool.file}", "hash": held.hash if held else "", "seen": tool.hash,
    }  # fmt: skip


def _roles(session: Session, name: str) -> list[str]:
    from lumen_tui.model.toolservers import grants
    from lumen_tui.store.settings.roles import list_roles

    return [role.name for role in list_roles(session.layout)[0] if name in (*grants(role.mcp), *role.custom_tools)]


def _python_tools(session: Session) -> list[PythonTool]:
    from lumen_tui.actions.toolservers import python_tools

    return python_tools(session.layout)


def run_check(session: Session, args: Namespace) -> int:
    from lumen_tui.actions import refusal
    from lumen_tui.store.settings.config import load_config

    session.must_exist()
    servers = load_config(session.layout)[0].mcp.servers
    names = args.names or list(servers)
    if unknown := [name for name in names if name not in servers]:
        near = refusal.nearest(unknown[0], servers)
        raise ActionError(f"there is no [mcp.servers.{one_line(unknown[0], 60)}]", candidates=near, missing=True)
    checked = [_checked(session, name, servers[name]) for name in names]
    if args.json:
        document(checked)
    else:
        for row in checked:
            say(f"{row['name']}: {row['said']}")
    if not checked:
        talk("no server is configured: [mcp.servers] in lumen.toml (docs/mcp.md)")
        return 3
    return 0 if all(row["reachable"] for row in checked) else 1


def _checked(session: Session, name: str, server: ToolServer) -> dict[str, object]:
    from lumen_tui.model import toolservers
    from lumen_tui.store.settings import toolservers as records
    from lumen_tui.tools.base import ToolError
    from lumen_tui.tools.mcp.inspection import inspect_server

    try:
        seen = inspect_server(
            session.store, name, server, now=session.now, environ=os.environ, note=lambda text: talk(safe(text))
        )
    except ToolError as error:
        return {"name": name, "reachable": False, "said": one_line(str(error), 600)}
    accepted = records.accepted_definitions(session.layout, name)
    changed = toolservers.differences(accepted, seen)
    state = f"not what was accepted ({toolservers.in_words(changed)})" if accepted else "not accepted yet"
    state = state if changed or not accepted else "accepted as they are"
    said = f"protocol {seen.protocol}, {_tools(len(seen.tools))}, hash {seen.hash}: {state}"
    return {"name": name, "reachable": True, "said": said, "protocol": seen.protocol, "hash": seen.hash,
            "tools": [tool.name for tool in seen.tools], "changed": changed}  # fmt: skip


def run_show(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.toolservers import kind_of
    from lumen_tui.store.settings import toolservers as records

    session.must_exist()
    if kind_of(session.layout, args.name) == "tools":
        return _show_python(session, args)
    read = records.accepted_definitions if args.accepted else records.seen
    found = read(session.layout, args.name)
    if found is None:
        hint = "was not accepted" if args.accepted else f"was not asked yet: `lumen-tui tool check {args.name}`"
        raise ActionError(f"{args.name} {hint}", missing=True)
    if args.json:
        document(found)
    else:
        _say_tools(session, found)
    return 0


def _say_tools(session: Session, found: ServerTools) -> None:
    from lumen_tui.model import toolservers
    from lumen_tui.store.settings import toolservers as records

    changed = toolservers.differences(records.accepted_definitions(session.layout, found.server), found)
    say(f"{found.server}: {safe(found.title) or 'without a name'}, protocol {found.protocol}, hash {found.hash}")
    for tool in found.tools:
        mark = f" ({changed[tool.name]})" if tool.name in changed else ""
        say(f"\n{tool.name}{mark} {tool.hash}")
        say(f"  {tool.problem}: no worker gets it" if tool.problem else f"  {safe(tool.description)}")
        for name, field in (tool.schema.get("properties") or {}).items():
            kind = field.get("type", "any") if isinstance(field, dict) else "any"
            about = field.get("description", "") if isinstance(field, dict) else ""
            say(f"  - {one_line(str(name), 60)} ({one_line(str(kind), 60)}) {one_line(str(about), 200)}".rstrip())


def _show_python(session: Session, args: Namespace) -> int:
    tool = next(tool for tool in _python_tools(session) if tool.name == args.name)
    if args.json:
        shown = {"name": tool.name, "file": tool.file, "hash": tool.hash, "schema": tool.schema}
        document({**shown, "description": tool.description, "risk": tool.risk, "writes": tool.writes})
        return 0
    say(f"{tool.name}: custom-tools/{tool.file}, hash {tool.hash}, risk {tool.risk}\n\n{safe(tool.source).rstrip()}")
    return 0
