"""What hooks had done for them stands in the engine's log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumen_tui.engine.events import EventLog, recent_events
from lumen_tui.engine.hooks.job import note
from lumen_tui.engine.monitors import HookNews
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions import hook_journal

NOW = 1_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    Layout(tmp_path / "state").create()
    return Store(tmp_path / "state")


def told(store: Store) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in recent_events(store, 50)]


def test_a_checkpoint_and_a_failure_are_told_once(store):
    news = HookNews(store, EventLog(store), NOW)
    news.poll(NOW)
    note(store.root, now=NOW + 1, ok=True, message="checkpoint on WU-042", node_id="mem-one")
    news.poll(NOW + 2)
    news.poll(NOW + 3)
    note(store.root, now=NOW + 4, ok=False, message="the work session 'x' is gone")
    news.poll(NOW + 5)
    assert told(store) == [
        ("hook_checkpoint", "checkpoint on WU-042"), ("hook_failed", "the work session 'x' is gone"),
    ]  # fmt: skip


def test_what_was_there_before_and_what_is_no_outcome_is_not_told(store):
    note(store.root, now=NOW - 9, ok=True, message="an old one")
    news = HookNews(store, EventLog(store), NOW)
    path = store.root / hook_journal.NAME
    files.append(path, b'{"event":"PostToolUse","said":"outcome"}\n{"event":"outcome"\n"outcome"\n')
    news.poll(NOW)
    assert told(store) == []


def test_a_journal_that_is_shortened_tells_nothing_again(store):
    news = HookNews(store, EventLog(store), NOW)
    path = store.root / hook_journal.NAME
    note(store.root, now=NOW + 1, ok=True, message="one")
    news.poll(NOW + 1)
    note(store.root, now=NOW + 2, ok=True, message="two")
    kept = [line for line in path.read_bytes().splitlines() if json.loads(line)["event"] == "outcome"]
    files.replace(path, b"\n".join(kept) + b"\n")
    news.poll(NOW + 3)
    assert [text for _, text in told(store)][:2] == ["one", "two"]
