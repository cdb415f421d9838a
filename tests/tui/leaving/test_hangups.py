"""A sample of `make hangups`: a room that is told to end, or whose terminal goes, is gone and leaves nothing behind."""

from __future__ import annotations

import importlib.util
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from lumen_until import until

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def hangups() -> ModuleType:
    spec = importlib.util.spec_from_file_location("leaving_hangups", HERE / "hangups.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
@pytest.mark.sweep(most=4)
@pytest.mark.parametrize(
    ("leader", "way", "size"),
    [
        ("the room", "the terminal goes", "0x0"),
        ("the room", "HUP", "0x80"),
        ("bash, HUP ignored", "the terminal goes", "40x120"),
        ("bash, HUP ignored", "TERM", "40x120"),
        ("make", "the terminal goes", "40x120"),
        ("make", "the leader is killed", "0x0"),
        ("bash, make", "the terminal goes", "40x120"),
        ("tmux", "the terminal goes", "40x120"),
        ("sudo", "TERM", "40x120"),
        ("PID 1", "INT", "40x120"),
        ("PID 1", "TERM", "0x0"),
    ],
)
def test_a_room_ends_and_leaves_nothing_behind(hangups: ModuleType, leader: str, way: str, size: str) -> None:
    if why := hangups.lacking(leader):
        pytest.skip(why)
    hangups.once(leader, way, size)


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
@pytest.mark.sweep(most=1)
@pytest.mark.parametrize("way", ["the terminal goes", "TERM"])
def test_an_editor_that_heeds_nothing_ends_with_the_room(hangups: ModuleType, way: str) -> None:
    hangups.in_the_editor(way)


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
@pytest.mark.sweep(most=1)
@pytest.mark.parametrize("size", ["0x0", "0x80"])
def test_a_terminal_of_no_size_gets_nothing_and_costs_nothing(hangups: ModuleType, size: str) -> None:
    hangups.still(size)


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
def test_a_size_that_changes_while_the_room_opens_is_drawn_and_then_it_rests(hangups: ModuleType) -> None:
    hangups.resized_at_once()


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
def test_a_room_whose_terminal_nobody_reads_ends_by_term(hangups: ModuleType) -> None:
    hangups.unread()


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
def test_the_end_of_the_input_ends_a_room_that_draws_elsewhere(hangups: ModuleType) -> None:
    hangups.end_of_input()


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
@pytest.mark.sweep(most=2)
@pytest.mark.parametrize("seconds", [0.08, 0.16, 0.3])
@pytest.mark.parametrize("way", ["TERM", "INT"])
def test_a_room_that_is_told_to_end_while_it_opens_gives_the_terminal_back(
    hangups: ModuleType, way: str, seconds: float
) -> None:
    hangups.early(way, seconds)


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
@pytest.mark.sweep(most=1)
@pytest.mark.parametrize(("way", "filling"), [("the terminal goes", False), ("the leader is killed", True)])
def test_a_demo_takes_its_engine_and_its_folder_along(hangups: ModuleType, way: str, filling: bool) -> None:
    hangups.demo(way, filling=filling)


def test_an_interrupt_while_a_demo_is_filled_waits_for_no_thread(tmp_path: Path) -> None:
    """What fills has threads, such as one in which a probe looks at a disk that hangs."""
    filling = (
        "import asyncio, time; from lumen_tui import launch; from lumen_tui.headless import demo\n"
        "def look(): print('filling', flush=True); time.sleep(3600)\n"
        "demo.fill = lambda root, model: asyncio.run(asyncio.to_thread(look))\n"
        "raise SystemExit(launch._demo(None))\n"
    )
    words = [sys.executable, "-c", filling]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as program:  # fmt: skip
        assert program.stdout is not None
        assert program.stdout.readline() == "filling\n"
        program.send_signal(signal.SIGINT)
        try:
            said = program.communicate(timeout=60)[1]
        finally:
            program.kill()
    assert program.returncode == 130
    assert said == "lumen-tui: stopped while the demo was being filled; what was made is being removed\n"
    until(lambda: not list(tmp_path.iterdir()))


@pytest.mark.fault("R12", "terminals that go, leaders that are killed, HUP, TERM, INT")
@pytest.mark.parametrize("way", ["the client is killed", "another size, then q"])
def test_a_connection_that_drops_ends_what_it_opened(hangups: ModuleType, way: str) -> None:
    if why := hangups.lacking("sshd"):
        pytest.skip(why)
    hangups.over_ssh(way)


def test_the_room_draws_on_standard_output_wherever_errors_go(hangups: ModuleType) -> None:
    with hangups.folder() as root:
        elsewhere = ["sh", "-c", f"exec {shlex.join(hangups.room(root))} 2>/dev/null"]
        with hangups.Opened(elsewhere) as opened:
            opened.open()
            until(lambda: b"something noticed" in opened.sent)
            opened.type("q")
            until(opened.gone, opened.left)
            until(opened.restored)


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_that_cannot_place_text_is_refused_with_a_sentence(hangups: ModuleType, kind: str) -> None:
    with hangups.folder() as root, hangups.Opened(hangups.room(root), environ={"TERM": kind}) as opened:
        until(lambda: b"set TERM to what it is" in opened.sent)
        assert os.waitstatus_to_exitcode(os.waitpid(opened.leader, 0)[1]) == 2
        assert b"\x1b" not in opened.sent
        assert opened.restored()
