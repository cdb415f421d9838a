"""What holds in every test of the room: no text is read as markup, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def nothing_is_markup(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which Textual is given a text to parse: what is only shown comes as Content.

    Hostile words in a test show this of one place. Here any word shows it of each place that any test draws.
    """
    from textual.content import Content

    parsed: list[str] = []

    def parse(markup: str, *_: Any, **__: Any) -> Any:
        if markup:  # a widget with nothing in it yet
            parsed.append(markup)
        return Content(markup)

    monkeypatch.setattr(Content, "from_markup", parse)
    yield
    assert parsed == [], "read as markup: give the widget Content(text), or markup=False"
