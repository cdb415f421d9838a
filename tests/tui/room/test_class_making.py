"""Classes of widgets that are made faster are those that Textual makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from textual.dom import DOMNode
from textual.reactive import reactive, var
from textual.widget import Widget

from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.patches import class_making

_LEARNT = ("_reactives", "_computes", "_css_type_name", "_css_type_names", "_inherit_css", "_inherit_bindings")


def kinds(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for kind in base.__subclasses__():
        yield from kinds(kind)


def learnt(kind: type[Any]) -> list[object]:
    bindings = kind._merged_bindings
    return [*(getattr(kind, name) for name in _LEARNT), bindings and bindings.key_to_bindings]


def test_a_class_is_what_textual_would_make_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DOMNode, "__init_subclass__", vars(DOMNode)["__init_subclass__"])  # put back at the end
    every = set(kinds(DOMNode))
    assert LumenApp in every
    theirs = {kind: learnt(type(kind)("Another", (kind,), {})) for kind in every}
    class_making.install()
    assert {kind: learnt(type(kind)("Another", (kind,), {})) for kind in every} == theirs


def test_what_a_class_has_of_its_own_goes_before_what_it_inherits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DOMNode, "__init_subclass__", vars(DOMNode)["__init_subclass__"])
    class_making.install()

    class First(Widget):
        counted = reactive(1)
        doubled = var(0)

        def compute_doubled(self) -> int:
            return self.counted * 2

    class Second(First, inherit_css=False):
        counted = reactive(2)

    assert Second._reactives["counted"] is vars(Second)["counted"]
    assert Second._reactives["doubled"] is vars(First)["doubled"]
    assert "doubled" in Second._computes
    assert Second._css_type_names == {"Second"}
