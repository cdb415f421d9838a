"""One harness: no area has a way of its own to wait or to act in a state folder."""

import ast
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


def test_no_test_module_waits_or_acts_in_its_own_way() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno} {node.name}: use {INSTEAD[node.name]}"
        for path in TESTS.rglob("*.py")
        if path.parent.name != "support"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in INSTEAD
    ]
    assert found == []
