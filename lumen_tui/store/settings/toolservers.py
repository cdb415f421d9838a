"""accepted/: the definitions of tools that are not ours, as they were seen and as a person accepted them.

Nothing of it is visible to a command of a worker. What cannot be read counts as not accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import ids, toolservers
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.ids import BadId
from lumen_tui.model.problem import Problem
from lumen_tui.model.roles import Role
from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import Accepted, PinDecision, ServerTools, grants
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout

if TYPE_CHECKING:
    from lumen_tui.model.config import Config

_MOST_BYTES = 64 * 1024 * 1024


def seen_file(layout: Layout, server: str) -> Path:
    """Return where the tools of a server are kept as they were seen last."""
    return layout.accepted / f"{ids.check_name(server, 'server')}.seen.json"


def definitions_file(layout: Layout, server: str, version: str) -> Path:
    """Return where the tools of a server are kept under their hash."""
    return layout.definition_texts / f"{ids.check_name(server, 'server')}.{ids.check_name(version, 'hash')}.json"


def accepted(layout: Layout) -> Accepted:
    """Return what a person accepted."""
    try:
        data = files.read(layout.accepted_tools)
        return msgspec.json.decode(data, type=Accepted) if data else Accepted()
    except (*UNDECODABLE, files.StoreError, OSError):
        return Accepted()


def set_acceptance(layout: Layout, kind: str, name: str, acceptance: PinDecision | None) -> None:
    """Accept the `servers` or `tools` entry of that name; None takes it back."""
    with locks.waiting_lock(layout.lock("operator")):
        now = accepted(layout)
        entries = {other: entry for other, entry in getattr(now, kind).items() if other != name}
        if acceptance is not None:
            entries[name] = acceptance
        record = msgspec.structs.replace(now, **{kind: dict(sorted(entries.items()))})
        if not record.servers and not record.tools:
            directories.remove(layout.accepted_tools)
            return
        directories.make_folder(layout.accepted)
        files.replace(layout.accepted_tools, msgspec.json.format(msgspec.json.encode(record), indent=1))


def accepted_definitions(layout: Layout, server: str) -> ServerTools | None:
    """Return the tools of a server as they were accepted; None where they were not, or cannot be read."""
    acceptance = accepted(layout).servers.get(server)
    version = _version(layout, server, acceptance.hash) if acceptance else None
    return version if version is not None and acceptance and version.hash == acceptance.hash else None


def seen(layout: Layout, server: str) -> ServerTools | None:
    """Return the tools of a server as they were seen last; None where it was never asked."""
    try:
        return _read(seen_file(layout, server))
    except BadId:
        return None


def keep_seen(layout: Layout, tools: ServerTools) -> None:
    """Keep what a server declares now, where that is not known."""
    before = seen(layout, tools.server)
    if before is None or (before.hash, before.protocol) != (tools.hash, tools.protocol):
        _write(seen_file(layout, tools.server), tools)


def keep_accepted(layout: Layout, tools: ServerTools) -> None:
    """Keep definitions under their hash, for as long as undo may need them."""
    if _version(layout, tools.server, tools.hash) is None:
        _write(definitions_file(layout, tools.server, tools.hash), tools)


def _version(layout: Layout, server: str, version: str) -> ServerTools | None:
    try:
        return _read(definitions_file(layout, server, version))
    except BadId:
        return None


def _read(path: Path) -> ServerTools | None:
    try:
        data = files.read(path, _MOST_BYTES)
        return msgspec.json.decode(data, type=ServerTools) if data else None
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


def _write(path: Path, tools: ServerTools) -> None:
    directories.make_folder(path.parent)
    files.replace(path, msgspec.json.format(msgspec.json.encode(tools), indent=1))


def server_problems(layout: Layout, config: Config, roles: Sequence[Role]) -> list[Problem]:
    """Return problems of servers that cannot be used or wait for a person, and of roles that cannot use theirs."""
    problems: list[Problem] = []
    for name, server in config.mcp.servers.items():
        where = f"mcp.servers.{one_line(name, 64)}"
        if fault := toolservers.server_fault(name, server):
            problems.append(Problem(where=where, what=fault, hint="no task of a role that names it can begin"))
        else:
            needed_by = [role.name for role in roles if name in grants(role.mcp)]
            problems += _waiting(layout, name, where, needed_by)
    for role in roles:
        problems += role_problems(role, config)
    return problems


def _waiting(layout: Layout, name: str, where: str, needed_by: Sequence[str]) -> Iterator[Problem]:
    """Yield what a person has to look at before workers get a server's tools."""
    current, before = seen(layout, name), accepted_definitions(layout, name)
    if current is None and before is None and needed_by:
        problem = f"it was not asked for its tools yet, and {', '.join(needed_by)} cannot work without them"
        yield Problem(where=where, what=problem, hint=f"`lumen-tui tool check {name}` asks it")
    if current is None or (before is not None and before.hash == current.hash):
        return
    blocked = f"; {', '.join(needed_by)} cannot work without them" if needed_by else ""
    changed = toolservers.in_words(toolservers.differences(before, current))
    yield Problem(
        where=where,
        what=f"its tools are not what was accepted ({changed})"
        if before
        else f"its tools wait to be accepted{blocked}",
        hint=f"`lumen-tui tool show {name}` shows them, `lumen-tui tool accept {name}` accepts them",
    )


def role_problems(role: Role, config: Config) -> Iterator[Problem]:
    """Yield why a role cannot use servers that it names."""
    for name in grants(role.mcp):
        server = config.mcp.servers.get(name)
        if server is None:
            fault = f"[mcp.servers.{one_line(name, 64)}] is not in lumen.toml"
        else:
            fault = toolservers.rights_fault(server, write=role.write, network=role.network)
        if fault:
            problem = f"it cannot use the MCP server {one_line(name, 64)!r}: {fault}"
            yield Problem(where=f"roles/{role.name}.md", what=problem, hint="no task of it can begin")
