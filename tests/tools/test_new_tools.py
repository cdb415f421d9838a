"""Memory, signals, commands in the background, custom tools: they do their work, and no more than that."""

from __future__ import annotations

import json
import os
import time

import pytest

from lumen_tui.model.records import Node, Signal
from lumen_tui.model.roles import Limits
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings import roles
from lumen_tui.tools.base import BadRules

AT = "2026-01-0{}T00:00:00Z"


@pytest.fixture
def remembered(state):
    state.nodes.append(Node("mem-a", "note", "The disk of host seven fills up", AT.format(1), tags=("disk",)))
    doubtful = {"trust": "untrusted"}
    state.nodes.append(Node("mem-b", "discovery", "Disk errors on host nine", AT.format(2), metadata=doubtful))
    state.nodes.append(Node("mem-c", "note", "Lunch is at noon", AT.format(3)))
    state.nodes.append(Node("mem-d", "note", "disk disk disk", AT.format(4)))
    state.nodes.append(Node("mem-d", "note", "disk disk disk", AT.format(4), metadata={"status": "archived"}))
    return state


def test_memory_is_searched_by_words(make_box, remembered):
    result = make_box().call("memory_search", {"query": "disk host seven"})
    assert result.data["ids"] == ["mem-a", "mem-b"]
    assert "(untrusted)" in result.text
    assert make_box().call("memory_search", {"query": "disk", "type": "note"}).data["ids"] == ["mem-a"]
    assert make_box().call("memory_search", {"query": "nothing at all like it"}).text != ""


def test_what_is_recalled_was_used(make_box, remembered):
    assert "fills up" in make_box().call("recall", {"id": "mem-a"}).text
    (touch,) = [json.loads(line) for line in remembered.touches.lines()]
    assert (touch["node_id"], touch["by"]) == ("mem-a", "researcher")
    assert "there is no node" in make_box().call("recall", {"id": "mem-zz"}).text
    assert "there is no node" in make_box().call("recall", {"id": "../../x"}).text


def test_a_note_says_whose_word_it_is(make_box, state):
    box = make_box()
    box.call("remember", {"text": "host seven has 4 disks", "tags": ["disk"]})
    box._context.memo.web.add("example.org")
    box.call("remember", {"text": "a page says so"})
    box.call("discover", {"title": "a page says that too"})
    found = [json.loads(line)["metadata"] for line in state.nodes.lines()]
    assert [one["trust"] for one in found] == ["worker", "untrusted", "untrusted"]
    assert found[1]["read_from"] == ["example.org"]


def test_signals_are_read_once_by_the_role(make_box, state):
    state.signals.append(Signal("sig-a", "to all", AT.format(1), sender="ann", priority="P0"))
    state.signals.append(Signal("sig-b", "to another", AT.format(2), target_agent="builder"))
    state.signals.append(Signal("sig-c", "to me", AT.format(3), target_agent="researcher"))
    assert make_box().call("read_signals", {"mark_read": False}).data["ids"] == ["sig-c", "sig-a"]
    assert "from ann  P0" in make_box().call("read_signals", {}).text
    assert make_box().call("read_signals", {}).text == "nothing unread"
    readers = {json.loads(line)["reader"] for line in state.receipts.lines()}
    assert readers == {"researcher"}


@pytest.fixture
def builder(make_box, yes):
    box = make_box(
        "any", write=True, ask=yes, limits=Limits(max_steps=1000)
    )  # a look at a flood takes few bytes or many
    yield box
    box.close()


def until_ended(box, name, seconds=10.0):
    """All that a job writes until its end, and its last state."""
    text, ends = "", time.monotonic() + seconds
    while time.monotonic() < ends:
        result = box.call("shell_output", {"name": name, "timeout": 1})
        assert result.ok, result.text
        text += result.data["output"]
        if not result.data["running"]:
            return text, result
    raise AssertionError(f"it did not end: {text}")


def test_a_command_runs_on_in_the_background(builder):
    started = builder.call("shell_start", {"command": "echo one; sleep 0.2; echo two; exit 3"})
    assert started.data == {"name": "job-1"}
    text, last = until_ended(builder, "job-1")
    assert text == "one\ntwo\n"
    assert "exit code 3" in last.text


def test_it_ends_when_it_is_told_to_and_when_its_time_is_up(builder):
    builder.call("shell_start", {"command": "sleep 600"})
    began = time.monotonic()
    assert "ended: stopped" in builder.call("shell_stop", {"name": "job-1"}).text
    builder.call("shell_start", {"command": "sleep 600", "timeout": 0.3})
    assert "its time was up" in until_ended(builder, "job-2")[1].text
    assert time.monotonic() - began < 9


