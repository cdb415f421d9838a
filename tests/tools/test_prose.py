"""Constraints in prose: what becomes a rule, and what does not."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from lumen_rows import each_row

from lumen_tui.model.config import ApprovalsConfig, Config, WebConfig
from lumen_tui.model.roles import ALL_TOOLS, REQUEST_HOST, Role, ToolRule
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings.roles import parse_role
from lumen_tui.tools.base import BadRules, TaskRules
from lumen_tui.tools.policy.rules import derive
from lumen_tui.worker.prompt import limits

BUILDER = Role("builder", "p", tools=ALL_TOOLS, shell="any", write=True, network=True, hosts=("example.org",))  # noqa: S604
CUSTOM = msgspec.structs.replace(BUILDER, custom_tools=("ticket",))


def rules(*constraints: str, role: Role = BUILDER) -> TaskRules:
    return derive(role, Spec(id="t", objective="o", constraints=constraints), Config(approvals=ApprovalsConfig(ask=())))


@each_row(
    ("text", "asks"),
    [
        ("Ask before writing", ("write", "shell:any")),
        ("ask me before you run any command", ("shell",)),
        ("Commands need my approval", ("shell",)),
        ("Any change requires approval", ("write", "shell:any")),
        ("Change nothing without approval", ("write", "shell:any")),
        ("Never run commands without asking first", ("shell",)),
        ("Get confirmation before you download anything", ("web_fetch", "shell:any")),
    ],
)
def test_what_a_person_is_asked_for(text: str, asks: tuple[str, ...]) -> None:
    found = rules(text)
    assert set(found.asks) == set(asks)
    assert found.enforced == (text,)
    assert found.write
    assert found.shell == "any"


@each_row(
    ("text", "rule"),
    [
        ("At most 3 shell commands", ToolRule("max_count", "shell", count=3)),
        ("no more than two commands", ToolRule("max_count", "shell", count=2)),
        ("at most 2 web pages", ToolRule("max_count", "web_fetch", count=2)),
        ("call grep at most twice", ToolRule("max_count", "grep", count=2)),
        ("use glob first", ToolRule("run_first", "glob")),
        ("Start with list_dir.", ToolRule("run_first", "list_dir")),
        ("First, use disk usage", ToolRule("run_first", "disk_usage")),
        ("After web_fetch only discover or write_result",
         ToolRule("constrain_child", "web_fetch", then=("discover", "write_result"))),
        ("Send a signal before you finish", ToolRule("required_before_exit", "signal")),
        ("stop after discover", ToolRule("exit_loop", "discover")),
    ],
)  # fmt: skip
def test_what_becomes_a_rule(text: str, rule: ToolRule) -> None:
    found = rules(text)
    assert rule in found.tool_rules
    assert found.enforced == (text,)
    assert found.max_rows == 0


def test_commands_that_are_counted_do_not_run_in_the_background() -> None:
    found = rules("At most 3 shell commands").tool_rules
    assert ToolRule("deny", "shell_start", why="the commands of this task are counted") in found


def test_only_these_tools() -> None:
    assert rules("Use only glob, grep and read_file").tools == {
        "glob", "grep", "read_file", "write_result", "signal", "discover"}  # fmt: skip


@each_row(
    "text",
    ["Answer in French", "Find the largest files first", "Write the report before noon", "Be careful",
     "Get the list of users before the deadline", "Keep it short", "The end of the file matters"],
)  # fmt: skip
def test_what_stays_advice(text: str) -> None:
    assert rules(text).advice == (text,)
    assert rules(text).tool_rules == ()
    assert rules(text).asks == ()


def phrases() -> list[str]:
    """The phrases that the documentation lists as enforced, with a tool, a path and a number put in."""
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()
    rows = page.partition("| phrase | what holds |")[2].partition("\n\n")[0].splitlines()[2:]
    listed = [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row.split("|")[1])]
    filled = {"PATH": "/srv/app", "TOOL": "grep", "N": "3"}
    return [re.sub(r"\b(PATH|TOOL|N)\b", lambda word: filled[word[0]], phrase) for phrase in listed]


@each_row("phrase", phrases())
def test_every_phrase_of_the_documentation_is_enforced(phrase: str) -> None:
    for text in (phrase, f"{phrase}.", f"Please {phrase}", f"  {phrase.upper()};  " if "/" not in phrase else phrase):
        found = rules(text, role=CUSTOM)
        assert (found.enforced, found.advice) == ((text,), ())
        assert msgspec.structs.replace(found, enforced=()) != rules(role=CUSTOM)  # something does hold


@each_row(
    "text",
    [
        "Read only unless I say otherwise", "Do not modify files outside /srv/app", "Do not write, except in /tmp",
        "Only write in /srv/app", "Only read files that changed today", "Read /etc", "read only the last 10 lines",
        "Never delete old logs", "Do not change the API", "Use only find and jq", "Do not use grep on binaries",
        "Report at most 200 words", "At most 5 files may change", "No network drives", "Without shell quoting",
        "Ask for the ticket number before you write the summary", "Ask before deploying", "Start with grep on the logs",
        "Only in the morning", "Stay in scope", "Stay in /srv/app unless that fails", "Stop after discover fails",
        "Use find first and jq after it", "At most 3 shell commands a minute", "no web pages older than a year",
    ],
)  # fmt: skip
def test_what_is_understood_in_part_is_not_claimed(text: str) -> None:
    bare = rules()
    assert rules(text) == msgspec.structs.replace(bare, advice=(text,))


@pytest.mark.parametrize(
    "text",
    ["only read {}", "Only read files in {}", "Read only {}", "read-only below {}", "Look at nothing outside {}.",
     "only look in `{}`", "Read nothing but {}"],
)  # fmt: skip
def test_a_phrase_with_a_path_keeps_to_the_path_and_to_reading(make_box, tmp_path: Path, text: str) -> None:
    for folder in ("app", "else"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text("x")
    box = make_box("any", write=True, network=True, constraints=(text.format(tmp_path / "app"),))
    assert len(box.rules.enforced) == 1
    assert box.call("read_file", {"path": str(tmp_path / "app" / "x")}).ok
    assert not box.call("read_file", {"path": str(tmp_path / "else" / "x")}).ok
    assert not {"write_file", "edit_file", "apply_patch", "shell", "shell_start"} & box.rules.tools
    assert not box.call("write_file", {"path": str(tmp_path / "app" / "new"), "content": "x"}).ok
    assert not (tmp_path / "app" / "new").exists()


def test_of_two_paths_what_both_leave_holds() -> None:
    assert rules("Stay in /srv", "Only read /srv/app").roots == ("/srv/app",)
    assert rules("Only read /srv/app", "Stay in /srv").roots == ("/srv/app",)
    assert rules("Stay in /srv/a or /srv/b", "Stay in /srv/b").roots == ("/srv/b",)
    with pytest.raises(BadRules, match="no folder is in /srv/a and in /srv/b"):
        rules("Stay in /srv/a", "Stay in /srv/b")


def test_programs_of_the_operators_own_are_not_kept_to_a_path_and_so_are_gone() -> None:
    assert "ticket" in rules(role=CUSTOM).tools
    assert "ticket" not in rules("Stay in /srv", role=CUSTOM).tools
    assert "custom" in rules("Ask before writing", role=CUSTOM).asks


def test_sentences_of_one_constraint_count_for_themselves() -> None:
    found = rules("Read only. Answer in French. Report top 3, no network")
    assert found.enforced == ("Read only.", "Report top 3, no network")
    assert found.advice == ("Answer in French.",)
    assert (found.write, found.max_rows, found.network) == (False, 3, False)


def test_the_model_is_told_every_constraint() -> None:
    texts = ("Read only", "Answer in French", "Report top 3", "Only read /srv/app. Be brief.", "Ask before writing")
    told = limits(rules(*texts), Spec(id="t", objective="o"))
    for text in ("- Read only\n", "- Answer in French", "- Report top 3", "- Only read /srv/app.", "- Be brief.",
                 "- Ask before writing"):  # fmt: skip
        assert text in told


def test_read_only_still_means_read_only() -> None:
    found = rules("Read only. Ask before you run commands")
    assert not found.write
    assert found.shell == "read"
    assert not {"write_file", "edit_file", "apply_patch", "shell_start"} & found.tools


def test_no_network_takes_the_web_away() -> None:
    assert "web_fetch" in rules().tools
    assert "web_fetch" not in rules("no network").tools
    asks = Role("builder", "p", tools=ALL_TOOLS, shell="any", write=True)  # noqa: S604
    assert "web_fetch" in derive(asks, Spec(id="t", objective="o")).tools  # it reaches what a person adds
    without = msgspec.structs.replace(asks, tools=tuple(tool for tool in ALL_TOOLS if tool != REQUEST_HOST))
    assert "web_fetch" not in derive(without, Spec(id="t", objective="o")).tools
    assert "web_fetch" in derive(without, Spec(id="t", objective="o"), Config(web=WebConfig(hosts=("a.b",)))).tools


def test_rules_that_cannot_be_kept_stop_the_task_before_it_begins() -> None:
    with pytest.raises(BadRules, match="grep must be called"):
        rules("Start with grep", "Do not use grep")
    with pytest.raises(BadRules, match="two tools cannot both come first"):
        rules("Start with grep", "Use glob first")


ROLE = """+++
purpose = "p"
tools = ["shell", "glob"]

[[rules]]
kind = "run_first"
tool = "glob"

[[rules]]
{}
+++

x"""


def test_rules_stand_in_the_front_matter() -> None:
    role = parse_role("r", ROLE.format('kind = "deny"\ntool = "shell"\npattern = "rm *"'), "hired")
    assert [rule.kind for rule in role.rules] == ["run_first", "deny"]


@each_row(
    ("rule", "line", "what"),
    [
        ('kind = "denny"\ntool = "shell"', 10, "kind 'denny' is unknown: one of run_first"),
        ('kind = "deny"\ntool = "nope"', 11, "tool 'nope' is unknown"),
        ('kind = "max_count"\ntool = "shell"\ncount = "x"', 12, "a whole number is needed"),
        ('kind = "max_count"\ntool = "shell"\ncnt = 3', 12, "there is no 'cnt' in it; did you mean count"),
        ('tool = "shell"', 9, "'kind' is missing in it"),
    ],
)
def test_a_role_with_a_rule_that_nobody_knows_cannot_be_used(rule: str, line: int, what: str) -> None:
    with pytest.raises(BadFile, match=what) as caught:
        parse_role("r", ROLE.format(rule), "hired")
    assert caught.value.line == line
