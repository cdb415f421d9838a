"""Tools that are not ours are accepted by a person, as they are, and that is taken back."""

from __future__ import annotations

import re
from contextlib import closing

import msgspec
import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.toolservers import ServerTools, definition
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.settings import toolservers as records
from tests.actions.conftest import NOW

SCHEMA = {"type": "object"}


def offered(*names: str, more: str = "") -> ServerTools:
    tools = [{"name": name, "description": f"Does {name}{more}.", "inputSchema": SCHEMA} for name in names]
    return ServerTools("git", "2026-07-28", "git 1", tuple(map(definition, tools)))


@pytest.fixture
def layout(desk):
    """A state folder with the server `git`, which was asked once, and a Python tool."""
    layout = desk.store.layout
    layout.config.write_text('[mcp.servers.git]\ncommand = ["mcp-server-git"]\n')
    (layout.custom_tools / "look.py").write_text('@tool\ndef look_up():\n    "Look it up."\n')
    records.keep_seen(layout, offered("log", "diff"))
    return layout


def test_a_server_is_accepted_as_it_was_seen_and_undo_takes_that_back(desk, layout):
    done = desk.do("tool.accept", name="git")
    assert "2 tools, log, diff" in done.summary
    first = records.accepted_definitions(layout, "git")
    records.keep_seen(layout, offered("log", "diff", more=" and more"))
    assert records.accepted_definitions(layout, "git") == first
    desk.do("tool.accept", name="git")
    assert records.accepted_definitions(layout, "git").hash != first.hash
    desk.do("undo")
    assert records.accepted_definitions(layout, "git") == first
    desk.do("undo")
    assert records.accepted_definitions(layout, "git") is None
    desk.do("redo")
    assert records.accepted_definitions(layout, "git") == first


def test_a_python_tool_is_accepted_as_its_file_is(desk, layout):
    desk.do("tool.accept", name="look_up")
    (accepted,) = records.accepted(layout).tools.values()
    assert len(accepted.hash) == 16
    desk.do("tool.withdraw", name="look_up")
    assert records.accepted(layout).tools == {}


@pytest.mark.threat("S4", "tools, servers and skills that changed since a person accepted them")
def test_what_is_accepted_is_what_was_looked_at(desk, layout):
    shown = records.seen(layout, "git").hash
    records.keep_seen(layout, offered("log", "push"))
    with pytest.raises(ActionError, match="look at it again"):
        desk.do("tool.accept", name="git", hash=shown)
    assert desk.do("tool.accept", name="git", hash=records.seen(layout, "git").hash)


@pytest.mark.parametrize(
    ("verb", "name", "what"),
    [
        ("tool.accept", "gti", "there is no MCP server"),
        ("tool.accept", "../../etc", "there is no MCP server"),
        ("tool.withdraw", "git", "was not accepted"),
    ],
)
def test_what_is_not_there_is_said(desk, layout, verb, name, what):
    with pytest.raises(ActionError, match=what):
        desk.do(verb, name=name)


@pytest.mark.threat("S4", "tools, servers and skills that changed since a person accepted them")
def test_nothing_is_accepted_unseen_or_twice(desk, layout):
    records.seen_file(layout, "git").unlink()
    with pytest.raises(ActionError, match="`lumen-tui tool check git` asks it"):
        desk.do("tool.accept", name="git")
    records.keep_seen(layout, offered("log"))
    desk.do("tool.accept", name="git")
    with pytest.raises(ActionError, match="accepted as it is"):
        desk.do("tool.accept", name="git")


@pytest.mark.threat("S4", "tools, servers and skills that changed since a person accepted them")
def test_what_was_accepted_and_cannot_be_read_is_not_accepted(desk, layout):
    desk.do("tool.accept", name="git")
    kept = records.definitions_file(layout, "git", records.seen(layout, "git").hash)
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    assert records.accepted_definitions(layout, "git") is None
    kept.write_bytes(msgspec.json.encode(offered("log", "rm")))
    assert records.accepted_definitions(layout, "git") is None
    kept.write_bytes(whole)
    assert records.accepted_definitions(layout, "git") is not None
    layout.accepted_tools.write_bytes(b"\xff{")
    assert records.accepted_definitions(layout, "git") is None


ROLE = """+++
purpose = "p"
tools = ["write_result"]
mcp = {mcp}
+++

Work.
"""


def waiting(layout) -> dict[str, str]:
    """What needs a person because of tools, by where."""
    with closing(SnapshotReader(layout.root)) as reader:
        reader.load(NOW)
        rows = reader.snapshot(NOW).attention
    return {row.target: row.text for row in rows if row.target.startswith(("mcp.", "roles/"))}


def test_what_waits_for_a_person_is_in_the_attention_list_until_it_is_done(desk, layout):
    assert waiting(layout) == {"mcp.servers.git": "mcp.servers.git: its tools wait to be accepted"}
    desk.do("tool.accept", name="git")
    assert waiting(layout) == {}
    records.keep_seen(layout, offered("log", "diff", more=" and more"))
    assert "its tools are not what was accepted (changed: diff, log)" in waiting(layout)["mcp.servers.git"]
    desk.do("tool.accept", name="git")
    assert waiting(layout) == {}
    desk.do("tool.withdraw", name="git")
    assert waiting(layout) == {"mcp.servers.git": "mcp.servers.git: its tools wait to be accepted"}
    desk.do("undo")
    assert waiting(layout) == {}


@pytest.mark.parametrize(
    ("mcp", "what"),
    [
        ('["git"]', "'git': it may change something, and the role has no write = true"),
        ('["web"]', "'web': it needs the network, and the role has no network = true"),
        ('["nowhere"]', r"'nowhere': \[mcp.servers.nowhere\] is not in lumen.toml"),
    ],
)
def test_a_role_that_cannot_use_its_servers_is_refused_and_named_where_it_is_there(desk, layout, mcp, what):
    with layout.config.open("a") as config:
        config.write('[mcp.servers.web]\ncommand = ["web"]\nwrites = false\nnetwork = true\n')
    desk.do("tool.accept", name="git")
    with pytest.raises(ActionError, match=f"role clerk: it cannot use the MCP server {what}"):
        desk.do("role.hire", name="clerk", text=ROLE.format(mcp=mcp))
    layout.role("clerk").write_text(ROLE.format(mcp=mcp))
    assert re.search(what, waiting(layout)["roles/clerk.md"])
    asked = "was not asked for its tools yet, and clerk cannot work without them"
    assert (asked in waiting(layout).get("mcp.servers.web", "")) == ("web" in mcp)
