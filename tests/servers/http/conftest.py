"""A state folder that `lumen-tui serve` serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lumen_served import Served


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start `lumen-tui serve` with some words; it is gone when the test ends."""
    served = Served(tmp_path / "state")
    yield served.start
    served.close()


@pytest.fixture
def unserved(tmp_path: Path) -> Served:
    """A state folder that is not served yet."""
    return Served(tmp_path / "state")


@pytest.fixture
def served(serving: Callable[..., Served]) -> Served:
    """A state folder that is served on a free port of loopback."""
    return serving()
