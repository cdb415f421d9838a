"""Commands: what a shell is needed for works, and time, output, background and environment are bounded."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lumen_tui.storage.store import Store

READING = [
    ("ls -la", "canary"), ("cat 'canary'", "alive"), ("head -1 canary | wc -l", "1"),
    ("for f in c*; do cat \"$f\"; done", "alive"), ("cat canary && echo $((6 * 7))", "42"), ("cat <canary", "alive"),
    ("cat <<'END'\nfrom the line itself\nEND", "from the line itself"), ("grep -rn alive .", "canary:1:alive"),
    ("awk '{print $1}' canary | sed s/alive/well/", "well"), ("find . -name 'can*' -exec cat {} +", "alive"),
    ("ps aux", "PID"), ("du -sh .", "."), ("df -h .", "%"), ("cat /proc/mounts", "/"), ("date +%Y", "20"),
    ("cd repo && git log --oneline", "first"), ("git -C repo show --stat HEAD", "first"),
    ("git -C repo status --short", ""), ("git -C repo blame file", "one"), ("git -C repo grep one", "file:one"),
]  # fmt: skip


@pytest.fixture(scope="module")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one file, to be copied."""
    home = tmp_path_factory.mktemp("home")
    repo = home / "repo"
    repo.mkdir()
    (repo / "file").write_text("one\n")
    for command in (
        "git init -q", "git config user.name Ada", "git config user.email a@b", "git add .", "git commit -qm first",
    ):  # fmt: skip
        subprocess.run(command.split(), cwd=repo, check=True, env={"PATH": os.environ["PATH"], "HOME": str(home)})
    return repo


@pytest.fixture
def place(state: Store, first_commit: Path) -> Path:
    """A folder with a file and a repository."""
    folder = state.layout.task("tsk-a")
    (folder / "canary").write_text("alive\n")
    shutil.copytree(first_commit, folder / "repo", symlinks=True)
    return folder


def living(words: str) -> list[str]:
    """The processes with this command line; ended ones that nobody waited for have none."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_text().rstrip("\0") == words:
                found.append(line.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.sweep(most=10)
@pytest.mark.parametrize(("command", "wanted"), READING)
def test_a_command_of_a_role_that_only_reads_runs_in_a_shell(command, wanted, place, make_box, yes):
    result = make_box("read", ask=yes).call("shell", {"command": command, "cwd": str(place)})
    assert result.ok, result.text
    assert wanted in result.text


def test_a_stop_ends_the_running_command(make_box, place, yes):
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    from lumen_tui.tools.base import Stopped

    began = time.monotonic()
    with pytest.raises(Stopped):
        make_box("any", write=True, network=True, ask=yes, stopped=stop.is_set).call(
            "shell", {"command": "sleep 60.173 & setsid sleep 60.173 & sleep 60.173", "cwd": str(place)}
        )
    assert time.monotonic() - began < 3
    assert living("sleep\x0060.173") == []


def test_a_command_that_takes_too_long_is_ended(make_box, place, yes):
    began = time.monotonic()
    result = make_box("any", write=True, network=True, ask=yes).call(
        "shell",
        {"command": "trap '' TERM; echo before; while :; do sleep 0.1; done", "cwd": str(place), "timeout": 0.5},
    )
    assert time.monotonic() - began < 4
    assert not result.ok
    assert "before" in result.text
    assert "ended after 0.5 seconds" in result.text


def test_endless_output_is_cut_while_it_runs(make_box, place, yes):
    began = time.monotonic()
    result = make_box("any", write=True, network=True, ask=yes).call(
        "shell", {"command": "yes lumen", "cwd": str(place)}
    )
    assert time.monotonic() - began < 10
    assert not result.ok
    assert "left out" in result.text
    assert len(result.text) < 70_000
    assert result.truncated > 1_000_000


def test_a_command_in_the_background_does_not_hold_the_call(make_box, place, yes):
    began = time.monotonic()
    result = make_box("any", write=True, network=True, ask=yes).call(
        "shell", {"command": "sleep 50 & echo up", "cwd": str(place)}
    )
    assert time.monotonic() - began < 4
    assert result.ok
    assert "up" in result.text


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
def test_a_child_gets_no_secrets_in_its_environment(make_box, place):
    box = make_box(
        "any", write=True, network=True, environ={"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdefgh", "X": "y"}
    )
    result = box.call("shell", {"command": "env", "cwd": str(place)})
    assert "ANTHROPIC" not in result.text
    assert "X=y" not in result.text


def test_without_network_a_command_reaches_nothing(make_box, place):
    """In any sandbox; where there is none it is not run, as here nobody says yes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 10)"
        call = {"command": f'{sys.executable} -I -S -c "{connect}"', "cwd": str(place)}
        given = make_box("any", write=True, network=True).call("shell", call)
        assert reached(server) == given.ok, given.text
        kept = make_box("any", write=True).call("shell", call)
        assert not kept.ok
        assert not reached(server), kept.text


def reached(server: socket.socket) -> bool:
    """Whether somebody connected; the connection is taken off the queue."""
    if not select.select([server], [], [], 0)[0]:
        return False
    server.accept()[0].close()
    return True
