"""`at`: the room at an earlier moment, as text and as JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from lumen_clock import HandClock

from lumen_tui.__main__ import main
from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.times import HOUR
from lumen_tui.storage.dated_lines import DatedLines
from lumen_tui.storage.layout import Layout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    Layout(made).create()
    clock = HandClock(time.time() - 3 * HOUR)
    port = RemotePort(made, "ana", clock=clock)
    port.submit(SendSignal(message="the tests pass"))
    clock.wall += 2 * HOUR
    port.submit(CreateNode(content="a leak \x1b[31min the fetcher", priority="P1"))
    return made


def run(capsys: pytest.CaptureFixture[str], root: Path, *words: str) -> tuple[int, str, str]:
    code = main(["--state", str(root), "--operator", "ana", "at", *words])
    return (code, *capsys.readouterr())


def test_the_past_is_printed_and_what_came_since(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, root, "2h ago")
    assert (code, "the tests pass" in out, "a leak" in out) == (0, True, False)
    code, out, _ = run(capsys, root, "2h", "--diff")
    assert code == 0
    assert "+ " in out
    assert "a leak" in out
    assert "\x1b" not in out


def test_the_past_is_one_json_document(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, root, "30m", "--json")
    told = json.loads(out)
    panes = {pane["name"]: pane["rows"] for pane in told["panes"]["panes"]}
    assert panes["signals"][0]["text"].startswith("unread")
    assert len(panes["discoveries"]) == 1
    assert told["not_recorded"]
    _, out, _ = run(capsys, root, "4h", "--diff", "--json")
    assert {change["how"] for change in json.loads(out)["changes"]} == {"appeared", "changed"}


def test_a_moment_that_is_none_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, root, "whenever")
    assert code == 2
    assert "is no moment" in err


def test_the_end_of_a_long_journal_is_found_between_and_behind_wrong_lines(tmp_path: Path) -> None:
    journal = tmp_path / "signals.jsonl"
    lines = [f'{{"id":"sig-{n}","message":"{"x" * 90}","created_at":"{times.iso(1000.0 + n)}"}}\n' for n in range(9000)]
    lines[4000] = "\x00" * 300 + "\n"
    journal.write_text("".join(lines))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for number in (0, 1, 3998, 3999, 4001, 7777, 8998, 8999):
        end = DatedLines(journal, b"created_at").end_at(1000.0 + number)
        assert end in (starts[number + 1], starts[number + 2] if number == 3999 else starts[number + 1]), number
    assert DatedLines(journal, b"created_at").end_at(0.0) == 0
    assert DatedLines(tmp_path / "none.jsonl", b"created_at").end_at(5.0) == 0
