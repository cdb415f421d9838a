"""The toolbox: default deny, constraints as rules, limits, clear errors; reports go through the store."""

from __future__ import annotations

import json
import re

import pytest
from lumen_rows import each_row

from lumen_tui.model.roles import ALL_TOOLS, READ_TOOLS, Limits
from lumen_tui.tools.base import ToolError
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.policy.rules import too_many_rows
from lumen_tui.tools.policy.verdict import convert
from lumen_tui.tools.toolbox import TOOLS, StepLimit, _schema


def test_only_the_tools_of_the_role(make_box):
    box = make_box(tools=("list_dir", "write_result"))
    assert [tool.name for tool in box.declarations()] == ["list_dir", "write_result", "ask_operator"]
    for name in (*ALL_TOOLS, "rm", "", "__class__", "create_task"):
        if name not in ("list_dir", "write_result"):
            box = make_box(tools=("list_dir", "write_result"))
            assert "not among those of this task" in box.call(name, {}).text


def test_schemas_stand_alone(make_box):
    for tool in make_box(tools=(*READ_TOOLS, "create_task", "judge_discoveries")).declarations():
        text = json.dumps(tool.schema)
        assert "$ref" not in text
        assert tool.schema["type"] == "object"
        assert tool.schema["additionalProperties"] is False
        assert all("description" in field for field in tool.schema["properties"].values())


def test_schemas_of_many_tools_say_nothing_twice_and_miss_nothing(make_box):
    declared, described = make_box("any", write=True).declarations(), set()
    assert len(declared) > 20
    for tool in declared:
        assert "$ref" not in json.dumps(tool.schema)
        whole = _schema(TOOLS[tool.name], None)
        assert set(tool.schema["properties"]) == set(whole["properties"])
        assert tool.schema.get("required", []) == whole["required"]
        for name, field in tool.schema["properties"].items():
            words = (name, whole["properties"][name]["description"])
            named = {*re.findall(r"\w+", words[1])} <= {*map(str, field.get("enum", ())), "to"}
            assert ("description" in field) is (words not in described and not named)
            described.add(words)
            assert field.get("enum") == whole["properties"][name].get("enum")
        with pytest.raises(ToolError, match=r"unknown field|missing required field"):
            convert(TOOLS[tool.name], {"no_such_argument": 1})


def test_arguments_are_checked_with_clear_errors(make_box):
    box = make_box()
    assert "missing required field `path`" in box.call("list_dir", {}).text
    assert "its arguments are path, limit" in box.call("list_dir", {"path": "/", "depth": 1}).text
    assert "Expected `str`" in box.call("list_dir", {"path": 5}).text
    assert "does not exist" in box.call("list_dir", {"path": "/no/such"}).text


@pytest.mark.parametrize(
    ("constraint", "field", "value"),
    [
        ("Read only", "shell", "read"), ("This must be read-only.", "write", False),
        ("Do not modify any file", "write", False),
        ("Change nothing", "shell", "read"), ("No shell", "shell", "none"), ("Work without a shell", "shell", "none"),
        ("Do not use the shell", "shell", "none"), ("no network", "network", False), ("Stay offline", "network", False),
        ("Report top 10", "max_rows", 10), ("At most 5 rows", "max_rows", 5), ("At most 7 tool calls", "max_steps", 7),
        ("Only look in /var/log", "roots", ("/var/log",)), ("Only read /etc", "shell", "none"),
    ],
)  # fmt: skip
def test_a_constraint_becomes_a_rule(make_box, constraint, field, value):
    rules = make_box("any", write=True, network=True, constraints=(constraint,)).rules
    assert getattr(rules, field) == value
    assert rules.enforced == (constraint,)


def test_constraints_never_widen_and_the_rest_is_advice(make_box):
    rules = make_box("none", constraints=("Read only", "Answer in French", "use the shell")).rules
    assert rules.shell == "none"
    assert "shell" not in rules.tools
    assert rules.advice == ("Answer in French", "use the shell")
    assert make_box("any", write=False).rules.shell == "read"


def test_a_named_tool_can_be_taken_away(make_box):
    rules = make_box(constraints=("Do not use grep",)).rules
    assert set(READ_TOOLS) - rules.tools == {"grep"}


