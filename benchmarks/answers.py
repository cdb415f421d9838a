"""From a question to a person elsewhere and back, by each way: real engines and servers, one who answers at once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row, share
from lumen_tui.model.approvals import Approval
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals

sys.path += [str(Path(__file__).resolve().parents[1] / "tests" / name) for name in ("support", "apiserver")]

from lumen_asking import AskingFolder
from lumen_dovecot import missing
from lumen_ways import WAYS, Way

_QUESTIONS = 20


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of this part."""
    for name in WAYS:
        if name == "mail" and missing():
            yield Row("T1", f"a question by {name} and its answer back", skipped=missing())
            continue
        place = folder / f"answers-{name}"
        place.mkdir()
        samples = [1000 * seconds for seconds in _answered(place, name)]
        yield Row("T1", f"a question by {name} and its answer back, median", share(samples, 50))
        yield Row("T2", "the same, 95th percentile", share(samples, 95), goal=1000)


def _answered(place: Path, name: str) -> list[float]:
    """Return the seconds from each call on file to its answer on file."""
    commands = [f"true {number}" for number in range(_QUESTIONS)]
    with contextlib.ExitStack() as stack:
        way = WAYS[name](place)
        stack.callback(way.close)
        folder = AskingFolder(place / "state", way.settings)
        stack.callback(folder.close)
        folder.start()
        way.open(folder)
        folder.calls(*commands)
        way.order()
        return [_seconds(way, folder.question(command)) for command in commands]


def _seconds(way: Way, request: Approval) -> float:
    way.wait(request)
    if refusal := way.answer(request, allow=True):
        raise RuntimeError(refusal)
    layout = way.folder.layout
    names = layout.approval(request.id).name, approvals.decision_path(layout, request.id).name
    asked, answer = (_written(layout, name) for name in names)
    return answer - asked


def _written(layout: Layout, name: str) -> float:
    """Return when a file of a call was written; it is moved as it is once its worker has acted."""
    try:
        return (layout.approvals / name).stat().st_mtime_ns / 1e9
    except FileNotFoundError:
        return (layout.done_approvals / name).stat().st_mtime_ns / 1e9
