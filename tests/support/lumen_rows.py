"""A table of tiny cases as one test: with `parametrize` each row would cost what a test costs, and that is more."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


def each_row(names: str | Collection[str], table: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test for each row, as `parametrize` does, but as one test; the row that fails is noted with its error."""
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [row if len(columns) > 1 else (row,) for row in table]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**others: Any) -> None:
            for case in cases:
                given = dict(zip(columns, case, strict=True))
                try:
                    test(**others, **given)
                except BaseException as error:
                    error.add_note(f"in the row {given!r}")
                    raise

        parameters = inspect.signature(test).parameters.values()
        run.__signature__ = inspect.Signature([one for one in parameters if one.name not in columns])  # type: ignore[attr-defined]
        del run.__wrapped__
        return run  # type: ignore[return-value]

    return decorate
