"""Two revisions measured in turns: what changed is told from what the machine did meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.compare import compared

# A project as small as one can be: its figure is what `figure.txt` says, and both sides have the same load beside them.
MAKEFILE = ".venv/.ready:\n\tmkdir -p .venv/bin && ln -s {} .venv/bin/python && touch .venv/.ready\n"
MEASURE = """
import json, pathlib
load = pathlib.Path({!r})
load.write_text(load.read_text() + "x")
value = float(pathlib.Path("figure.txt").read_text()) * (1 + len(load.read_text()) % 4 / 100)
row = {{"id": "G1", "what": "start", "value": value, "unit": "ms", "more_is_better": False, "skipped": ""}}
print(json.dumps({{"rows": [row]}}))
"""


def row(value: float, *, more: bool = False, skipped: str = "") -> dict[str, object]:
    return {"id": "G1", "what": "x", "value": value, "unit": "/s", "more_is_better": more, "skipped": skipped}


def verdict(*pairs: tuple[float, float], more: bool = False) -> str:
    (figure,) = compared(([row(here, more=more)], [row(there, more=more)]) for here, there in pairs)
    return figure.verdict


def test_a_change_is_one_that_every_round_shows() -> None:
    assert verdict(*[(8, 10)] * 6) == "better"
    assert verdict(*[(8, 10)] * 6, more=True) == "worse"
    assert verdict(*[(8, 10)] * 5, (11, 10)) == ""
    assert verdict(*[(10, 10)] * 6) == ""
    assert verdict(*[(8, 10)] * 5) == "", "too few rounds to tell"


def test_a_load_that_grows_meanwhile_changes_no_verdict() -> None:
    assert verdict(*[(8 * load, 10 * load) for load in (1, 2, 4, 8, 16, 32)]) == "better"


def test_what_only_one_side_has_or_skipped_is_not_compared() -> None:
    assert compared([([row(1)], []), ([row(1, skipped="no root")], [row(1)]), ([row(1)], [row(1, skipped="x")])]) == []


def test_a_figure_of_nothing_has_no_ratio() -> None:
    (figure,) = compared([([row(1)], [row(0)])])
    assert figure.cells[4:] == ("", "", "")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    load = tmp_path / "load"
    load.write_text("")
    root = tmp_path / "project"
    (root / "benchmarks").mkdir(parents=True)
    (root / "benchmarks" / "__main__.py").write_text(MEASURE.format(str(load)))
    (root / "Makefile").write_text(MAKEFILE.format(sys.executable))
    (root / ".gitignore").write_text(".venv\n")
    (root / "figure.txt").write_text("20")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "slow")
    (root / "figure.txt").write_text("10")
    subprocess.run(["make", "--silent", ".venv/.ready"], cwd=root, check=True)
    monkeypatch.setattr(compare, "ROOT", root)
    return root


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout


def test_a_revision_is_measured_beside_this_tree_and_taken_away_again(project, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare", "HEAD"])
    assert compare.main() == 0
    printed = capsys.readouterr().out
    assert "1 figures: 1 better, 0 worse" in printed
    assert len(git(project, "worktree", "list").splitlines()) == 1


def test_a_revision_that_is_not_there_is_named(project, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare", "nowhere"])
    with pytest.raises(SystemExit) as ended:
        compare.main()
    assert ended.value.code == 2 and "git knows no commit 'nowhere'" in capsys.readouterr().err
    assert len(git(project, "worktree", "list").splitlines()) == 1


def test_benchmarks_that_fail_end_it_with_their_words(project, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["compare", "HEAD", "--rounds", "1"])
    (project / "benchmarks" / "__main__.py").write_text("raise SystemExit('no disk')")
    with pytest.raises(SystemExit, match="ended with 1:\nno disk"):
        compare.main()
    assert len(git(project, "worktree", "list").splitlines()) == 1
