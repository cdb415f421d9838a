"""What all areas share: the local server that speaks the model APIs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

for _folder in ("apiserver", "support"):
    sys.path.append(str(Path(__file__).resolve().parent / _folder))

if TYPE_CHECKING:
    from lumen_apiserver import ApiServer


@pytest.fixture(autouse=True)
def usual_umask() -> None:
    """`main` closes it for its whole process, which here is that of all tests."""
    os.umask(0o022)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """A server that speaks the Anthropic and OpenAI APIs; what it answers, see tests/apiserver/lumen_apiserver."""
    from lumen_apiserver import ApiServer

    server = ApiServer()
    yield server
    server.close()
