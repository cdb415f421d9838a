"""The reference of the commands: the committed page, the manual page, the completion."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from lumen_tui.cli import reference
from lumen_tui.cli.main import main


def test_the_committed_page_is_what_the_declarations_give() -> None:
    committed = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    assert committed == reference.markdown(), "`make docs` writes it again"


@pytest.mark.parametrize(
    ("form", "begins"), [("--markdown", "# Commands"), ("--man", ".TH"), ("--completion", "# bash")]
)
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


def completed(*words: str) -> set[str]:
    """What bash offers for the last of these words."""
    script = "\n".join(
        [
            reference.completion(),
            f"COMP_WORDS=(lumen-tui {shlex.join(words)})",
            f"COMP_CWORD={len(words)}",
            "_lumen_tui",
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ]
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == ""
    return {*done.stdout.split()}


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sta",), {"status", "start"}),
        (("--state", "/tmp/x", "sta"), {"status", "start"}),
        (("archive", "w"), {"withdraw"}),
        (("task", "l"), {"limit", "list", "log"}),
        (("task", "new", "an objective", "--dep"), {"--depends-on"}),
        (("wu", "new", "title", "--type", "q"), {"question"}),
        (("inbox", "--no"), {"--no-mark"}),
        (("start", "--wu", "WU-001", "--context-tier", "f"), {"full"}),
        (("nothing", "x"), set()),
    ],
)
def test_bash_completes_commands_options_and_values(words: tuple[str, ...], offered: set[str]) -> None:
    assert completed(*words) == offered
