"""A test that hangs is ended, named, and says what it waited for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HANGS = """
import asyncio

async def nobody_answers():
    await asyncio.Event().wait()

async def test_that_waits():
    await nobody_answers()

def test_behind_it():
    pass
"""
SUPPORT = Path(__file__).resolve().parents[1] / "support"
CONFTEST = f"""
import sys
sys.path.append({str(SUPPORT)!r})
import lumen_timeout
lumen_timeout.install()
"""


def test_what_hangs_is_named_with_its_stack_and_the_next_one_goes_on(tmp_path):
    (tmp_path / "test_hangs.py").write_text(HANGS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    words = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "0.5", str(tmp_path)]
    ran = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "1 failed, 1 passed" in ran.stdout
    assert "test_hangs.py::test_that_waits - Failed: Timeout (>0.5s)" in ran.stdout
    assert "await asyncio.Event().wait()" in ran.stdout
