"""Accept the definitions of tools that are not ours, and take that back: until then no worker has them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lumen_tui.actions import edits, refusal
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times, toolservers
from lumen_tui.model.records import Change
from lumen_tui.model.requests.tools import AcceptTool, WithdrawTool
from lumen_tui.model.roles import PythonTool
from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import PinDecision, ServerTools
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.settings import roles
from lumen_tui.store.settings import toolservers as records
from lumen_tui.store.settings.config import load_config

KIND = "accepted"


def accept(store: Store, request: AcceptTool, *, by: str, now: float) -> Done:
    """Accept what is there; definitions are kept under their hash first, so that undo finds them."""
    kind = kind_of(store.layout, request.name)
    if kind == "servers":
        tools = _seen(store.layout, request.name)
        digest, description = tools.hash, _tools_in_words(tools)
    else:
        tool = _python_tool(store.layout, request.name)
        tools, digest, description = None, tool.hash, f"custom-tools/{tool.file}"
    if request.hash and request.hash != digest:
        raise ActionError(f"it is {digest} now, not {one_line(request.hash, 40)}: look at it again with `tool show`")
    if _held(store.layout, kind, request.name) == digest:
        raise ActionError(f"{request.name} is accepted as it is", missing=True)
    if tools is not None:
        records.keep_accepted(store.layout, tools)
    summary = f"{request.name} accepted ({digest}): {description}"
    return _change(store, kind, request.name, digest, "tool.accept", summary, by=by, now=now)


def withdraw(store: Store, request: WithdrawTool, *, by: str, now: float) -> Done:
    """Forget that it was accepted; its definitions stay for undo."""
    held = records.accepted(store.layout)
    kind = next((kind for kind in ("servers", "tools") if request.name in getattr(held, kind)), "")
    if not kind:
        near = refusal.nearest(request.name, [*held.servers, *held.tools])
        raise ActionError(f"{one_line(request.name, 60)!r} was not accepted", candidates=near, missing=True)
    summary = f"{request.name} is no longer accepted"
    return _change(store, kind, request.name, "", "tool.withdraw", summary, by=by, now=now)


def kind_of(layout: Layout, name: str) -> str:
    """Return `servers` or `tools`. ActionError where neither has that name."""
    if name in load_config(layout)[0].mcp.servers:
        return "servers"
    tools = [tool.name for tool in python_tools(layout)]
    if name in tools:
        return "tools"
    raise _unknown(name, [*load_config(layout)[0].mcp.servers, *tools])


def _unknown(name: str, known: Iterable[str] = ()) -> ActionError:
    text = f"there is no MCP server and no Python tool {one_line(name, 60)!r}"
    return ActionError(text, candidates=refusal.nearest(name, known), missing=True)


def python_tools(layout: Layout) -> list[PythonTool]:
    """Return the tools that custom-tools/*.py declare, accepted or not; those of broken files are left out."""
    tools: list[PythonTool] = []
    for path in roles.python_files(layout):
        from lumen_tui.store.settings import pythontools

        try:
            tools += pythontools.tools_in(path.name, files.read(path) or b"")
        except (BadFile, files.StoreError, OSError):
            continue
    return tools


def _python_tool(layout: Layout, name: str) -> PythonTool:
    tools = [tool for tool in python_tools(layout) if tool.name == name]
    if not tools:
        raise _unknown(name)  # what was there a moment ago cannot be read now
    if len(tools) > 1:
        raise ActionError(f"{name} is declared in {tools[0].file} and in {tools[1].file}: take one out")
    return tools[0]


def _seen(layout: Layout, name: str) -> ServerTools:
    server = load_config(layout)[0].mcp.servers.get(name)
    if server is None:
        raise _unknown(name)  # what was there a moment ago cannot be read now
    if fault := toolservers.server_fault(name, server):
        raise ActionError(f"mcp.servers.{name}: {fault}")
    tools = records.seen(layout, name)
    if tools is None:
        raise ActionError(f"what {name} offers is not known: `lumen-tui tool check {name}` asks it")
    if not any(not tool.problem for tool in tools.tools):
        raise ActionError(f"{name} offers no tool that can be used")
    return tools


def _tools_in_words(tools: ServerTools) -> str:
    usable = [tool.name for tool in tools.tools if not tool.problem]
    return one_line(f"{len(usable)} tool{'' if len(usable) == 1 else 's'}, {', '.join(usable)}", 200)


def _held(layout: Layout, kind: str, name: str) -> str:
    held = _acceptance(layout, kind, name)
    return held.hash if held else ""


def _acceptance(layout: Layout, kind: str, name: str) -> PinDecision | None:
    entries: dict[str, PinDecision] = getattr(records.accepted(layout), kind)
    return entries.get(name)


def _change(store: Store, kind: str, name: str, digest: str, verb: str, summary: str, *, by: str, now: float) -> Done:
    key = f"{kind} {name}"
    after = msgspec.to_builtins(PinDecision(digest, times.iso(now), by)) if digest else None
    change = Change(KIND, key, _side(store.layout, key), after)
    action = edits.new_action(verb, [change], summary=summary, by=by, now=now, target=name)
    with journal.carrying_out(store.layout, action):
        put_accepted(store, change)
    return Done(summary=summary, target=name, action_id=action.id)


def _side(layout: Layout, key: str) -> Side | None:
    kind, _, name = key.partition(" ")
    held = _acceptance(layout, kind, name)
    return msgspec.to_builtins(held) if held else None


def accepted_now(store: Store, change: Change) -> Side | None:
    """For undo: what is accepted now."""
    return _side(store.layout, change.key)


def put_accepted(store: Store, change: Change) -> None:
    """Bring the acceptance to the change's `after`."""
    kind, _, name = change.key.partition(" ")
    after = None if change.after is None else msgspec.convert(change.after, PinDecision)
    records.set_acceptance(store.layout, kind, name, after)
