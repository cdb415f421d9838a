"""One harness: no area has a way of its own to wait or to act in a state folder, and what a test imports is there."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
INSTEAD = {
    "do": "StateFolder of lumen_folder",
    "until": "lumen_until or lumen_robot",
    "until_true": "lumen_until",
    "wait_for": "lumen_until",
    "wait_until": "lumen_until",
    "eventually": "lumen_until",
}


@cache
def _statements() -> list[tuple[Path, ast.AST]]:
    """Every statement of the tests, at any depth."""
    return [
        (path, statement)
        for path in TESTS.rglob("*.py")
        for statement in _inside(ast.parse(path.read_text(encoding="utf-8")))
    ]


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a block and of the blocks in it; no expression, of which there are ten times as many."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, block, ()):
            yield statement
            yield from _inside(statement)


@cache
def _names(module: str) -> set[str]:
    """The names at the top of a module of the package, and its submodules."""
    path = TESTS.parent / module.replace(".", "/")
    if path.is_dir():
        names = {child.stem for child in path.iterdir()}
        path = path / "__init__.py"
    else:
        names, path = set(), path.with_suffix(".py")
    if path.exists():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def _has(module: str, name: str) -> bool:
    """Return whether a module of the package has this name; most were imported with the tests."""
    return hasattr(sys.modules.get(module), name) or name in _names(module)


def test_what_the_tests_import_from_the_package_is_there() -> None:
    missing = [
        f"{path.relative_to(TESTS)}:{node.lineno} {node.module}.{alias.name}"
        for path, node in _statements()
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "lumen_tui"
        for alias in node.names
        if not _has(node.module or "", alias.name)
    ]
    assert missing == []


def test_no_test_module_waits_or_acts_in_its_own_way() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno} {node.name}: use {INSTEAD[node.name]}"
        for path, node in _statements()
        if path.parent.name != "support"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in INSTEAD
    ]
    assert found == []
