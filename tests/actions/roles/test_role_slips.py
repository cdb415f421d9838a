"""A slip in a role never lets its workers do more than its file says, and what a change brings with it is told."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

from lumen_tui.__main__ import main
from lumen_tui.model.agent import WAIT
from lumen_tui.model.approvals import ASK
from lumen_tui.model.config import Config, WebConfig
from lumen_tui.model.roles import ALL_TOOLS, Role, ToolRule
from lumen_tui.model.skills import TOOL as SKILL
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings.prompts import shipped_prompt
from lumen_tui.store.settings.roles import list_roles, load_role, parse_role
from lumen_tui.store.tasks import task_files
from lumen_tui.tools.base import BadRules
from lumen_tui.tools.policy.rules import derive
from lumen_tui.tools.toolbox import TOOLS

SLIPS = {
    "[limits]\nmax_step = 3": (3, "limits.max_step: there is no such setting; did you mean max_steps?"),
    "[limits]\nwall_clock = 3": (
        3,
        "limits.wall_clock: there is no such setting; one of timeout_seconds, stall_seconds",
    ),
    "[limit]\nmax_steps = 3": (3, "limit: there is no such setting; did you mean limits?"),
    'writabel = ["/srv"]': (3, "writabel: there is no such setting; did you mean writable?"),
    "Write = false": (3, "Write: there is no such setting; did you mean write?"),
    'shel = "none"': (3, "shel: there is no such setting; did you mean shell?"),
    '[[rule]]\nkind = "deny"\ntool = "shell"': (3, "rule: there is no such setting; did you mean rules?"),
    "max_steps = 3": (3, "max_steps: there is no such setting"),
    "[limits]\nmax_steps = 0": (4, "limits.max_steps: 0 is out of range: 1 to 100000"),
    "network = 0": (3, "network: true or false is needed, not 0"),
}


def file(slip: str) -> str:
    return f'+++\npurpose = "p"\n{slip}\n+++\n\nWork.\n'


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_a_role_file_is_named_with_its_line_and_the_role_cannot_be_used(house, slip):
    line, what = SLIPS[slip]
    with pytest.raises(BadFile) as caught:
        parse_role("builder", file(slip), "hired")
    assert str(caught.value).startswith(what)
    house.layout.role("builder").write_text(file(slip))  # over the shipped one, which must not come back for it
    with pytest.raises(BadFile):
        load_role(house.layout, "builder")
    found, _, problems = list_roles(house.layout)
    assert "builder" not in [role.name for role in found]
    assert [problem.where.partition(":")[0] for problem in problems] == ["roles/builder.md"]
    assert caught.value.line in (line, line + 1)


def test_every_tool_that_the_documentation_names_can_be_given_to_a_role():
    always = {ASK, SKILL, WAIT}  # every worker may ask, read skills, and wait for what it ordered
    assert {*TOOLS} == {*ALL_TOOLS, *always}
    role = Role("r", "p", tools=ALL_TOOLS, shell="any", write=True, hosts=("a.b",))  # noqa: S604
    assert derive(role, Spec(id="t", objective="o")).tools == {*ALL_TOOLS, *always}


def test_no_role_loses_the_tool_that_every_prompt_asks_for():
    role = Role("r", "p", tools=("glob",), prompt="Work.")
    rules = derive(role, Spec(id="t", objective="o", constraints=("Use only find", "Do not use write_result")))
    assert "write_result" in rules.tools and "call write_result" in shipped_prompt("worker").body
    with pytest.raises(BadRules, match="write_result is refused by a rule"):
        derive(Role("r", "p", rules=(ToolRule("deny", "write_result"),)), Spec(id="t", objective="o"))


@pytest.fixture
def lumen(house, capsys):
    """Run the program; what it says on both streams."""

    def run(*words: str, code: int = 0) -> str:
        assert main(["--state", str(house.layout.root), *words]) == code
        said = capsys.readouterr()
        return said.err + said.out

    return run


MISFITS = [
    (("--tools", "glob,write_file"), "write_file needs write = true"),
    (("--tools", "glob,shell", "--shell", "none"), 'shell needs shell = "read" or "any"'),
    (("--tools", "glob,shell_start", "--shell", "none"), 'shell_start needs shell = "any"'),
    (("--tools", "glob,shell,shell_stop", "--shell", "read"), 'shell_stop needs shell = "any" and write = true'),
    (("--tools", "glob,shell_stop", "--shell", "any"), 'shell_stop needs shell = "any" and write = true'),
    (("--tools", "write_file,edit_file"), "write_file, edit_file need write = true: set it, or leave them out"),
    (("--tools", "glob", "--write", "yes"), "write = true needs a tool that writes"),
    (("--tools", "glob,shell", "--shell", "read", "--write", "yes"), "write = true needs a tool that writes"),
    (("--tools", "glob,web_fetch"), "web_fetch needs hosts"),
    (("--tools", "web_fetch", "--hosts", "https://a.org/b"), "'https://a.org/b' is no host"),
]


@pytest.mark.parametrize(("words", "why"), MISFITS)
def test_tools_that_a_role_could_not_use_are_refused_with_what_they_need(house, lumen, words, why):
    before = load_role(house.layout, "researcher")
    assert why in lumen("role", "adjust", "researcher", *words, code=2)
    assert why in lumen("role", "hire", "scout", "--like", "researcher", *words, code=2)
    assert load_role(house.layout, "researcher") == before
    assert not house.layout.role("scout").exists()


@pytest.mark.parametrize(("words", "why"), MISFITS[:-2])
def test_a_file_with_such_tools_from_before_is_named_by_its_line_and_its_tasks_go_without(house, lumen, words, why):
    fields = dict(zip(words[::2], words[1::2], strict=True))
    tools = ", ".join(f'"{tool}"' for tool in fields["--tools"].split(","))
    text = f'+++\npurpose = "p"\ntools = [{tools}]\n'
    text += f'shell = "{fields.get("--shell", "read")}"\nwrite = {str("--write" in fields).lower()}\n+++\n\nWork.\n'
    house.layout.roles.mkdir(exist_ok=True)
    house.layout.role("builder").write_text(text)
    problem = list_roles(house.layout)[2][0]
    assert why in problem.what and problem.where in ("roles/builder.md:3", "roles/builder.md:5")
    rules = derive(load_role(house.layout, "builder"), Spec(id="t", objective="o"))
    assert rules.tools <= {"glob", "shell", "write_result", ASK, SKILL}
    assert why in lumen("role", "adjust", "builder", "--tier", "sonnet", code=2)
    assert house.layout.role("builder").read_text() == text


def test_powers_are_given_by_flags(house, lumen):
    lumen("role", "adjust", "researcher", "--tools", "glob,web_fetch", "--hosts", "example.org")
    assert "it keeps write_result" in lumen("role", "adjust", "researcher", "--tools", "glob")
    house.layout.config.write_text('[web]\nhosts = ["example.org"]\n')
    lumen("role", "adjust", "researcher", "--tools", "web_fetch", "--hosts", "")
    powers = ("--shell", "any", "--write", "yes", "--skills", "pdf,docx")
    lumen("role", "hire", "scout", "--like", "researcher", "--tools", "shell,write_file", *powers)
    role = load_role(house.layout, "scout")
    assert (role.shell, role.write, role.network, role.skills) == ("any", True, False, ("pdf", "docx"))


def test_the_example_of_a_role_is_shown_and_queued(house, lumen, tmp_path):
    assert "[example]" in lumen("role", "show", "tester")
    said = lumen("role", "try", "tester", "--folder", str(tmp_path), "--steps", "9", "--timeout", "5m", "--json")
    spec = task_files.read_spec(house.layout, json.loads(said[said.index("{") :])["target"])
    example = load_role(house.layout, "tester").example
    assert (spec.objective, spec.role, spec.folder) == (example.objective, "tester", str(tmp_path))
    assert (spec.steps, spec.timeout_seconds) == (9, 300.0)
    assert "is given no tasks" in lumen("role", "try", "main", code=2)
    house.layout.role("night-owl").write_text('+++\npurpose = "p"\n+++\n\nWork.\n')
    assert "has no example" in lumen("role", "try", "night-owl", code=2)


def test_the_limits_of_a_task_are_given_by_flags_and_shown(house, lumen):
    limits = ("--steps", "9", "--timeout", "5m", "--usd", "0.5", "--tokens", "1000")
    task_id = json.loads(lumen("task", "new", "Look", *limits, "--json"))["target"]
    spec = task_files.read_spec(house.layout, task_id)
    assert (spec.steps, spec.timeout_seconds, spec.budget.usd, spec.budget.tokens) == (9, 300.0, 0.5, 1000)
    shown = lumen("task", "show", task_id)
    assert "9 tool calls" in shown and "5 m" in shown and "$0.50" in shown
    assert "steps will not do" in lumen("task", "new", "Look", "--steps", "-1", code=2)
    lumen("task", "edit", task_id, "--steps", "12")
    assert task_files.read_spec(house.layout, task_id).steps == 12


def test_limits_are_given_by_flags(house, lumen):
    lumen("role", "adjust", "builder", "--max-steps", "7", "--timeout-seconds", "90", "--memory-mb", "300")
    lumen("role", "hire", "scout", "--like", "builder", "--at-once", "2", "--processes", "9", "--cpu-seconds", "5")
    limits = load_role(house.layout, "scout").limits
    assert (limits.max_steps, limits.timeout_seconds, limits.memory_mb) == (7, 90.0, 300)
    assert (limits.at_once, limits.processes, limits.cpu_seconds) == (2, 9, 5)
    assert "limits.max_steps: 0 is out of range: 1 to" in lumen("role", "adjust", "scout", "--max-steps", "0", code=2)
    assert "now: 7" not in lumen("role", "adjust", "scout", "--max-steps", "8", "--dry-run")
    assert load_role(house.layout, "scout").limits.max_steps == 7


def _editor(folder: Path, program: str) -> str:
    """An editor that changes its file by a line of Python; `text` is what stands there."""
    path = folder / "editor.py"
    path.write_text(f"import pathlib, sys\nplace = pathlib.Path(sys.argv[1])\ntext = place.read_text()\n{program}\n")
    return f"{sys.executable} {path}"


def test_a_role_is_written_in_the_editor(house, lumen, tmp_path, monkeypatch):
    monkeypatch.setenv("EDITOR", _editor(tmp_path, "place.write_text(text.replace('in one sentence', 'or so'))"))
    monkeypatch.delenv("VISUAL", raising=False)
    lumen("role", "hire", "scribe", "--blank", "--edit")
    assert load_role(house.layout, "scribe").purpose.endswith("or so")
    lumen("role", "adjust", "scribe", "--edit", code=3)
    monkeypatch.setenv("EDITOR", _editor(tmp_path, "place.write_text(text + 'Keep to the facts.')"))
    lumen("role", "adjust", "scribe", "--edit", "--tier", "sonnet")
    role = load_role(house.layout, "scribe")
    assert (role.tier, role.prompt.strip().endswith("Keep to the facts.")) == ("sonnet", True)


@pytest.mark.parametrize("program", ["place.write_text('no role')", "sys.exit(3)", "place.unlink()"])
def test_what_came_back_from_the_editor_unfit_changes_nothing_and_is_kept(house, lumen, tmp_path, monkeypatch, program):
    monkeypatch.setenv("VISUAL", _editor(tmp_path, program))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = load_role(house.layout, "builder")
    lumen("role", "adjust", "builder", "--edit", code=2)
    assert load_role(house.layout, "builder") == before
    kept = [path.read_text() for path in tmp_path.glob("lumen-edit-*/builder.md")]
    assert kept == (["no role"] if "no role" in program else [])


@pytest.mark.parametrize("dry", [("--dry-run",), ()])
def test_firing_says_what_it_means_also_of_the_main_agent(house, lumen, dry):
    house.do("task.new", objective="wait for it", role="builder")
    said = lumen("role", "fire", "builder", "-r", "too dear", *dry)
    assert "1 task queued: they will not start until it is rehired." in said and "wait for it" in said
    said = lumen("role", "fire", "main", "--reason", "a test", *dry)
    assert "It is the agent itself: without it no model thinks in a loop" in said
    assert ("main fired" in said) == (not dry)
    assert {"builder", "main"} <= {role.name for role in list_roles(house.layout)[0]} if dry else {
        "builder", "main"} <= {*list_roles(house.layout)[1]}  # fmt: skip
    if not dry:
        assert '"reason":"too dear"' in house.layout.personnel.read_text()


def test_a_closed_web_is_closed_for_the_hosts_of_roles_too():
    role = Role("r", "p", tools=("web_fetch",), hosts=("example.org",))
    closed = Config(web=WebConfig(hosts=("-",)))
    assert "web_fetch" in derive(role, Spec(id="t", objective="o")).tools
    assert "web_fetch" not in derive(role, Spec(id="t", objective="o"), closed).tools
