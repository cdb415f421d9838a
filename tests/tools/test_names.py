"""Names that models have in their fingers; what is answered to those of before and to values that cannot be meant."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from lumen_tui.engine.doctor.examine import examine
from lumen_tui.model import renamed
from lumen_tui.model.agent import ROLE
from lumen_tui.model.roles import ALL_TOOLS
from lumen_tui.model.tasks import Spec
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role, parse_role
from lumen_tui.tools.agent.tools import tools_of
from lumen_tui.tools.policy.rules import derive
from lumen_tui.tools.toolbox import TOOLS, _schema

OLD_ROLE = """+++
purpose = "p"
tools = ["find", "grep", "block_append"]

[[rules]]
kind = "constrain_child"
tool = "find"
then = ["grep"]
+++

x"""


@pytest.fixture
def src(tmp_path):
    folder = tmp_path / "src"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "one.py").write_text("def f(x):\n    return x[0]\n# TODO\n")
    (folder / "two.py").write_text("cost = price * 1.5\n")
    (folder / "three.toml").write_text("x = 1\n")
    return folder


def names(result):
    return sorted(match["path"].rpartition("src/")[2] for match in result.data["matches"])


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a/one.py", "two.py"]), ("**/*.py", ["a/one.py", "two.py"]), ("a/*.py", ["a/one.py"]),
        ("./a/*.py", ["a/one.py"]), ("*.{py,toml}", ["a/one.py", "three.toml", "two.py"]),
        ("t[hw]*", ["three.toml", "two.py"]),
        ("t[!w]*", ["three.toml"]), ("*", ["a/one.py", "three.toml", "two.py"]), ("x/*", []),
    ],
)  # fmt: skip
def test_a_pattern_without_a_slash_is_a_name_at_any_depth(make_box, src, pattern, found):
    assert names(make_box().call("glob", {"pattern": pattern, "path": str(src)})) == found


def test_without_a_path_the_folder_of_the_task_is_searched(make_box, src):
    assert names(make_box(folder=str(src)).call("glob", {"pattern": "*.toml"})) == ["three.toml"]
    assert make_box(folder=str(src)).call("grep", {"pattern": "TODO|def", "glob": "*.py"}).data["matches"] == 2
    assert make_box(folder=str(src)).call("grep", {"pattern": "def", "glob": "*.toml"}).data["matches"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("grep", {"pattern": "f(x"}, r'subpattern at position 1; as literal text it is pattern="f\\(x"'),
        ("grep", {"pattern": "x[0]"}, r'1 line has the pattern as literal text: that is pattern="x\\[0\\]"'),
        ("grep", {"pattern": "x[0]", "limit": 9_999}, "at most this many are listed"),
        ("glob", {"pattern": r".*\.py$"}, "grep takes regular expressions"),
        ("glob", {"pattern": "b/one.py"}, "**/b/one.py looks at any depth"),
        ("glob", {"pattern": "/etc/*"}, "name the folder there"),
        ("read_file", {"path": "src/two.py", "offset": 60_000}, "two.py has 1 line: offset counts lines"),
        ("shell", {"command": "ls", "timeout": 120_000}, "(seconds after which it is ended, 600 at most"),
        ("edit_file", {"path": "src/two.py", "old_string": "cost =  price", "new_string": "x"},
         "line 1 has its words with other blanks"),
        ("edit_file", {"path": "src/a/one.py", "old_string": "x", "new_string": "y"}, "is there 2 times (lines 1, 2)"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_meant_says_so(make_box, src, state, tool, arguments, said):
    state.layout.config.write_text(f'[sandbox]\nwritable = ["{src}"]\n')
    box = make_box("any", write=True, folder=str(src))
    path = arguments.get("path", "").replace("src/", f"{src}/")
    assert said in box.call(tool, {**arguments, "path": path} if path else arguments).text


def test_all_occurrences_are_replaced_where_that_is_asked_for(make_box, src, state):
    state.layout.config.write_text(f'[sandbox]\nwritable = ["{src}"]\n')
    given = {"path": f"{src}/a/one.py", "old_string": "x", "new_string": "y", "replace_all": True}
    assert make_box("any", write=True).call("edit_file", given).ok
    assert (src / "a" / "one.py").read_text() == "def f(y):\n    return y[0]\n# TODO\n"


def test_a_name_of_before_is_answered_with_the_new_one_and_not_carried_out(make_box, src):
    def box():
        return make_box("any", write=True, tools=ALL_TOOLS, network=True, hosts=("example.org",))

    said = box().call("find", {"path": str(src), "name": "*.py"})
    assert said.text == (
        "find is called glob now: its arguments are "
        "pattern, path, kind, min_bytes, newer_than_days, max_depth, limit"
    )  # fmt: skip
    assert said.refused
    for tool, known in renamed.ARGUMENTS.items():
        for old, new in known.items():
            assert f"{old} is called {new} now" in box().call(tool, {old: "x"}).text
            assert new in TOOLS[tool].arguments.__struct_fields__
    assert "regex is gone: pattern is always" in box().call("grep", {"pattern": "x", "regex": False}).text


def test_what_a_person_wrote_with_names_of_before_goes_on_working_and_the_doctor_names_it(state):
    state.layout.roles.mkdir(exist_ok=True)
    state.layout.role("old").write_text(OLD_ROLE)
    state.layout.operator.write_text('[[allow]]\ntool = "find"\nrole = "old"\npattern = "/x"\n')
    state.layout.config.write_text('[approvals]\nask = ["block_append", "write"]\n')
    role = load_role(state.layout, "old")
    assert role.tools == ("glob", "grep", "memory_insert")
    assert (role.rules[0].tool, role.rules[0].then) == ("glob", ("grep",))
    config, problems = load_config(state.layout)
    assert (config.approvals.ask, config.allow[0].tool, problems) == (("memory_insert", "write"), "glob", [])
    findings = [one for one in examine(state, now=0.0).findings if one.check == "names of tools"]
    assert {one.level for one in findings} == {"note"}
    assert {(one.where, one.what) for one in findings} == {
        ("roles/old.md", "the tool find is called glob now"),
        ("roles/old.md", "the tool block_append is called memory_insert now"),
        ("operator.toml", "the tool find is called glob now"),
        ("lumen.toml", "the tool block_append is called memory_insert now"),
    }


def test_constraints_with_names_of_before_hold(state):
    role = replace(parse_role("r", OLD_ROLE, "hired"), rules=())
    for text, left in (
        ("Use only find", {"glob", "write_result"}),
        ("Do not use find", {"grep", "memory_insert", "write_result", "ask_operator", "read_skill"}),
    ):
        rules = derive(role, Spec(id="t", objective="o", role="r", constraints=(text,)))
        assert (rules.tools, rules.enforced) == (frozenset({*left, "write_result"}), (text,))


def test_no_tool_has_a_name_of_before():
    assert not set(renamed.TOOLS) & set(TOOLS)
    assert set(renamed.TOOLS.values()) <= set(TOOLS)


@pytest.mark.parametrize("role", ["builder", ROLE])
def test_a_description_says_when_when_not_and_what_comes_back(role):
    for tool in tools_of(role, TOOLS).values():
        sentences = len(re.findall(r"[.?](?:\s|$)", tool.description))
        assert 3 <= sentences <= 6, (tool.name, sentences)
        assert len(tool.description) < 700, tool.name
        assert all("description" in field for field in _schema(tool, None)["properties"].values()), tool.name
