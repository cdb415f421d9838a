"""The package as source trees, parsed once."""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lumen_tui"


@dataclass(frozen=True)
class Source:
    """One module."""

    name: str  # its path below the repository
    lines: list[str]
    tree: ast.Module


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; `-m 'not slow'` leaves it out while you work")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """Every module of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Source(str(path.relative_to(ROOT)), text.splitlines(), ast.parse(text)))
    assert found
    return found
