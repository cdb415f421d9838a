"""A call of a real worker, answered from elsewhere by each way there is: once, not twice, and not after it changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from lumen_asking import AskingFolder
from lumen_until import until
from lumen_ways import WAYS, Way

from lumen_tui.model.approvals import call_hash
from lumen_tui.storage import files


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Way]:
    """A way that is open, to a folder with an engine."""
    made = WAYS[request.param](tmp_path)
    try:
        folder = AskingFolder(tmp_path / "state", made.settings)
        try:
            folder.start()
            made.open(folder)
            yield made
        finally:
            folder.close()
    finally:
        made.close()


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_a_call_is_answered_once_and_not_after_it_changed(way: Way) -> None:
    folder, marks = way.folder, [way.folder.project / name for name in ("one", "two")]
    commands = [f"touch {mark}" for mark in marks]
    folder.calls(*commands)
    way.order()
    first = folder.question(commands[0])
    way.wait(first)
    assert way.answer(first, allow=True) == ""
    answer = folder.decision(first)
    assert answer and (answer.allowed, answer.by, answer.hash) == (True, way.by, first.hash)
    assert way.answer(first, allow=False) != "", "the second answer is refused"
    assert folder.decision(first) == answer

    second = folder.question(commands[1])
    way.wait(second)
    until(marks[0].exists, folder.events)
    other: dict[str, object] = {**second.arguments, "command": "rm -rf /home"}
    changed = msgspec.structs.replace(second, arguments=other, hash=call_hash(second.tool, other))
    files.replace(folder.layout.approval(second.id), msgspec.json.encode(changed))
    assert way.answer(second, allow=True) != "", "it is not the call that was shown"
    assert folder.decision(second) is None
    folder.do("approval.allow", approval_ids=second.id)
    until(lambda: "the answer on file is for another call" in str(folder.events()), folder.events)
    assert not marks[1].exists(), "a yes to another call lets the worker do nothing"
