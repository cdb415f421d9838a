"""`skills list | check | show` as a person has them, in a repository and without a state folder."""

from __future__ import annotations

import json

import pytest

GOOD = "---\nname: pdf\ndescription: Splits PDF files.\nlicense: MIT\nmetadata:\n  author: ann\n---\nSplit with qpdf.\n"


@pytest.fixture
def project(tmp_path):
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    (top / "skills" / "pdf").mkdir(parents=True)
    (top / "skills" / "pdf" / "SKILL.md").write_text(GOOD)
    return top


def test_what_is_there_and_nothing_wrong(shell, project):
    listed = shell("skills", "--folder", str(project))
    assert listed.returncode == 0 and "pdf" in listed.stdout and "Splits PDF files." in listed.stdout
    checked = shell("skills", "check", "--folder", str(project))
    assert (checked.returncode, checked.stdout) == (0, "1 skill, nothing wrong\n")
    shown = shell("skills", "show", "pdf", "--folder", str(project))
    for words in ("Split with qpdf.", "license", "MIT", "author", "ann", "the folder worked in", "It grants nothing"):
        assert words in shown.stdout


def test_each_problem_has_its_file_and_line_and_the_exit_code_is_1(shell, project):
    (project / "skills" / "bad").mkdir()
    (project / "skills" / "bad" / "SKILL.md").write_text("---\nname: bad\n---\n")
    (project / "skills" / "pdf" / "notes.md").write_text("a\n<!-- hidden -->\n")
    checked = shell("skills", "check", "--folder", str(project))
    assert checked.returncode == 1
    first, second = checked.stdout.splitlines()
    assert first.startswith(f"{project}/skills/bad/SKILL.md:1: description is missing") and first.endswith("(not used)")
    assert second.startswith(f"{project}/skills/pdf/notes.md:2: ")
    assert "1 not used: `lumen-tui skills check` says why" in shell("skills", "--folder", str(project)).stderr
    one = shell("skills", "check", "bad", "--folder", str(project), "--json")
    assert one.returncode == 1
    assert [problem["line"] for problem in json.loads(one.stdout)["problems"]] == [1]


def test_what_is_not_used_is_shown_with_its_reason_and_no_name_makes_a_line_of_its_own(shell, project):
    for name in ("bad", "a\nSKILL.md:1: b\x1b[8m"):
        (project / "skills" / name).mkdir(parents=True)
        (project / "skills" / name / "SKILL.md").write_text("no front matter\n")
    said = shell("skills", "show", "bad", "--folder", str(project))
    assert said.returncode == 2 and "that skill is not used" in said.stderr
    assert f"{project}/skills/bad/SKILL.md:1: the file must begin with" in said.stderr
    checked = shell("skills", "check", "--folder", str(project)).stdout
    assert len(checked.splitlines()) == 2 and "\x1b" not in checked


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("show", "pfd"), 3, "did you mean: pdf"),
        (("check", "pfd"), 3, "no skill 'pfd'"),
        (("show", "../pdf"), 3, "no skill '../pdf'"),
        (("list", "--folder", "/nowhere"), 3, "is no folder"),
        (("list", "--role", "nobody"), 3, "nobody"),
        (("show",), 2, "NAME"),
    ],
)
def test_what_is_not_there_is_said(shell, project, words, code, why):
    folder = () if "--folder" in words else ("--folder", str(project))
    answer = shell("skills", *words, *folder)
    assert answer.returncode == code
    assert why in answer.stderr


def test_a_folder_is_checked_without_a_state_folder_and_nothing_is_made(shell, project, tmp_path):
    checked = shell("skills", "check", "--folder", str(project), LUMEN_STATE=str(tmp_path / "none"))
    assert checked.returncode == 0, checked.stderr
    assert not (tmp_path / "none").exists()


def test_a_role_has_those_that_it_names(shell, project):
    text = '+++\npurpose = "Clerk."\nskills = ["report"]\n+++\n\nYou are a clerk.\n'
    shell.layout.role("clerk").parent.mkdir(exist_ok=True)
    shell.layout.role("clerk").write_text(text)
    listed = shell("skills", "list", "--folder", str(project), "--role", "clerk")
    assert (listed.stdout, "no skills here" in listed.stderr) == ("", True)
