"""What proves the tasks of a role: from its file, unless a task says so itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lumen_folder import StateFolder

from lumen_tui.cli.main import main
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings.roles import list_roles, parse_role, render_role
from lumen_tui.store.tasks import task_files

_ROLE = """+++
purpose = "Builds."
write = true
shell = "any"
tools = ["read_file", "write_file", "shell", "write_result"]
accept = ["command: make test", "file: dist/*.whl"]
+++

Build it.
"""
_CHECKS = ("command: make test", "file: dist/*.whl")


@pytest.fixture
def desk(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "state", 1_800_000_000.0)
    folder.layout.create()
    folder.layout.role("maker").write_text(_ROLE)
    return folder


def test_a_task_has_the_checks_of_its_role_unless_it_has_its_own(desk):
    plain = desk.do("task.new", objective="build", role="maker").target
    own = desk.do("task.new", objective="build", role="maker", accept=["fact: port 8080"]).target
    other = desk.do("task.new", objective="build", role="builder").target
    accepts = [task_files.read_spec(desk.layout, one).accept for one in (plain, own, other)]
    assert accepts == [_CHECKS, ("fact: port 8080",), ()]


def test_they_are_shown_with_the_task_and_in_its_prompt(desk, capsys, monkeypatch):
    monkeypatch.setenv("LUMEN_STATE", str(desk.root))
    task = desk.do("task.new", objective="build", role="maker").target
    assert main(["task", "show", task]) == 0
    assert "command: make test; file: dist/*.whl" in capsys.readouterr().out
    assert main(["prompt", "show", "maker", "--task", task]) == 0
    shown = capsys.readouterr().out
    assert "command: make test ends with exit code 0" in shown


def test_a_role_keeps_them_when_its_file_is_written_again():
    role = parse_role("maker", _ROLE, "hired")
    assert role.accept == _CHECKS
    assert parse_role("maker", render_role(role), "hired").accept == _CHECKS


@pytest.mark.parametrize("bad", ['["make test"]', '["command:"]', '"command: make"', '["fact: moon full"]'])
def test_checks_that_are_none_are_named_with_their_line(desk, bad):
    text = _ROLE.replace('["command: make test", "file: dist/*.whl"]', bad)
    with pytest.raises(BadFile, match="accept") as error:
        parse_role("maker", text, "hired")
    assert error.value.line == 6
    desk.layout.role("maker").write_text(text)
    assert any(problem.where == "roles/maker.md:6" for problem in list_roles(desk.layout)[2])
