"""The engine does not know that it is watched, and no front end but the room pays for Textual."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lumen_tui
from lumen_tui.engine.supervisor import zygote

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


BELOW_THE_ROOM = [
    path.parent.name for path in Path(lumen_tui.__path__[0]).glob("*/__init__.py") if path.parent.name != "tui"
]


@pytest.mark.parametrize("package", sorted(BELOW_THE_ROOM))
def test_no_front_end_library_and_no_vendor_sdk(package: str) -> None:
    assert loaded_by(f"lumen_tui.{package}") == ""


def test_the_probe_sees_what_is_loaded() -> None:
    assert "textual" in loaded_by("lumen_tui.tui.screens")


def test_the_stamp_of_a_zygotes_code_covers_all_that_a_worker_loads(sources: list) -> None:
    """Also what it imports inside functions: a zygote of older code is dropped for a newer one."""
    loaded = {
        parts[1]
        for source in sources
        if Path(source.name).parts[1] in zygote.PACKAGES
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom)
        and (parts := (node.module or "").split("."))[0] == "lumen_tui"
        and parts[1:]
    }
    assert {"worker", "storage"} <= loaded
    assert loaded <= set(zygote.PACKAGES)
