"""Python tools: a typed function is a tool once its file is accepted, and what runs is what was accepted."""

from __future__ import annotations

import json

import pytest

from lumen_tui.model.toolservers import PinDecision
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings import pythontools, roles
from lumen_tui.store.settings import toolservers as records
from lumen_tui.tools.base import BadRules

SOURCE = '''
import os
from typing import Annotated, Literal

from lumen_tui.tool import tool


def helper(word):
    return word[::-1]


@tool(risk="low", timeout_seconds=20.0)
def turn_word(
    word: Annotated[str, "what to turn"],
    times: int = 1,
    how: Literal["plain", "loud"] = "plain",
    also: list[str] | None = None,
) -> str:
    """Turn a word around.

    As often as you like.
    """
    print("printed by the tool")
    turned = helper(word) * times
    return turned.upper() if how == "loud" else turned


@tool(risk="low")
def look(path: str) -> dict:
    """Look at what it may do."""
    found = {"env": sorted(os.environ)}
    try:
        with open(path, "w") as file:
            file.write("x")
        found["wrote"] = True
    except OSError as error:
        found["wrote"] = str(error)
    return found


@tool(risk="low")
def divide(by: int) -> float:
    """Divide one."""
    return 1 / by


@tool
def risky() -> None:
    """Do something that a person is asked about."""
'''


@pytest.fixture
def tools(state):
    """The file, with all its tools accepted."""
    path = state.layout.custom_tools / "words.py"
    path.write_text(SOURCE)
    for tool in pythontools.tools_in("words.py", SOURCE.encode()):
        records.set_acceptance(state.layout, "tools", tool.name, PinDecision(tool.hash))
    return path


def test_what_a_function_says_of_itself_is_what_the_model_is_told(make_box, tools):
    box = make_box("any", custom_tools=("turn_word",))
    (declared,) = [tool for tool in box.declarations() if tool.name == "turn_word"]
    assert declared.description == "Turn a word around.\n\nAs often as you like."
    assert declared.schema == {
        "type": "object",
        "required": ["word"],
        "properties": {
            "word": {"type": "string", "description": "what to turn"},
            "times": {"type": "integer", "default": 1},
            "how": {"type": "string", "enum": ["plain", "loud"], "default": "plain"},
            "also": {"type": "array", "items": {"type": "string"}, "default": None},
        },
    }


@pytest.mark.usefixtures("sandbox")
def test_it_is_called_and_what_it_prints_is_in_the_log(make_box, tools, state):
    box = make_box("any", custom_tools=("turn_word",))
    assert box.call("turn_word", {"word": "abc", "times": 2, "how": "loud"}).text == "CBACBA"
    assert "word is missing" in box.call("turn_word", {}).text
    assert "how: one of plain, loud is needed" in box.call("turn_word", {"word": "a", "how": "x"}).text
    log = state.layout.task("tsk-a") / "logs/turn_word.log"
    assert log.read_text() == "printed by the tool\n"


@pytest.mark.usefixtures("sandbox")
def test_of_an_error_the_model_gets_the_last_line_and_the_log_the_whole(make_box, tools, state):
    result = make_box("any", custom_tools=("divide",)).call("divide", {"by": 0})
    log = state.layout.task("tsk-a") / "logs/divide.log"
    assert not result.ok
    assert result.text == f"ZeroDivisionError: division by zero\n[the whole is in {log}]"
    assert "return 1 / by" in log.read_text()


@pytest.mark.usefixtures("sandbox")
def test_it_gets_no_secrets_and_adds_no_tool(make_box, tools, state):
    box = make_box("any", write=True, custom_tools=("look",), environ={"SOME_TOKEN": "12345678"})
    for path in (tools, state.layout.custom_tools / "more.py", state.layout.accepted_tools):
        found = json.loads(box.call("look", {"path": str(path)}).text)
        assert found["wrote"] is not True
        assert "SOME_TOKEN" not in found["env"]
    assert tools.read_text() == SOURCE


def test_one_that_is_marked_risky_asks(make_box, tools):
    assert "nobody can be asked" in make_box("any", custom_tools=("risky",)).call("risky", {}).text


@pytest.mark.threat("S4", "tools, servers and skills that changed since a person accepted them")
def test_a_file_that_was_changed_or_never_accepted_is_no_tool(make_box, tools, state):
    tools.write_text(SOURCE + "\n# more\n")
    with pytest.raises(BadRules, match=r"words.py was changed since it was accepted.*`lumen-tui tool accept look`"):
        make_box(custom_tools=("look",))
    (problem,) = roles.list_custom_tools(state.layout)[1]
    assert problem.where == "custom-tools/words.py"
    records.set_acceptance(state.layout, "tools", "look", None)
    with pytest.raises(BadRules, match="was not accepted yet"):
        make_box(custom_tools=("look",))


@pytest.mark.threat("S4", "tools, servers and skills that changed since a person accepted them")
@pytest.mark.usefixtures("sandbox")
def test_what_runs_is_the_text_that_was_accepted(make_box, tools):
    box = make_box("any", custom_tools=("turn_word",))
    tools.write_text("raise SystemExit('another one')\n")
    assert box.call("turn_word", {"word": "abc"}).text == "cba"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("def f(:\n", 1, "it is no Python"),
        ("@tool\ndef f(a: str):\n    pass\n", 2, "has no docstring"),
        ('@tool\ndef f(a):\n    "x"\n', 2, "say what a is"),
        ('@tool\ndef f(a: set):\n    "x"\n', 2, "set is not understood: str, int"),
        ('@tool\ndef f(*a: str):\n    "x"\n', 2, "name each argument"),
        ('@tool\nasync def f():\n    "x"\n', 2, "is async"),
        ('@tool("low")\ndef f():\n    "x"\n', 1, "named settings"),
        ('@tool(riks="low")\ndef f():\n    "x"\n', 1, "no setting 'riks'"),
        ('@tool(risk="none")\ndef f():\n    "x"\n', 1, "Invalid enum value"),
        ('@tool(risk=RISK)\ndef f():\n    "x"\n', 1, "only plain values"),
        ('@tool\ndef read_file(path: str):\n    "x"\n', 2, "none of our own"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(text, line, what):
    with pytest.raises(BadFile, match=what) as caught:
        pythontools.tools_in("a.py", text.encode())
    assert caught.value.line == line


def test_a_file_is_read_and_not_run(state, tmp_path):
    text = f'open({str(tmp_path / "ran")!r}, "w")\n\n@tool\ndef f():\n    "x"\n'
    (state.layout.custom_tools / "a.py").write_text(text)
    with pytest.raises(BadFile, match="was not accepted yet"):
        roles.load_custom_tool(state.layout, "f")
    assert not (tmp_path / "ran").exists()


def test_two_files_with_the_same_tool_are_named(state, tools):
    (state.layout.custom_tools / "again.py").write_text('@tool\ndef look():\n    "x"\n')
    with pytest.raises(BadFile, match=r"declared twice: in again.py and in words.py"):
        roles.load_custom_tool(state.layout, "look")
