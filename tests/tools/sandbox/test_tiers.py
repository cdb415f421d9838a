"""Which tier is in force, that a tier which does not hold is not believed, and what happens without one."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lumen_bare
import lumen_machine
import msgspec
import pytest
from lumen_rows import each_row

from lumen_tui.engine.sandbox_tier import SandboxMonitor, sentence_on
from lumen_tui.model.config import SandboxConfig
from lumen_tui.storage import directories, files
from lumen_tui.tools.base import ApprovalReply
from lumen_tui.tools.sandbox import bubblewrap, landlock, tiers
from lumen_tui.tools.sandbox.tiers import REFUSED, SelfTestResults, choose

BOTH = SelfTestResults("here", (tiers.TierTest("bubblewrap", holds=True), tiers.TierTest("landlock", holds=True)))
WEAK = SelfTestResults(
    "here",
    (tiers.TierTest("bubblewrap", holds=False, reason="not installed"), tiers.TierTest("landlock", holds=True)),
)
NONE = SelfTestResults(
    "here",
    (
        tiers.TierTest("bubblewrap", holds=False, reason="a"),
        tiers.TierTest("landlock", holds=False, reason="b"),
    ),
)


@pytest.mark.threat("S12", "a machine without a sandbox refuses or asks")
@each_row(
    ("settings", "results", "tier"),
    [
        ({}, BOTH, "bubblewrap"), ({}, WEAK, "landlock"), ({}, NONE, "ask"),
        ({"tier": "landlock"}, BOTH, "landlock"), ({"tier": "ask"}, BOTH, "ask"),
        ({"tier": "bubblewrap"}, WEAK, REFUSED), ({"tier": "landlock"}, NONE, REFUSED),
        ({"require": "bubblewrap"}, BOTH, "bubblewrap"), ({"require": "bubblewrap"}, WEAK, REFUSED),
        ({"require": "landlock"}, WEAK, "landlock"), ({"require": "landlock"}, NONE, REFUSED),
        ({"tier": "ask", "require": "landlock"}, BOTH, REFUSED),
        ({"tier": "landlock", "require": "bubblewrap"}, BOTH, REFUSED),
    ],
)  # fmt: skip
def test_the_tier_in_force_is_never_weaker_than_what_was_asked_for(settings, results, tier):
    found = choose(SandboxConfig(**settings), results)
    assert found.tier == tier
    assert sentence_on(found)
    if tier == REFUSED:
        assert "no command is run" in found.reason
    if results is WEAK and tier == "landlock" and not settings:
        assert "not installed" in found.reason, "a weaker tier says why it is in force"


def fake_bwrap(folder: Path, script: str) -> str:
    """A PATH on which `bwrap` is this script."""
    folder.mkdir(exist_ok=True)
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


READS = {"write": False, "shell": "read"}
NO_WALLS = """while [ "$1" != -- ]; do
  [ "$1" = --json-status-fd ] && echo '{"exit-code"' >/proc/self/fd/$2
  shift
