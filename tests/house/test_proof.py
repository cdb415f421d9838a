"""The tables of faults and threats: each row has its tests, each line of the documents is one of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import lumen_proof
import pytest
from lumen_proof import Tally

DOCUMENTS = {"fault": "docs/reliability.md", "threat": "docs/security.md"}


def _declared(root: Path, kind: str) -> set[tuple[str, str]]:
    marks = re.compile(rf'mark\.{kind}\(\s*"([RS]\d+)",\s*"([^"]+)"')
    return {match for path in (root / "tests").rglob("test_*.py") for match in marks.findall(path.read_text())}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_every_line_of_a_document_is_declared_by_a_test(root: Path, kind: str) -> None:
    assert lumen_proof.documented(root / DOCUMENTS[kind]) - _declared(root, kind) == set()


def test_what_a_build_machine_must_run_is_there(root: Path) -> None:
    rows = {row for kind in DOCUMENTS for row, _ in _declared(root, kind)}
    required = {row for row in (root / ".ci" / "rows").read_text().split("\n") if row and not row.startswith("#")}
    assert required <= rows


def test_a_run_of_some_rows_leaves_the_lines_of_the_others(tmp_path: Path) -> None:
    document = tmp_path / "table.md"
    document.write_text("Before.\n\n<!-- measured -->\n<!-- /measured -->\n\nAfter.\n")
    first = {("S2", "a"): Tally(points=1200), ("S10", "b"): Tally(points=3, violations=1)}
    lumen_proof.write(document, lumen_proof.table(first))
    second = {("S2", "a"): Tally()}
    second["S2", "a"].skipped["strace is missing"] = 2
    lumen_proof.write(document, lumen_proof.table(second))
    rows = [line for line in document.read_text().splitlines() if line.startswith("| S")]
    assert [row.split(" | ")[:5] for row in rows] == [
        ["| S2", "a", "–", "–", "2: strace is missing"],
        ["| S10", "b", "3", "1", "0"],
    ]
    assert document.read_text().startswith("Before.\n") and document.read_text().endswith("\n\nAfter.\n")


def test_a_row_that_must_run_and_was_left_out_is_named(tmp_path: Path) -> None:
    required = tmp_path / "rows"
    required.write_text("# kept\nS2\nS5\nS9\n")
    lines = {("S2", "ways out"): Tally(), ("S9", "ports"): Tally(), ("S2", "walls"): Tally(points=1)}
    assert lumen_proof.missing(lines, required) == ["S5 was not run at all", "S9 was skipped"]
    assert lumen_proof.left_out(lines).startswith("rows of the proof that were skipped: 2 of 3\n  S2 (ways out)")


@pytest.mark.parametrize(("kind", "outcome"), [("failed", "error"), ("skipped", "skipped")])
def test_a_file_that_was_not_collected_names_no_line_and_hides_no_other(
    kind: Literal["failed", "skipped"], outcome: str
) -> None:
    whole = pytest.CollectReport("tests/test_new.py", kind, "No module named 'new'", None)
    proves = ("proves", ("S5", "ids", 3))
    test = pytest.TestReport(
        "tests/test_ids.py::test_ids", ("", 0, ""), {}, "passed", None, "call", user_properties=[proves]
    )
    assert lumen_proof.tally([(outcome, whole), ("passed", test)]) == {("S5", "ids"): Tally(points=3)}
