"""Short and flat: the limits of the house style, counted."""

import ast
import re
from pathlib import Path

MOST_METHODS = 19
MOST_SCREEN_METHODS = 24
LONGEST_FUNCTION = 45
LONGEST_MODULE = 450
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def classes(sources: list) -> list[tuple[str, ast.ClassDef]]:
    return [
        (f"{source.name}:{node.lineno} {node.name}", node)
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
    ]


def _is_screen(node: ast.ClassDef) -> bool:
    bases = {name.id for base in node.bases for name in ast.walk(base) if isinstance(name, ast.Name)}
    return any(base == "App" or base.endswith("Screen") for base in bases)


def test_no_class_becomes_a_god(sources: list) -> None:
    found = []
    for name, node in classes(sources):
        count = len({method.name for method in node.body if isinstance(method, FUNCTIONS)})
        limit = MOST_SCREEN_METHODS if _is_screen(node) else MOST_METHODS
        if count > limit:
            found.append(f"{name}: {count} methods, at most {limit}")
    assert found == []


def test_no_function_is_longer_than_a_screen(sources: list) -> None:
    found = [
        f"{source.name}:{node.lineno} {node.name}: {length} lines"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, FUNCTIONS) and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert found == []


def test_no_module_is_longer_than_its_limit(sources: list) -> None:
    found = [f"{source.name}: {len(source.lines)} lines" for source in sources if len(source.lines) > LONGEST_MODULE]
    assert found == []


def _catches_all(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"Exception", "BaseException"})


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_whoever_catches_everything_says_why_on_that_line(sources: list) -> None:
    found = [
        f"{source.name}:{node.lineno}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler)
        and _catches_all(node)
        and not _raises_again(node)
        and "#" not in source.lines[node.lineno - 1]
    ]
    assert found == [], "name the exceptions, or say in a comment on the same line which edge this is"


def test_no_expression_repeats_a_group_with_no_way_back(root: Path) -> None:
    """Before Python 3.11.5 it matches something else: https://github.com/python/cpython/issues/106052."""
    repeated = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")
    found = [
        f"{path.relative_to(root)}:{number}"
        for path in sorted((root / "lumen_tui").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if repeated.search(line)
    ]
    assert found == []
