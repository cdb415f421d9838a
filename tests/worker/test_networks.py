"""What real workers serve and reach: a server of a task's own, hosts by its proxy, and what a kill leaves of both."""

from __future__ import annotations

import glob
import json
import socket
import sys

import lumen_machine
import pytest
from lumen_apiserver import text, tool
from lumen_until import until

BUILDER = """+++
purpose = "p"
shell = "any"
write = true
{hosts}tools = ["shell", "shell_start", "shell_output", "shell_stop", "request_host", "write_result"]
+++

Work.
"""
SERVE = f"echo hello > page && exec {sys.executable} -m http.server 8765 --bind 127.0.0.1"
CURL = "curl -s http://127.0.0.1:8765/page"


@pytest.fixture
def walled():
    if lumen_machine.choice().tier != "bubblewrap":
        pytest.skip("a task has a network of its own under bubblewrap alone")


def as_builder(task, hosts=""):
    task.layout.role("builder").write_text(BUILDER.format(hosts=hosts))
    return task


def test_a_server_is_started_curled_and_ended_by_one_task(walled, make_task, api):
    wait = f"until {CURL}; do sleep 0.2; done"
    api.say(
        tool("shell_start", command=SERVE), tool("shell", command=wait), tool("shell_stop", {"name": "job-1"}),
        tool("shell", command=CURL), tool("write_result", text="It said hello."),
    )  # fmt: skip
    task = as_builder(make_task("Serve it", role="builder"))
    assert task.run(90, warm=True, **api.anthropic_env)["status"] == "done"
    said = [request.results[0] for request in api.asked[1:]]
    assert said[1] == "hello\n" and said[2].startswith("job-1: ended")
    assert "[exit code 7]" in said[3]
    assert [event.get("ok", True) for event in task.kinds("result")] == [True, True, True, False, True]


def test_a_kill_ends_the_server_the_proxy_and_what_was_on_its_way(walled, make_task, api):
    """A site of this machine, which the operator allowed, keeps an answer open while the worker is killed."""
    with socket.create_server(("127.0.0.1", 0)) as site:
        site.settimeout(90)
        port = site.getsockname()[1]
        task = as_builder(make_task("Fetch it", role="builder"), f'command_hosts = ["127.0.0.1:{port}"]\n')
        with open(task.layout.config, "a") as settings:
            settings.write('[web]\nprivate = ["127.0.0.1"]\n')
        api.say(
            tool("shell_start", command=f"{SERVE} -d {task.folder}"),
            tool("shell", command=f"curl -sS --noproxy '' http://127.0.0.1:{port}/"),
            text("late"),
        )
        child = task.start(warm=True, **api.anthropic_env)
        client = site.accept()[0]
        with client:
            client.settimeout(30)
            assert client.recv(1000).startswith(b"GET / HTTP/1.1\r\n")
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
            child.kill()
            child.wait()
            assert ended(client)
    marks = (str(task.folder), f"http://127.0.0.1:{port}/")
    until(lambda: not any(mark in line for mark in marks for line in command_lines()), command_lines)


def ended(client):
    """Whether the other side has closed the connection, with or without a word."""
    try:
        return client.recv(1000) == b""
    except ConnectionResetError:
        return True


def command_lines():
    """The command lines of all processes."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, errors="replace") as line:
                found.append(line.read())
        except OSError:
            continue
    return found


def test_hosts_are_said_in_the_prompt_and_what_is_refused_in_the_result(walled, make_task, api):
    api.say(tool("shell", command="curl -sS https://evil.example/"), tool("write_result", text="No."))
    task = as_builder(make_task("Fetch it", role="builder"), 'command_hosts = ["pypi.org", "*.example.org"]\n')
    assert task.run(90, warm=True, **api.anthropic_env)["status"] == "done"
    told = api.asked[0].first_text
    assert "Network: commands reach pypi.org, *.example.org only, through the proxy in HTTP_PROXY" in told
    assert "request_host asks the operator for it" in told
    (refused,) = [request.results[0] for request in api.asked[1:2]]
    why = "[network: evil.example:443 is not among the hosts of this task (pypi.org, *.example.org)]"
    assert why in refused
    (line,) = (task.folder / "network.jsonl").read_bytes().splitlines()
    assert json.loads(line)["verdict"] == "refused" and json.loads(line)["method"] == "CONNECT"
