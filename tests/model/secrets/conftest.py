from __future__ import annotations

import time
from collections.abc import Callable

import pytest


@pytest.fixture
def cpu_seconds() -> Callable[[Callable[[], object]], float]:
    """How much of the processor a call takes: the load of the machine is not in it."""

    def spent(call: Callable[[], object]) -> float:
        call()
        begun = time.process_time()
        call()
        return time.process_time() - begun

    return spent