def test_it_ends_with_the_task_and_there_are_not_many(builder):
    for _ in range(4):
        assert builder.call("shell_start", {"command": "sleep 600"}).ok
    assert "4 commands run already" in builder.call("shell_start", {"command": "sleep 600"}).text
    jobs = list(builder._context.memo.running.values())
    builder.close()
    assert [job.exit_code is not None for job in jobs] == [True] * 4


def test_a_flood_is_bounded_and_a_read_only_role_starts_nothing(builder, make_box):
    builder.call("shell_start", {"command": "head -c 3000000 /dev/zero | tr '\\0' x; sleep 1"})
    text, last = until_ended(builder, "job-1")
    assert len(text) <= 3_000_000 and len(text) + last.truncated > 900_000
    assert "not among those" in make_box("read").call("shell_start", {"command": "ls"}).text
    assert "there is no 'job-9'" in builder.call("shell_output", {"name": "job-9"}).text


TOOL = """description = "Counts the letters of a word."
command = ["./count.sh"]
risk = "low"

[schema]
type = "object"
required = ["word"]

[schema.properties.word]
type = "string"
maxLength = 20

[[rules]]
kind = "max_count"
count = 2
"""


@pytest.fixture
def custom(state):
    """A custom tool that answers with the arguments it got."""
    (state.layout.custom_tools / "count.toml").write_text(TOOL)
    script = state.layout.custom_tools / "count.sh"
    script.write_text('#!/bin/sh\necho "got $1"\n')
    script.chmod(0o700)
    return state.layout.custom_tools / "count.toml"


def test_a_program_of_the_operators_own_is_a_tool(make_box, custom):
    box = make_box("any", write=True, custom_tools=("count",))
    (declared,) = [tool for tool in box.declarations() if tool.name == "count"]
    assert declared.schema["required"] == ["word"]
    result = box.call("count", {"word": "a b; touch $HOME/x"})
    assert result.text == 'got {"word":"a b; touch $HOME/x"}\n'
    assert "word is missing" in box.call("count", {}).text
    assert "at most 20" in box.call("count", {"word": "x" * 21}).text
    assert "'more' is unknown" in box.call("count", {"word": "x", "more": 1}).text
    assert box.call("count", {"word": "y"}).ok
    assert "may be called 2 times" in box.call("count", {"word": "z"}).text


def test_a_risky_one_asks(make_box, custom):
    custom.write_text(TOOL.replace('risk = "low"', 'risk = "high"'))
    result = make_box("any", write=True, custom_tools=("count",)).call("count", {"word": "x"})
    assert "nobody can be asked here" in result.text


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        (('kind = "max_count"', 'kind = "most"'), 14, "kind 'most' is unknown"),
        (('risk = "low"', 'risk = "none"'), 3, "unknown: one of"),
        (('command = ["./count.sh"]', "command = []"), 2, "at least|out of range|length"),
        (('description = "Counts the letters of a word."', "descr = 1"), 1, "no such setting"),
        (("[schema]", "[schema"), 5, "Expected"),
    ],
)
def test_a_tool_that_is_not_in_order_cannot_be_used(make_box, state, custom, change, line, what):
    custom.write_text(TOOL.replace(*change))
    with pytest.raises(BadFile, match=what) as caught:
        roles.load_custom_tool(state.layout, "count")
    assert caught.value.line == line
    with pytest.raises(BadRules, match=f"custom-tools/count.toml line {line}"):
        make_box(custom_tools=("count",))
    assert [problem.where for problem in roles.list_custom_tools(state.layout)[1]] == [
        f"custom-tools/count.toml:{line}"
    ]


@pytest.mark.parametrize(
    ("more", "what"),
    [("writes = true\n", "no write = true"), ("network = true\n", "no network = true"),
     ('schema = {type = "object", oneOf = []}\n', "'oneOf', which is not understood")],
)  # fmt: skip
def test_a_tool_that_does_not_fit_the_role_stops_the_task(make_box, custom, more, what):
    text = TOOL.partition("[schema]")[0] + more
    custom.write_text(text if "schema" in more else text + "[schema]" + TOOL.partition("[schema]")[2])
    with pytest.raises(BadRules, match=what):
        make_box(custom_tools=("count",))


def test_a_built_in_name_is_taken_and_a_missing_file_is_named(make_box, state):
    (state.layout.custom_tools / "grep.toml").write_text(TOOL)
    with pytest.raises(BadRules, match="name of a built-in tool"):
        make_box(custom_tools=("grep",))
    with pytest.raises(BadRules, match=r"there is no custom-tools/nope\.toml"):
        make_box(custom_tools=("nope",))
    with pytest.raises(BadRules):
        make_box(custom_tools=("../../etc/x",))
    assert os.listdir(state.layout.approvals) == ["done"]
