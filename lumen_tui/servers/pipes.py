"""Servers that a program starts on its own pipes: who that program is, before anything is answered."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lumen_tui.model.access import USUAL, Principal, program_name, scopes_of
from lumen_tui.servers.access import AccessRefused, on_stdio
from lumen_tui.storage.layout import Layout, distrust


def serve(kind: str, root: str, name: str, scopes: Sequence[str]) -> int:
    """Serve `mcp` or `acp` on stdin and stdout until the client closes them; return the exit code.

    It is 2 for a program that may not connect. ValueError for an unknown scope.
    """
    try:
        principal = _principal(Path(root), kind, name, scopes)
    except AccessRefused as error:
        print(f"lumen-tui: {error}", file=sys.stderr)  # noqa: T201 - stdout is the protocol's
        return 2
    if kind == "acp":
        from lumen_tui.servers.acp import stdio as acp

        return acp.serve(Path(root), principal)
    from lumen_tui.servers.mcp import stdio as mcp

    return mcp.serve(Path(root), principal)


def _principal(root: Path, kind: str, name: str, scopes: Sequence[str]) -> Callable[[str], Principal]:
    """Return what makes a principal of the name that a client gives itself; one that was given before it stays."""
    if reason := distrust(root):
        raise AccessRefused(reason)
    wanted = scopes_of(scopes) if scopes else USUAL
    known = on_stdio(Layout(root), os.environ, kind, name=name, scopes=wanted, now=time.time())
    fixed = bool(name) or known.name != program_name(name)

    def principal(called: str) -> Principal:
        return known if fixed else Principal(program_name(called), kind, known.scopes)

    return principal
