"""How many parameters a callback has is counted as Textual counts them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import pytest

from lumen_tui.tui.patches.quick_calls import count_parameters


class _Called:
    def __call__(self, one: int, two: int = 2) -> None:
        """Called with one or two."""

    def method(self, one: int) -> None:
        """Called with one."""

    @classmethod
    def of_the_class(cls) -> None:
        """Called with none."""


def _all_kinds(one: int, /, two: int, *three: int, four: int, **five: int) -> None:
    """Has a parameter of each kind."""


@wraps(_all_kinds)
def _wrapped() -> None:
    """Says that it has five."""


CALLBACKS = [
    _Called(), _Called.__call__, _Called.method, _Called().method, _Called.of_the_class, _all_kinds, _wrapped, setattr,
    lambda: None,
]  # fmt: skip


@pytest.mark.parametrize("callback", CALLBACKS, ids=range(len(CALLBACKS)))
def test_a_callback_has_as_many_parameters_as_its_signature(callback: Callable[..., Any]) -> None:
    assert count_parameters(callback) == len(signature(callback).parameters)
