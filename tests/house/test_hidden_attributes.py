"""No widget of ours keeps something under a name that Textual uses itself: another size as its `_size`, say."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from textual.widget import Widget

import lumen_tui.tui

MEANT = {"_border_title", "_border_subtitle"}  # set past the setters, which would lay out again


def _stored(path: Path, name: str) -> Iterator[str]:
    """Yield the attributes that a class of a module sets on itself."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef) and node.name == name:
            for inner in ast.walk(node):
                of_self = isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name)
                if of_self and isinstance(inner.ctx, ast.Store) and inner.value.id == "self":
                    yield inner.attr


def test_no_widget_hides_an_attribute_of_textual() -> None:
    theirs = {name for name in {*vars(Widget()), *dir(Widget)} if name.startswith("_") and not name.startswith("__")}
    hidden, looked_at = [], 0
    for found in pkgutil.walk_packages(lumen_tui.tui.__path__, "lumen_tui.tui."):
        module = importlib.import_module(found.name)
        for name, thing in vars(module).items():
            if isinstance(thing, type) and issubclass(thing, Widget) and thing.__module__ == found.name:
                looked_at += 1
                stored = set(_stored(Path(str(module.__file__)), name))
                hidden += [f"{found.name}.{name}.{attribute}" for attribute in sorted(stored & theirs - MEANT)]
    assert looked_at > 50 and hidden == []
