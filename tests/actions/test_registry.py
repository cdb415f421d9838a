"""Each verb is one request and one function."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.registry import HANDLERS, handler, named, request_types
from lumen_tui.model import requests
from lumen_tui.model.requests.sessions import SaveCheckpoint
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.storage.layout import Folder

_FOR_TYPES = {
    "Folder": Folder,
    "SaveCheckpoint": SaveCheckpoint,
    "Done": Done,
}  # which checkpoints import for types alone


def test_each_request_has_the_function_that_takes_it() -> None:
    assert request_types().keys() == HANDLERS.keys()
    areas = {path.stem for path in Path(requests.__path__[0]).glob("*.py")} - {"__init__", "base", "spelling"}
    assert {kind.__module__.rpartition(".")[2] for kind in request_types().values()} == areas | {"agentfile"}
    for verb, kind in request_types().items():
        function = handler(verb)
        hints = get_type_hints(function, vars(sys.modules[function.__module__]) | _FOR_TYPES)
        parameters = list(inspect.signature(function).parameters)
        assert hints[parameters[1]] is kind, verb
        assert parameters[2:] == ["by", "now"], verb
        assert issubclass(hints["return"], Done), verb


def test_words_from_outside_become_a_request_or_a_refusal_that_names_what_is_wrong() -> None:
    assert named("task.new", {"objective": "count", "constraints": ["Read only"]}) == NewTask(
        objective="count", constraints=["Read only"]
    )
    for verb, arguments, words in (
        ("task.nwe", {}, "there is no verb 'task.nwe'"),
        ("task.new", {}, "missing required field `objective`"),
        ("task.new", {"objective": 7}, "Expected `str`, got `int`"),
        ("task.new", {"objective": "count", "colour": "red"}, "unknown field `colour`"),
    ):
        with pytest.raises(ActionError, match=words):
            named(verb, arguments)


def test_carrying_out_one_verb_imports_no_other() -> None:
    code = (
        "import sys; from lumen_tui.actions.registry import handler; handler('signal.read')\n"
        "print(*sorted(name for name in sys.modules if name.startswith('lumen_tui.actions.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "lumen_tui.actions.signals" in loaded
    assert not {"lumen_tui.actions.blocks", "lumen_tui.actions.roles", "lumen_tui.actions.evolution"} & set(loaded)
