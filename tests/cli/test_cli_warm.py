"""`checkpoint` and `ready` without a parser: quick to load, and the same as with one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
HEAVY = (
    "argparse", "asyncio", "typing", "msgspec", "json", "tomllib", "subprocess", "inspect", "dataclasses",
    "lumen_tui.actions.registry", "lumen_tui.store.work.work_units", "lumen_tui.model.records",
)  # fmt: skip
PROBE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from lumen_tui.__main__ import run_plain
code = run_plain(sys.argv[1:])
sys.stderr.write("heavy: " + " ".join([name for name in {heavy!r} if name in sys.modules]))
sys.exit(9 if code is None else code)
"""


def cold(shell, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", PROBE.format(heavy=HEAVY), str(REPO), *words]
    environ = {"LUMEN_STATE": str(shell.root), "LUMEN_OPERATOR": "ana", "HOME": "/nonexistent"}
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=60, check=False, cwd=shell.root.parent
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Where the state folder of `working` is kept once it was made."""
    return tmp_path_factory.mktemp("filled") / "state"


@pytest.fixture
def working(shell, filled):
    """In the middle of a work unit, with something of everything on its page."""
    if filled.exists():
        shutil.copytree(filled, shell.layout.root, dirs_exist_ok=True)
        return shell
    for words in (
        ("wu", "new", "Session manager", "--id", "WU-042", "--lane", "Framework: Core"),
        ("wu", "new", "Before that", "--id", "WU-041"), ("start", "--wu", "WU-042"), ("wu", "claim", "WU-042"),
        ("checkpoint", "half", "--progress", "50%", "--next-steps", "integration"),
        ("create", "Race — «ünïcode»", "--type", "bug", "-p", "P1"), ("decide", "Which lock?"),
        ("decide", "Format?", "--answer", "JSON"), ("handoff", "tests are red"), ("signal", "auth", "--wu", "WU-042"),
        ("link", "WU-041", "blocks", "WU-042"),
    ):  # fmt: skip
        ran = shell(*words)
        assert ran.returncode == 0, (words, ran.stderr)
    shutil.copytree(shell.layout.root, filled)
    return shell


@pytest.mark.parametrize(
    "words",
    [
        ("checkpoint", "half"),
        ("checkpoint", "--note", "half", "--wu", "wu-042", "-p", "50%", "-q"),
        ("mem:checkpoint", "half", "-t", "handoff"),
        ("ready",),
        ("ready", "--wu", "WU-042", "--type", "discovery"),
        ("mem-ready", "--wu", "WU-042"),
    ],
)
def test_nothing_heavy_is_loaded(working, words):
    ran = cold(working, *words)
    assert (ran.returncode, ran.stderr.rpartition("heavy: ")[2]) == (0, "")
    assert ran.stdout


def test_the_thirteenth_checkpoint_loads_nothing_heavy_either(working):
    for _ in range(12):
        assert working("checkpoint", "again").returncode == 0
    ran = cold(working, "checkpoint", "archives an older one")
    assert (ran.returncode, ran.stderr.rpartition("heavy: ")[2]) == (0, "")
    nodes = {node["id"]: node for node in map(json.loads, working.layout.memory.read_text().splitlines())}
    states = [node.get("metadata", {}).get("status") for node in nodes.values() if node["type"] == "checkpoint"]
    assert (len(states), states.count("archived")) == (14, 4)


def test_a_quick_checkpoint_and_a_full_one_write_the_same_fields(working):
    words = ("--progress", "50%", "--next-steps", "integration", "--trigger", "handoff", "--git-diff-stat", "1 file")
    assert cold(working, "checkpoint", "the same", *words).returncode == 0
    assert working("checkpoint", "the same", *words, "--operator", "ana").returncode == 0
    one, two = map(json.loads, working.layout.memory.read_text().splitlines()[-2:])
    for record in (one, two):
        record.pop("id")
        record.pop("created_at")
    assert one == two
    assert one["metadata"]["decisions"][0]["question"] == "Format?"


def test_a_quick_page_and_a_full_one_say_the_same(working):
    for words in (("ready", "--json"), ("ready", "-f", "json", "--type", "pending")):
        quick = json.loads(cold(working, *words).stdout)
        full = json.loads(working(*words, "--operator", "ana").stdout)
        assert _timeless(quick) == _timeless(full)
    assert quick["unit"]["claimed_by"] == "ana"
    assert [one["id"] for one in quick["blockers"]] == ["WU-041"]
    ages = re.compile(r"(?:just )?now|\d+ (s|min) ago")
    lines = [cold(working, "ready").stdout, working("ready", "--operator", "ana").stdout]
    assert ages.sub("", lines[0]) == ages.sub("", lines[1])


def _timeless(page: object) -> object:
    if isinstance(page, dict):
        return {key: _timeless(value) for key, value in page.items() if not key.endswith(("age_seconds", "taken_at"))}
    return [_timeless(one) for one in page] if isinstance(page, list) else page


def test_a_session_named_by_the_environment_is_the_one(working):
    started = working("start", "--wu", "WU-041", "--from", "bo").stdout.strip()
    made = working("checkpoint", "of another", LUMEN_SESSION=started).stdout.strip()
    node = json.loads(working.layout.memory.read_text().splitlines()[-1])
    assert (node["id"], node["wu_id"], node["session_id"]) == (made, "WU-041", started)
    assert working("ready", LUMEN_SESSION=started).stdout.startswith("WU-041")


@pytest.mark.parametrize("verb", [("checkpoint", "x"), ("ready",)])
@pytest.mark.parametrize(
    ("given", "code", "said"),
    [(("--wu", "WU-024"), 3, "did you mean: WU-042"), (("--wu", "x"), 2, "write it as WU-042"),
     (("--from", " x"), 2, "not usable")],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_is_written(working, verb, given, code, said):
    before = working.files()
    ran = working(*verb, *given)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert said in ran.stderr
    assert working.files() == before


def test_a_journal_that_cannot_be_written_is_an_error(working):
    working.layout.memory.rename(working.root / "aside")
    working.layout.memory.symlink_to(working.root / "aside")
    ran = working("checkpoint", "x", "--wu", "WU-042")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "symbolic link" in ran.stderr


def test_a_reader_that_goes_away_is_no_trouble(working):
    command = f"{sys.executable} -m lumen_tui ready | true"
    ran = subprocess.run(
        ["bash", "-c", command], env=working.environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in ran.stderr
