"""A Python of our own imports nothing from the folder in which it happens to start: a worker may write there."""

from __future__ import annotations

import re
from pathlib import Path

from lumen_tui.model.facts import Outcome, parse_probe
from lumen_tui.storage.store import Store
from lumen_tui.tools.probes.batch import ProbeJob, run

PACKAGE = Path(__file__).resolve().parents[2] / "lumen_tui"
STARTED = re.compile(r"\[\s*sys\.executable,\s*(\"[^\"]*\")")


def test_each_is_started_safely():
    found = {(path.name, word) for path in PACKAGE.rglob("*.py") for word in STARTED.findall(path.read_text())}
    assert len(found) >= 7
    assert {word for _, word in found} <= {'"-P"', '"-I"'}, found


def test_what_looks_like_a_module_there_is_not_one(tmp_path, monkeypatch):
    store = Store(tmp_path / "state")
    store.layout.create()
    place = tmp_path / "project"
    place.mkdir()
    for name in ("msgspec.py", "json.py", "lumen_tui.py"):
        (place / name).write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(place)
    ((_, reading),) = run(store.root, [ProbeJob("f1", parse_probe(f"file {place}", "p1"))], seconds=5, each=2)
    assert reading.outcome is Outcome.HOLDS
    assert not (place / "ran").exists()
