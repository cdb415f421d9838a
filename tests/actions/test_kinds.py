"""The table of change kinds names functions that exist, and every kind that an action writes."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import lumen_tui.actions
from lumen_tui.actions import kinds


@pytest.mark.parametrize("name", kinds.KINDS)
def test_the_functions_of_a_kind_exist(name: str) -> None:
    kind = kinds.kind_of(name)
    assert callable(kind.now) and callable(kind.put) and callable(kind.may)
    assert kind.put_all is None or callable(kind.put_all)


def test_the_kinds_that_actions_declare_are_in_the_table() -> None:
    for module in pkgutil.iter_modules(lumen_tui.actions.__path__):
        declared = vars(importlib.import_module(f"lumen_tui.actions.{module.name}"))
        for constant, value in declared.items():
            if constant == "KIND" or constant.endswith("_KIND"):
                assert value in kinds.KINDS, f"{module.name}.{constant}"


def test_undo_imports_no_verb_before_it_has_something_to_undo() -> None:
    code = "import sys, lumen_tui.actions.undo; print('lumen_tui.actions.changelists' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