done
shift
exec "$@"
"""


@pytest.mark.threat("S12", "a machine without a sandbox refuses or asks")
@pytest.mark.parametrize(
    ("script", "why"),
    [
        (NO_WALLS, "got through: read a secret, signal the engine"),
        ("echo bwrap: No permissions to create new namespace >&2; exit 1", "No permissions to create"),
        ("exit 0", "was not in place"), ("echo '{}'; exit 0", "{}"),
    ],
)  # fmt: skip
def test_a_bubblewrap_that_does_not_hold_is_found_out(tmp_path, script, why):
    found = tiers.test("bubblewrap", tmp_path / "index", fake_bwrap(tmp_path / "bin", script))
    assert not found.holds
    assert why in found.reason
    if script == NO_WALLS:
        for attempt in ("connect to a TCP port", "socket of a service", "a pair of sockets", "make a setuid program"):
            assert attempt in found.reason
        assert sorted(os.listdir(tmp_path / "index" / "sandbox-test" / "inside")) == []
        assert "write outside" in found.reason


def test_what_the_test_tries(results):
    for one in results.tested:
        assert one.holds or one.reason
        assert len(one.tried) >= 14 or not one.holds


def test_two_at_once_do_not_disturb_each_other(tmp_path):
    directories.make_folder(tmp_path / "index")
    path = os.environ["PATH"]
    tier = next(iter(lumen_machine.holding()), "")
    if not tier:
        pytest.skip("no sandbox holds on this machine")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: tiers.test(tier, tmp_path / "index", path), range(4)))
    assert [result.reason for result in results if not result.holds] == []


def test_no_bubblewrap_names_the_package(tmp_path):
    assert "package `bubblewrap`" in tiers.test("bubblewrap", tmp_path, str(tmp_path)).reason


def test_one_that_stops_working_later_runs_nothing(machine):
    if machine.tier != "bubblewrap":
        pytest.skip("of bubblewrap")
    index = machine.store.layout.index
    path = fake_bwrap(machine.top / "bin", "echo setting up uid map: Permission denied >&2; exit 1")
    results = msgspec.structs.replace(BOTH, machine=tiers._machine(path))
    files.replace(index / tiers.RESULTS, msgspec.json.encode(results))
    box = machine.box()
    msgspec.structs.force_setattr(box._context, "environ", {**box._context.environ, "PATH": path})
    result = box.call("shell", {"command": "echo ran > here; echo ran"})
    assert not result.ok
    assert "nothing was run" in result.text
    assert "uid map" in result.text
    assert not (machine.files / "here").exists()


@pytest.mark.threat("S12", "a machine without a sandbox refuses or asks")
def test_where_the_required_tier_does_not_work_a_command_is_refused_with_the_reason(unwalled):
    unwalled.settings(require="landlock")
    for box in (unwalled.box(), unwalled.box(**READS)):
        result = box.call("shell", {"command": "ls"})
        assert not result.ok
        assert "no command is run: [sandbox] require = 'landlock'" in result.text
    assert unwalled.asked == []


def test_without_walls_a_command_asks_and_a_no_comes_back_with_its_reason(unwalled):
    unwalled.answer = ApprovalReply(allowed=False, reason="not on a Friday")
    result = unwalled.run("echo x > here")
    assert not result.ok
    assert "not on a Friday" in result.text
    assert not (unwalled.files / "here").exists()
    (asked,) = unwalled.asked
    assert asked.summary == "echo x > here"
    assert "No sandbox" in asked.risk


def test_without_walls_a_command_that_was_allowed_runs_with_its_limits(unwalled):
    unwalled.answer = ApprovalReply(allowed=True, by="ann")
    unwalled.settings(memory_mb=128)
    assert unwalled.run("echo x > here; ulimit -d").text.startswith("131072")
    assert (unwalled.files / "here").read_text() == "x\n"


def test_the_engine_tests_at_the_start_after_a_change_and_once_an_hour(tmp_path, monkeypatch):
    from lumen_tui.storage.layout import Layout

    layout = Layout(tmp_path / "state")
    layout.create()
    monkeypatch.setenv("PATH", fake_bwrap(tmp_path / "bin", "exit 1"))
    engine = SandboxMonitor(layout)
    assert engine.tier == ""
    only = SandboxConfig(tier="bubblewrap")
    news = [engine.refresh(only, 100.0), engine.refresh(only, 200.0)]
    assert (engine.tier, news) == (REFUSED, [engine.choice, None])
    news = [engine.refresh(SandboxConfig(tier="ask"), 300.0)]
    assert (engine.tier, news) == ("ask", [engine.choice])
    first = (layout.index / tiers.RESULTS).stat().st_ino
    assert engine.refresh(SandboxConfig(tier="ask"), 5000.0) is None
    assert (layout.index / tiers.RESULTS).stat().st_ino == first, "nothing new is not written again"


def test_kept_results_of_another_machine_are_not_believed(tmp_path):
    index = tmp_path / "index"
    index.mkdir()
    path, settings = os.environ["PATH"], SandboxConfig(tier="ask")
    files.replace(index / tiers.RESULTS, msgspec.json.encode(BOTH))
    assert tiers.stored_results(index, path, settings) is None
    (index / tiers.RESULTS).write_bytes(b"\xff{rubbish")
    assert tiers.stored_results(index, path, settings) is None
    assert tiers.current_results(index, path, settings).tested == ()


@each_row("kind", ["x86_64", "aarch64"])
def test_the_filter_is_well_formed(kind):
    program = landlock.call_filter((2, 10), kind)
    count = len(program) // 8
    assert len(program) % 8 == 0
    assert count < 4096
    for number in range(count):
        code, if_true, if_false = program[number * 8], program[number * 8 + 2], program[number * 8 + 3]
        if code & 7 == 5:  # a jump stays inside
            assert number + 1 + max(if_true, if_false) < count
    assert program[-8] == 6, "it ends with an answer"


def test_bubblewrap_is_found_on_the_path(tmp_path):
    assert bubblewrap.program(str(tmp_path)) == ""
    assert bubblewrap.program(fake_bwrap(tmp_path / "bin", "exit 0")).endswith("/bin/bwrap")


@pytest.mark.threat("S12", "a machine without a sandbox refuses or asks")
@pytest.mark.parametrize("settings", [{"require": "bubblewrap"}, {"tier": "bubblewrap"}])
def test_taking_programs_off_the_path_never_loosens_what_is_required(unwalled, settings):
    """What lets tests run as on a bare machine could be done to an engine as well."""
    (bare := unwalled.top / "bare").mkdir()
    path = lumen_bare.links(bare, os.environ["PATH"], ["bwrap", "strace"])
    wanted = SandboxConfig(**settings)
    assert choose(wanted, tiers.test_all(unwalled.store.layout.index, path, wanted)).tier == REFUSED
    lines = "".join(f'{name} = "{value}"\n' for name, value in settings.items())
    unwalled.store.layout.config.write_text(f"[sandbox]\n{lines}")
    box = unwalled.box()
    msgspec.structs.force_setattr(box._context, "environ", {**box._context.environ, "PATH": path})
    result = box.call("shell", {"command": "echo ran > here"})
    assert not result.ok
    assert "no command is run" in result.text
    assert unwalled.asked == []
    assert not (unwalled.files / "here").exists()


def test_a_bare_machine_has_neither_the_programs_nor_landlock(tmp_path):
    script = "import shutil; from lumen_tui.tools.sandbox import landlock; print(shutil.which('bwrap'), landlock.abi())"
    words = ["--without", "bwrap", "--no-landlock", "--", sys.executable, "-c", f"{script}; raise SystemExit(7)"]
    ran = subprocess.run([sys.executable, lumen_bare.__file__, *words], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == ("None 0\n", 7), ran.stderr
