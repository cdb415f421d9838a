"""What failed beside other tests is tried once more by itself; what is broken stays red."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import lumen_again

SLOW = """
import pathlib, pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("what", ["a@b"])
def test_slow(what):
    before = pathlib.Path("before")
    ran = before.exists()
    before.touch()
    assert ran
"""
BROKEN = "\nimport pytest\n@pytest.mark.parametrize('at', range({}))\ndef test_broken(at): assert at is None\n"


def twice(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(source)
    words = [sys.executable, lumen_again.__file__, "-p", "no:randomly", *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_what_passes_by_itself_is_named_and_green(tmp_path):
    ran = twice(tmp_path, SLOW, "-n", "2", "--dist", "loadgroup")
    assert ran.returncode == 0, ran.stdout
    assert "1 failed" in ran.stdout and "once more, by themselves: test_some.py::test_slow[a@b]" in ran.stdout


def test_what_is_broken_is_red_twice(tmp_path):
    ran = twice(tmp_path, SLOW + BROKEN.format(1))
    assert ran.returncode == 1
    assert ran.stdout.count("FAILED test_some.py::test_broken[0]") == 2 and "1 failed, 1 passed" in ran.stdout


def test_where_much_is_broken_nothing_is_tried_again(tmp_path):
    ran = twice(tmp_path, BROKEN.format(lumen_again.MOST + 1))
    assert ran.returncode == 1 and "once more" not in ran.stdout


def test_what_cannot_be_run_is_not_tried_again(tmp_path):
    ran = twice(tmp_path, "import nothing_of_that_name")
    assert ran.returncode == 2 and "once more" not in ran.stdout


def test_rows_that_must_run_are_asked_of_the_first_run_alone(tmp_path, monkeypatch):
    asks = "\nimport os\ndef test_rows(): assert 'LUMEN_MUST_RUN' not in os.environ\n"
    monkeypatch.setenv("LUMEN_MUST_RUN", "rows")
    ran = twice(tmp_path, asks)
    assert ran.returncode == 0, ran.stdout
    assert "once more, by themselves: test_some.py::test_rows" in ran.stdout
