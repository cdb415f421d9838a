"""A run of the tests that never began ends with its own reason."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PLUGIN = "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_configure():\n    pytest.exit('not today', 7)\n"


def test_what_is_cleared_up_at_the_end_needs_no_beginning(tmp_path: Path) -> None:
    (tmp_path / "refusing.py").write_text(PLUGIN)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LUMEN_", "PYTEST_"))}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "refusing", "-p", "no:cacheprovider", __file__],
        env=environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in run.stderr, run.stderr
    assert (run.returncode, "not today" in run.stdout + run.stderr) == (7, True)
