"""A state folder that learns, and session files as they are written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent))

from evolution_folder import Mind, SessionFile


@pytest.fixture
def mind(tmp_path: Path) -> Mind:
    return Mind(tmp_path / "state")


@pytest.fixture
def session(tmp_path: Path) -> SessionFile:
    return SessionFile(tmp_path / "s1.jsonl")
