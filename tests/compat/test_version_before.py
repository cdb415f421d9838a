"""A state folder, settings, keys and hooks of version 0.1 work unchanged.

The archive holds a folder in which that version did everything once, a project with its hooks, and what its commands
printed a day later.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lumen_archives import unpack
from lumen_program import lumen
from lumen_robot import screen_text, until

from lumen_tui.cli.main import main
from lumen_tui.engine.port import RemotePort
from lumen_tui.model import renamed
from lumen_tui.tui.app import LumenApp

ARCHIVE = Path(__file__).parents[1] / "data" / "version-0.1.tar.xz"
NEW_SECTIONS = re.compile(
    r"(?<=room), (?:scheduling|projects|schedules|notify|backup|traces|mail|hosts|, )+(?=, allow)"
    r"|(?<=keys), commands, filters"
)
NEW_CLOSED = "no MCP server is used, "
TOP = "@top@"  # in recorded texts: the folder that holds the state folder and the project


@dataclass
class Before:
    """What version 0.1 left, unpacked."""

    top: Path
    at: float  # when the commands were recorded, seconds since 1970
    listings: dict[str, dict[str, Any]]  # by command: its exit code, and the JSON that it printed
    undone: dict[str, int]  # by action, the newest first: the exit code of `undo ACTION`

    @property
    def state(self) -> Path:
        return self.top / "state"


@pytest.fixture
def before(tmp_path: Path) -> Before:
    top = tmp_path / "lived"
    unpack(ARCHIVE, top)
    record = json.loads((top / "printed.json").read_text())
    settings = top / "project" / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace(TOP, str(top)))
    return Before(top, record["at"], record["listings"], record["undone"])


def run(before: Before, capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, str]:
    """Run a command in this process; the exit code and what it printed, in the words of the record."""
    arguments = [word.replace(TOP, str(before.top)) for word in words.split()]
    code = main(["--state", str(before.state), "--operator", "operator", *arguments])
    return code, capsys.readouterr().out.replace(str(before.top), TOP)


_NEW_ROLES = ("planner", "tester", "web", "writer")  # shipped since
_NEW_POWERS = {"reviewer": {"tools", "shell", "limits"}}  # of shipped roles: it runs tests, in its own folder


def comparable(value: Any) -> Any:
    """Rows in the order of their ids, as records of one moment have none of their own; without changed wording.

    What has the words of a search is compared, not how it is ranked and what is beside it.
    """
    if isinstance(value, list):
        rows = [comparable(row) for row in value if not (isinstance(row, dict) and row.get("neighbour_of"))]
        for name in ("id", "ref"):
            if all(isinstance(row, dict) and name in row for row in rows):
                return sorted(rows, key=lambda row: row[name])
        return rows
    if isinstance(value, dict):
        words = {"what", "hint"} if "hint" in value else {"score", "parts"} if "score" in value else set()
        if "tools" in value:  # a role; the words of shipped ones are rewritten with each version
            value = {**value, "tools": [renamed.tool(name) for name in value["tools"]]}
            if value.get("source", "shipped") == "shipped":
                words |= {"prompt", "purpose"} | _NEW_POWERS.get(value["name"], set())
        return {key: comparable(inner) for key, inner in value.items() if key not in words}
    if not isinstance(value, str):
        return value
    return NEW_SECTIONS.sub("", value.replace("mend it", "fix it").replace("web, mcp,", "web,").replace(NEW_CLOSED, ""))


def of_then(value: Any, then: Any) -> Any:
    """Leave out the keys that the earlier version did not write: more may be said, nothing else."""
    if isinstance(value, dict) and "hits" in value and "matches" in value:
        units = [hit for hit in value["hits"] if hit["type"] == "unit"]
        hits = [hit for hit in value["hits"] if hit["type"] != "unit"]
        value = {**value, "matches": value["matches"] - len(units), "hits": hits}
    if isinstance(value, dict) and isinstance(then, dict):
        return {key: of_then(inner, then[key]) for key, inner in value.items() if key in then}
    if isinstance(value, list) and isinstance(then, list):
        value = [row for row in value if row in then or not (isinstance(row, dict) and row.get("name") in _NEW_ROLES)]
    if isinstance(value, list) and isinstance(then, list) and len(value) == len(then):
        return [of_then(one, other) for one, other in zip(value, then, strict=True)]
    return value


def test_every_listing_is_as_it_was(before: Before, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: before.at)
    different = []
    for words, listing in before.listings.items():
        code, out = run(before, capsys, words)
        value = json.loads(out) if listing["json"] is not None else None
        then = comparable(listing["json"])
        if (code, of_then(comparable(value), then)) != (listing["code"], then):
            different.append((words, code, out))
    assert different == []


def test_its_actions_are_undone_as_it_would(before: Before, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: before.at)
    assert {action: run(before, capsys, f"undo {action}")[0] for action in before.undone} == before.undone
    assert list(before.undone.values()).count(0) > 50


def test_an_engine_beats_on_it(before: Before) -> None:
    words = ["--engine-only", "--once", "--log-format", "jsonl", "--state", str(before.state)]
    engine = lumen(words, env=dict(os.environ), cwd=before.top)
    assert engine.returncode == 0, engine.stderr
    assert "engine_started" in [json.loads(line).get("kind") for line in engine.stdout.splitlines()]


def test_a_hook_as_it_was_installed_is_heard(before: Before, capsys: Any) -> None:
    settings = json.loads((before.top / "project" / ".claude" / "settings.json").read_text())
    (entry,) = settings["hooks"]["PostToolUse"]
    program, *arguments = shlex.split(entry["hooks"][0]["command"])
    assert program == "lumen-tui"
    event = {"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}, "cwd": "/"}
    hook = subprocess.run(
        [sys.executable, "-m", "lumen_tui", *arguments], input=json.dumps(event), text=True, capture_output=True,
        check=False, cwd=before.top,
    )  # fmt: skip
    assert (hook.returncode, hook.stderr) == (0, "")
    assert "no hook has run yet" not in run(before, capsys, f"hooks status --project {TOP}/project")[1]


async def test_the_keys_of_its_settings_are_in_force(before: Before) -> None:
    app = LumenApp(RemotePort(before.state, "operator"), operator="operator")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.room.snapshot.loading == 1 and app.room.snapshot.root)
        await pilot.press("5", "o")
        await until(pilot, lambda: "1 Core" in screen_text(app))
