"""What is not in force of an operator's files is said by whoever drives the agent without a room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lumen_program import lumen

from lumen_tui.engine import settings
from lumen_tui.engine.events import recent_events
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

KEY = "sk-ant-0123456789abcdefghij"
WRONG = [  # file, what stands in it, and what is said: where, and what holds instead
    (
        "lumen.toml",
        "[heartbeat]\nevery_minutes = 0.05\n",
        "lumen.toml:2: heartbeat.every_minutes: 0.05 is out of range",
    ),
    ("lumen.toml", "[heartbeat]\nevery_minutes = 99999\n", "its default"),
    ("lumen.toml", "\n[heartbaet]\nevery_minutes = 5\n", "there is no section [heartbaet]"),
    ("lumen.toml", "[heartbeat\n", "lumen.toml:1: "),
    ("lumen.toml", '[models.roles]\nbiulder = "haiku"\n', "did you mean builder"),
    ("operator.toml", '[workers]\nlimit = "many"\n', "operator.toml:2: workers.limit: "),
    ("roles/tester.md", "+++\npurpose = 5\n+++\n\nWork.\n", "roles/tester.md:2: "),
    ("custom-tools/count.toml", "command = 5\n", "custom-tools/count.toml"),
]


def headless(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent)}
    return lumen([*words, "--state", str(root)], env=environ, cwd=root.parent)


def told(root: Path) -> list[str]:
    return [event.text for event in recent_events(Store(root), 100) if event.kind == settings.EVENT]


@pytest.mark.sweep(most=4)
@pytest.mark.parametrize(("name", "text", "said"), WRONG)
def test_what_is_not_in_force_is_said_at_each_start_and_in_the_log(tmp_path, name, text, said):
    layout = Layout(tmp_path / "state")
    layout.create()
    (layout.root / name).write_text(text)
    for start in (1, 2):
        ran = headless(layout.root, "--engine-only", "--once")
        assert ran.returncode == 0
        for stream in (ran.stdout, ran.stderr):
            (line,) = [line for line in stream.splitlines() if said in line]
            assert name in line
        assert len(told(layout.root)) == start
        assert said in told(layout.root)[-1]
    assert said in headless(layout.root, "run", "Count lines in /etc/hosts").stderr


def test_settings_that_are_all_in_force_need_no_word(tmp_path):
    Layout(tmp_path / "state").create()
    (tmp_path / "state" / "lumen.toml").write_text("[heartbeat]\nevery_minutes = 7\n")
    ran = headless(tmp_path / "state", "--engine-only", "--once")
    assert ran.stderr == "lumen-tui: engine stopped (done)\n"
    assert told(tmp_path / "state") == []


def test_one_log_for_both_streams_has_it_once(tmp_path):
    Layout(tmp_path / "state").create()
    (tmp_path / "state" / "lumen.toml").write_text("[heartbeat]\nevery_minutes = 0.05\n")
    with (tmp_path / "log").open("wb") as log:
        words = [sys.executable, "-m", "lumen_tui", "--engine-only", "--once", "--log-format", "jsonl"]
        subprocess.run([*words, "--state", str(tmp_path / "state")], stdout=log, stderr=log, check=True, timeout=60)
    lines = [line for line in (tmp_path / "log").read_text().splitlines() if "every_minutes" in line]
    assert [json.loads(line)["kind"] for line in lines] == ["settings"]


async def test_a_running_engine_says_what_changes_and_that_it_was_mended(world):
    await world.beat()
    assert told(world.root) == []
    world.layout.config.write_text("[heartbeat]\nevery_minutes = 0.05\n")
    await world.beat()
    await world.beat()
    (first,) = told(world.root)
    assert "0.05 is out of range" in first
    world.layout.role("tester").write_text("+++\npurpose = 5\n+++\n\nWork.\n")
    await world.beat()
    assert len(told(world.root)) == 2
    world.layout.role("tester").unlink()
    await world.beat()
    assert len(told(world.root)) == 2, "the other is known"
    world.layout.config.write_text("[heartbeat]\nevery_minutes = 5\n")
    await world.beat()
    assert told(world.root)[2:] == ["all settings, roles and tools apply again"]


def test_a_key_in_a_setting_stays_out_of_the_log(tmp_path):
    Layout(tmp_path / "state").create()
    (tmp_path / "state" / "lumen.toml").write_text(f'[workers]\nlimit = "{KEY}"\n')
    ran = headless(tmp_path / "state", "--engine-only", "--once")
    assert "workers.limit" in ran.stderr
    assert KEY not in ran.stderr + ran.stdout + "".join(told(tmp_path / "state"))