def test_a_root_keeps_the_file_tools_inside(make_box, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("x")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    box = make_box(constraints=(f"Stay inside {tmp_path}/in",))
    assert box.call("list_dir", {"path": str(tmp_path / "in")}).ok
    for path in (tmp_path / "out", tmp_path / "in" / "link" / "x", tmp_path / "in" / ".." / "out", tmp_path):
        assert "outside" in box.call("list_dir" if path.is_dir() else "read_file", {"path": str(path)}).text


def test_report_top_n_is_held_at_the_result(make_box):
    box = make_box(constraints=("Report top 2",))
    rows = "| a | b |\n| --- | --- |\n" + "| 1 | 2 |\n" * 3
    assert "lists 3 rows" in box.call("write_result", {"text": rows}).text
    assert box.call("write_result", {"text": rows[:-10]}).ok
    assert too_many_rows("1. a\n\n2. b\n   more\n3. c\n", 2) == 3
    assert too_many_rows("1. a\n2. b\n\nText\n\n1. c\n", 2) == 0


def test_the_last_step_is_for_the_result(make_box):
    box = make_box(limits=Limits(max_steps=2))
    assert box.call("list_dir", {"path": "/"}).ok
    assert box.call("list_dir", {"path": "/"}).ok
    assert "write the result now" in box.call("list_dir", {"path": "/"}).text
    assert box.call("write_result", {"text": "late"}).ok
    box.call("list_dir", {"path": "/"})
    with pytest.raises(StepLimit):
        box.call("list_dir", {"path": "/"})


def test_output_is_cut_and_says_how_much(make_box, tmp_path):
    (tmp_path / "long").write_text("word word word\n" * 5000)
    box = make_box(limits=Limits(max_output_bytes=1000))
    result = box.call("read_file", {"path": str(tmp_path / "long"), "limit": 5000})
    assert result.truncated > 10_000
    assert f"[cut: {result.truncated:,} bytes" in result.text
    assert len(result.text) < 1200
    assert "[cut:" in box.call("read_file", {"path": str(tmp_path / "long")}).text.split("\n")[1]


def test_reports_go_through_the_store(make_box, state):
    box = make_box(wu_id="WU-007", lane="core", environ={"MY_TOKEN": "hunter2hunter2"})
    assert box.call("write_result", {"text": "# Done\n\x1b[2J hunter2hunter2"}).ok
    assert box.call("signal", {"message": "look at hunter2hunter2", "priority": "P0"}).ok
    assert box.call("discover", {"title": "leak\x07", "details": "at x:1", "tags": ["bug"], "priority": "P1"}).ok
    assert not box.call("discover", {"title": "x", "tags": ["a\nb"]}).ok
    assert not box.call("discover", {"title": "x", "priority": "P9"}).ok
    text = (state.layout.task("tsk-a") / "result.md").read_text()
    assert text == "# Done\n␛[2J [masked: environment]\n"
    (signal,) = [json.loads(line) for line in state.signals.lines()]
    assert (signal["sender"], signal["wu_id"], signal["lane"], signal["priority"]) == (
        "researcher",
        "WU-007",
        "core",
        "P0",
    )
    assert "hunter2" not in signal["message"]
    (node,) = [json.loads(line) for line in state.nodes.lines()]
    assert node["type"] == "discovery"
    assert node["metadata"] == {"status": "open", "priority": "P1", "task_id": "tsk-a", "trust": "worker"}
    assert node["created_by"] == "researcher"
    assert node["content"] == "leak␇\n\nat x:1"


@each_row(
    "secret",
    ["sk-ant-api03-abcdefghijklmnop", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE",
     "Authorization: Bearer abc.def-ghi_jkl", "glpat-abcdefghijklmnopqrst", "xoxb-123456789012-abcdef",
     "github_pat_11ABCDEFG0123456789abcdef", "https://user:pa55word@host/x", "gsk_abcdefghijklmnopqrstuvwx",
     "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "AIzaSyA-1234567890abcdefghijklmnopqrstuv",
     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmn"],
)  # fmt: skip
def test_common_shapes_of_keys_are_masked(secret):
    shown = redactor({})(f"before {secret} after")
    assert "[masked: " in shown
    for part in ("abcdef", "IOSFODNN", "pa55word", "MIIE", "567890"):
        assert part not in shown
    assert shown.startswith("before ")


def test_ordinary_text_is_left_alone():
    text = "task-sk is 5; see https://example.org/a:b@c and the Bearer of news; key=12"
    assert redactor({"HOME": "/root", "SHORT_KEY": "abc"})(text) == text
