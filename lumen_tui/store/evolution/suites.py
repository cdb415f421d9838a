"""Suites on disk: the cases of each in a journal of its own, of which the gate is given a reader without `final`."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.evals import MOST_CASES, EvalCase, Split, decode_case
from lumen_tui.storage import directories
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout

LOCK = "evals"


def path_of(layout: Layout, suite: str) -> Path:
    """Return the journal of a suite's cases. BadId for a name that is no slug."""
    return layout.evals / ids.check_name(suite, "suite") / layout.cases.name


def paths(layout: Layout) -> list[Path]:
    """Return the journals of all suites."""
    return sorted(layout.evals.glob(f"*/{layout.cases.name}"))


def cases(layout: Layout, suite: str) -> dict[str, EvalCase]:
    """Return the valid record of each case that may be used, in the order in which they came; the first MOST_CASES."""
    by_id: dict[str, EvalCase] = {}
    for line in Journal(path_of(layout, suite)).lines():
        try:
            case = decode_case(line)
        except UNDECODABLE:
            continue  # the doctor names it
        if case is not None and (case.id in by_id or len(by_id) < MOST_CASES):
            by_id[case.id] = case
    return by_id


def write(layout: Layout, suite: str, changed: list[EvalCase]) -> None:
    """Append records durably; call it under LOCK."""
    path = path_of(layout, suite)
    directories.make_folder(path.parent)
    Journal(path).append_all(changed)


class SuiteReader:
    """The cases of one split of one suite, and of no other. `final` is not to be had through it."""

    def __init__(self, layout: Layout, suite: str, split: Split) -> None:
        if split is Split.FINAL:
            raise ValueError("the final split is for a person alone")
        self._layout, self._suite, self._split = layout, suite, split

    def cases(self) -> list[EvalCase]:
        """Return those that decide: not dropped, of a trusted origin, those that must hold first."""
        listed = cases(self._layout, self._suite).values()
        chosen = [case for case in listed if case.counts and case.split is self._split]
        return sorted(chosen, key=lambda case: not case.must)
