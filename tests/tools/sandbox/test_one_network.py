"""What a task starts in the background is reached by its next command, and by nothing else."""

from __future__ import annotations

import contextlib
import os
import socket
import sys

import pytest

from lumen_tui.tools.sandbox import task_network

SERVER = (
    "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
    "print(s.server_port, flush=True); s.serve_forever()"
)  # fmt: skip
ASK = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).status)"


@pytest.fixture
def boxes(machine):
    with contextlib.ExitStack() as stack:

        def make(**role):
            box = machine.box(**role)
            stack.callback(box.close)
            return box

        yield make


@pytest.fixture
def walled(boxes, machine):
    if machine.tier != "bubblewrap":
        pytest.skip("commands have no sockets at all under Landlock")
    return boxes


def serving(box):
    """Start a server and return its port."""
    assert box.call("shell_start", {"command": f'{sys.executable} -u -c "{SERVER}"'}).ok
    return (
        box.call("shell_output", {"name": f"job-{len(box._context.memo.running)}", "timeout": 10})
        .data["output"]
        .strip()
    )


def asking(box, port):
    return box.call("shell", {"command": f'{sys.executable} -c "{ASK}" http://127.0.0.1:{port}/'})


def test_a_server_in_the_background_is_reached_by_the_next_command(walled):
    box = walled()
    first, second = serving(box), serving(box)
    assert (asking(box, first).text, asking(box, second).text) == ("200\n", "200\n")
    box.call("shell_stop", {"name": "job-1"})
    assert not asking(box, first).ok
    assert asking(box, second).text == "200\n"
    assert f"uid={os.geteuid()}" in box.call("shell", {"command": "id"}).text


def test_no_other_task_nor_this_machine_reaches_it_and_it_reaches_neither(walled):
    box, other = walled(), walled()
    port = serving(box)
    assert not asking(other, port).ok
    serving(other)
    assert not asking(other, port).ok
    with socket.socket() as here:
        assert here.connect_ex(("127.0.0.1", int(port))) != 0
    with socket.create_server(("127.0.0.1", 0)) as outside:
        assert not asking(box, outside.getsockname()[1]).ok
        assert box.call("shell", {"command": "cat /proc/net/dev | grep -c :"}).text == "1\n"


def test_a_command_in_it_has_no_more_rights_than_any_other(walled):
    box = walled()
    serving(box)
    said = box.call(
        "shell", {"command": "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status"}
    ).text.split()
    assert said == ["CapPrm:", "0" * 16, "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2"]
    assert not box.call("shell", {"command": "ip link add x type dummy || unshare -n true"}).ok


def test_nothing_of_it_stays_open_after_the_task(walled):
    before = len(os.listdir("/proc/self/fd"))
    box = walled()
    serving(box)
    assert len(os.listdir("/proc/self/fd")) > before
    box.close()
    assert len(os.listdir("/proc/self/fd")) <= before  # what earlier tests left may be collected meanwhile


def test_where_it_cannot_be_entered_each_command_keeps_its_own(walled, monkeypatch):
    monkeypatch.setattr(task_network, "_can_be_entered", lambda network: False)
    box = walled()
    port = serving(box)
    assert not asking(box, port).ok
    assert box.call("shell", {"command": "echo on"}).text == "on\n"
