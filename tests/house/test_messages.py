"""What people read names things by title or short id, and times in plain words: no raw id, no ISO date."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[2] / "lumen_tui" / "engine"
_IDS = ("task_id", "node_id", "fact_id", "node['id']")  # ids that nobody gave; work units and names are words


def _texts() -> Iterator[tuple[str, ast.JoinedStr, bool]]:
    """Every text with something put in, where it stands, and whether it is of a refusal."""
    for path in sorted(ENGINE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        refusals = {
            inner
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "ActionError"
            for inner in ast.walk(call)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield f"{path.relative_to(ENGINE)}:{node.lineno}", node, node in refusals


def _put_in(text: ast.JoinedStr) -> Iterator[tuple[ast.FormattedValue, str]]:
    """Each value that is put in as it is, with the words before it. A value in quotes is what somebody typed."""
    before = ""
    for part in text.values:
        if isinstance(part, ast.FormattedValue) and part.conversion == -1:
            yield part, before
        before = str(part.value) if isinstance(part, ast.Constant) else ""


def test_no_text_of_the_engine_has_a_date_as_a_file_has_it() -> None:
    raw = []
    for where, text, _ in _texts():
        for part, _ in _put_in(text):
            value = part.value.values[0] if isinstance(part.value, ast.BoolOp) else part.value
            if ast.unparse(value).rstrip("')").endswith("_at") and not ast.unparse(value).startswith("times."):
                raw.append(f"{where} {ast.unparse(text)}")
    assert raw == []


def test_no_refusal_has_an_id_that_nobody_can_read() -> None:
    raw = [
        f"{where} {ast.unparse(text)}"
        for where, text, refuses in _texts()
        if refuses
        for part, before in _put_in(text)
        if ast.unparse(part.value) in _IDS and not before.endswith("/")  # a path is for typing
    ]
    assert raw == []
