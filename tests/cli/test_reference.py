"""The reference of the commands: the committed page and the manual page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from lumen_tui.cli import reference
from lumen_tui.cli.main import main


def test_the_committed_page_is_what_the_declarations_give() -> None:
    committed = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    assert committed == reference.markdown(), "`make docs` writes it again"


@pytest.mark.parametrize(("form", "begins"), [("--markdown", "# Commands"), ("--man", ".TH"), ("--json", "{")])
def test_help_prints_it_in_each_form(form: str, begins: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", form]) == 0
    assert capsys.readouterr().out.startswith(begins)


def test_a_form_that_is_not_there_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "--mann"]) == 2
    assert "did you mean: --man" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_the_manual_page_is_roff_without_a_warning() -> None:
    command = ["groff", "-man", "-ww", "-z", "-Tutf8"]
    done = subprocess.run(command, input=reference.man(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
