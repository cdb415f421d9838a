"""A server that breaks the protocol, or writes to the terminal of whoever reads it: refused by name, and no more."""

from __future__ import annotations

import os
import re

import pytest

from lumen_tui.model.text import is_safe
from lumen_tui.model.toolservers import ServerTools
from lumen_tui.storage.store import Store
from lumen_tui.store.settings import toolservers as records
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import ToolError
from lumen_tui.tools.mcp.inspection import inspect_server
from tests.tools.mcp.conftest import accept, configure, declared

pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.mark.parametrize(
    ("way", "what"),
    [
        ("wrong-id", r"it answered request 100\d, which was never made"),
        ("not-utf8", r"a message that is no JSON in UTF-8"),
        ("surrogate", r"a message that is no JSON in UTF-8"),
        ("prints", r"no answer to tools/call within 2 s; of its lines 1 are no messages"),
        ("no-result", r"answered with \['echo'\], which is no result"),
    ],
)
def test_an_answer_that_is_none_fails_the_call_and_may_have_happened(serve, way, what):
    served = serve(way, settings={"timeout_seconds": 2.0})
    result = served.call("echo", text="x")
    assert not result.ok and re.search(what, result.text), result.text
    assert "may have been done or not" in result.text


def test_lines_that_are_no_messages_are_passed_over(serve):
    served = serve("rubbish")
    assert [served.call("echo", text="x").text for _ in range(2)] == ["x", "x"]


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_an_error_that_paints_is_shown_and_not_obeyed(serve):
    result = serve("paints").call("echo", text="x")
    assert result.text.startswith("small refuses: ") and is_safe(result.text)


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_names_and_descriptions_with_escapes_make_no_tool(serve, state):
    seen = declared("escapes")
    problems = {tool.name: tool.problem for tool in seen.tools if tool.problem}
    assert len(problems) == 5 and all(map(is_safe, problems))
    assert "hides text" in problems["echo"]
    assert all("its name is not made of" in problem for name, problem in problems.items() if name != "echo")
    assert {tool.name for tool in seen.tools if not tool.problem} == {tool.name for tool in declared().tools} - {"echo"}


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_a_person_who_looks_sees_what_it_tries_and_nothing_of_it_is_obeyed(state):
    configure(state, "small", "escapes", "legacy", writes=False)
    accept(state, declared())
    seen = _look(state)
    assert is_safe(seen.title) and [tool.name for tool in seen.tools if tool.problem] != []
    assert records.seen(state.layout, "small") == seen


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"command": ["no-such-program"]}, "no-such-program was not found: install it"),
        ({"command": ["./server"]}, "name its program with its whole path"),
    ],
)
def test_a_program_that_cannot_be_started_is_named(state, settings, what):
    configure(state, "small", **settings)
    with pytest.raises(ToolError, match=what):
        _look(state)


def test_one_that_writes_before_it_answers_can_be_looked_at(state, tmp_path):
    granted = tmp_path / "granted"
    granted.mkdir()
    state.layout.config.write_text(f'[sandbox]\nwritable = ["{granted}"]\n')
    configure(state, "small", writes=True, env=["SERVER_LOG"])
    before = sorted(state.layout.custom_tools.iterdir())
    assert _look(state, SERVER_LOG=str(granted / "log")).tools
    assert "tools/list" in (granted / "log").read_text()
    configure(state, "small", writes=False, env=["SERVER_LOG"])
    with pytest.raises(ToolError, match=r"Read-only file system|Permission denied"):
        _look(state, SERVER_LOG=str(granted / "other"))
    assert sorted(state.layout.custom_tools.iterdir()) == before


def _look(state: Store, **more: str) -> ServerTools:
    """Look at the small server, as `tool check` does."""
    server = load_config(state.layout)[0].mcp.servers["small"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(state.root), **more}
    return inspect_server(state, "small", server, now=1_700_000_000.0, environ=environ, note=print)
