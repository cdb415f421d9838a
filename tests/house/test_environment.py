"""A test's environment ends with it: a false program first on PATH stood in for the real one in later tests."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.xdist_group("environment")  # one process, in this order


def test_a_test_that_changes_its_environment():
    os.environ["PATH"] = f"/nowhere:{os.environ['PATH']}"
    os.environ["LUMEN_LEFT_BY_A_TEST"] = "1"
    os.environ.pop("TERM", None)


def test_the_next_one_has_that_of_before():
    assert not os.environ["PATH"].startswith("/nowhere:")
    assert "LUMEN_LEFT_BY_A_TEST" not in os.environ
