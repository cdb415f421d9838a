"""The engine does not know that it is watched, and no front end but the room pays for Textual."""

import subprocess
import sys

import pytest

HEAVY = ("textual", "rich", "anthropic", "openai")

PROBE = """
import importlib, pkgutil, sys
for name in sys.argv[2:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(*[name for name in sys.argv[1].split(",") if name in sys.modules])
"""


def loaded_by(*packages: str) -> str:
    """Which of HEAVY a fresh interpreter holds after importing the packages with all their modules."""
    command = [sys.executable, "-c", PROBE, ",".join(HEAVY), *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("package", ["model", "store", "tools", "providers", "engine", "worker", "headless", "cli"])
def test_no_front_end_library_and_no_vendor_sdk(package: str) -> None:
    assert loaded_by(f"lumen_tui.{package}") == ""


def test_the_probe_sees_what_is_loaded() -> None:
    assert "textual" in loaded_by("lumen_tui.tui.screens")
