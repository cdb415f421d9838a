"""The parts of engine and worker: complete once they are made, each known to its neighbours alone."""

import ast
from collections.abc import Iterator

import pytest

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LONGEST_CHAIN = 3  # objects: `self.engine.log.add` asks the log of the engine


@pytest.fixture
def parts(sources: list) -> list:
    """The sources of engine, worker and headless."""
    return [
        source
        for source in sources
        if source.name.startswith(("lumen_tui/engine/", "lumen_tui/worker/", "lumen_tui/headless/"))
    ]


def _attributes_set(function: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(function):
        stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if stored and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr, node.lineno


def _declared(definition: ast.ClassDef) -> set[str]:
    names = {
        node.target.id
        for node in definition.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for function in definition.body:
        if isinstance(function, FUNCTIONS) and function.name == "__init__":
            names |= {name for name, _ in _attributes_set(function)}
    return names


def test_an_object_is_complete_once_it_is_made(parts: list) -> None:
    found = [
        f"{source.name}:{line} {definition.name}.{name}"
        for source in parts
        for definition in ast.walk(source.tree)
        if isinstance(definition, ast.ClassDef)
        for function in definition.body
        if isinstance(function, FUNCTIONS)
        for name, line in _attributes_set(function)
        if name not in _declared(definition)
    ]
    assert found == [], "set it in __init__, or pass it in"


def _chains(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node in inner:
            continue
        length, value = 0, node
        while isinstance(value, ast.Attribute):
            inner.add(value)
            length += 1
            value = value.value
        if isinstance(value, ast.Name):
            yield ast.unparse(node), node.lineno, length + (value.id != "self")


def test_nobody_reaches_through_two_others(parts: list) -> None:
    """`self.a.b.c` uses a part of a part; further in, somebody else's parts are none of its business."""
    found = [
        f"{source.name}:{line} {chain}"
        for source in parts
        for chain, line, objects in _chains(source.tree)
        if objects > LONGEST_CHAIN and not chain.startswith("sys.")
    ]
    assert found == [], "ask the neighbour to do it"


def test_what_never_waits_is_no_coroutine(parts: list) -> None:
    found = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in parts
        for node in ast.walk(source.tree)
        if isinstance(node, ast.AsyncFunctionDef)
        and not any(isinstance(inner, (ast.Await, ast.AsyncFor, ast.AsyncWith)) for inner in ast.walk(node))
    ]
    assert found == []
