"""An id or a name that somebody else chose leads to no file outside the state folder, whichever verb it is given to."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lumen_kills import Failed, state_calls

from lumen_tui.model.ids import BadId
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import block_files, relays
from tests.actions import random_acts
from tests.actions.random_acts import Stage

# What a model, a message or a file might call something; {out} is a folder beside the state folder.
NAMES = (
    "../outside/canary", "../../outside/canary", "../canary", "..", ".", "", "{out}/canary", "{out}", "/etc/passwd",
    "a/../../outside/canary", "a/b", "a\\b", "..\\..\\outside", "canary\0.md", "\0", "-rf", "--help", "~", "~root",
    "$HOME", "`id`", "$(id)", "a;b", "a b", " a", "a ", "a\nb", "a\rb", "a\tb", "\x1b[2J", "a\x7f", "a.", ".a", "a.md",
    "..%2f..%2foutside", "%2e%2e/outside", "..%c0%af", "\u2024\u2024/outside", "\uff0e\uff0e/outside", "a\u2215b",
    "a\uff0fb", "\u0430bc", "A", "CON", "nul", "a" * 65, "a" * 300, "a" * 5000, "é", "e\u0301", "\u202eabc", "a\u200bb",
    "\ud800", "ß", "İ", "k\u212a", "１２", "WU-1/../../x", "WU-../x", "tsk-../../x", "mem-x/../../y", "*", "?", "[a]",
    "file:///etc/passwd",
)  # fmt: skip
NOT_NAMES = ("path", "folder", "plan", "changes")  # what a person gives as a path, or what is no text
ROWS = len(NAMES)


def _makers(layout: Layout) -> list[Callable[[str], Path]]:
    """Every function that makes a path below the folder of one text: those of the layout by themselves."""
    of_layout = [
        method
        for _, method in inspect.getmembers(layout, inspect.ismethod)
        if [str(one.annotation) for one in inspect.signature(method).parameters.values()] == ["str"]
    ]
    return [*of_layout, functools.partial(block_files.path_of, layout), functools.partial(relays.path_of, layout)]


def _is_below(path: Path, root: Path) -> bool:
    text = os.path.normpath(path)
    return text.startswith(f"{root}/") and "\0" not in text


@pytest.mark.threat("S5", "names that would be paths, for every kind of file", attempts=ROWS * 12)
def test_no_name_becomes_a_path_outside(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    makers = _makers(layout)
    assert len(makers) >= 12
    for make in makers:
        for name in NAMES:
            with contextlib.suppress(BadId):
                path = make(name.format(out=tmp_path / "outside"))
                assert _is_below(path, layout.root) or path.parent.parent == layout.root / "locks", (make, name)


@pytest.mark.threat("S5", "random texts that would be paths", attempts=100)
@given(text=st.text(st.sampled_from("./\\ ~-_ab\0\n\u2024\uff0fWU0")) | st.text())
def test_no_text_becomes_a_path_outside(text: str) -> None:
    layout = Layout(Path("/state"))
    for make in _makers(layout):
        with contextlib.suppress(BadId):
            assert _is_below(make(text), layout.root)


def _misnamed(arguments: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The arguments of an act, each text in them that may be an id once replaced by the name."""
    for key, value in arguments.items():
        if key in NOT_NAMES:
            continue
        if isinstance(value, str):
            yield {**arguments, key: name}
        elif isinstance(value, list) and value and isinstance(value[0], str):
            yield {**arguments, key: [name]}


def _beside(stage: Stage) -> dict[str, tuple[int, int]]:
    """What lies beside the state folder, with size and time."""
    paths = (path for path in stage.beside.rglob("*") if not path.is_relative_to(stage.desk.root))
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths if path.is_file()}


@pytest.mark.sweep(most=10)
@pytest.mark.threat("S5", "names that would be paths, in each text of each verb", attempts=ROWS)
@pytest.mark.parametrize("verb", sorted(set(random_acts.VERBS) - {"changes.push", "changes.commit"}))
def test_no_verb_writes_outside_whatever_it_is_given(verb: str, stage: Stage) -> None:
    stage.chance.seed(verb)
    canary = stage.beside / "outside" / "canary"
    canary.parent.mkdir(exist_ok=True)
    canary.write_text("as it was\n")
    before = _beside(stage)
    arguments = random_acts.VERBS[verb](stage)
    for name in NAMES:
        for misnamed in _misnamed(arguments, name.format(out=canary.parent)):
            with contextlib.suppress(Failed):  # a refusal: what it wrote before is looked at all the same
                state_calls(stage.desk.root, functools.partial(stage.desk.do, verb, **misnamed))
    assert _beside(stage) == before
