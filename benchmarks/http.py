"""The HTTP API over 100,000 nodes and 1,000,000 signals: reads by 64 connections, a thousand streams, memory.

The load comes from wrk on the same processors. Requests have arguments of their own, so that no answer could be kept
for its address.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.state import make_state
from benchmarks.table import Row
from lumen_tui.actions.registry import named, perform
from lumen_tui.model.access import Scope
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.settings import access

CONNECTIONS, STREAMS, TASKS = 64, 1000, 20
NODES, SIGNALS = 100_000, 1_000_000
_SCRIPT = """
math.randomseed(os.time())
local at = 0
local makers = {
  function() return "/v1/status" end,
  function() return "/v1/inbox?limit=" .. math.random(10, 30) end,
  function() return "/v1/tasks/" .. tasks[math.random(#tasks)] end,
  function() return "/v1/search?query=" .. math.random(1, 99999) .. "&limit=" .. math.random(5, 20) end,
}
function request()
  at = at + 1
  return wrk.format("GET", makers[at % #makers + 1]())
end
function done(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.read + summary.errors.timeout
  print(string.format("RESULT %.3f %.3f %.1f %d", latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    summary.requests / summary.duration * 1e6, bad))
end
"""


def measure(folder: Path, newest: float, *, seconds: int) -> Iterator[Row]:
    """Serve a large folder and load it."""
    if shutil.which("wrk") is None:
        yield Row("P3", "HTTP reads", skipped="needs wrk")
        return
    layout = make_state(folder / "http-state", nodes=NODES, signals=SIGNALS, newest=newest)
    tasks = [_task(Store(layout.root), number) for number in range(TASKS)]
    token = access.add(layout, "bench", frozenset(Scope), by="ana", now=time.time(), seconds=86400)
    script = folder / "mix.lua"
    names = ", ".join(f'"{task}"' for task in tasks)
    script.write_text(f'wrk.headers["Authorization"] = "Bearer {token}"\nlocal tasks = {{{names}}}\n{_SCRIPT}')
    words = [
        sys.executable,
        "-m",
        "lumen_tui",
        "--state",
        str(layout.root),
        "serve",
        "--port",
        "0",
        "--limit",
        "1000000",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rpartition(":")[2])
            _index(port, token)
            yield from _reads(port, script, server.pid, seconds)
            yield from _streams(port, token, layout, server.pid)
        finally:
            server.send_signal(signal.SIGTERM)


def _task(store: Store, number: int) -> str:
    request = named("task.new", {"objective": f"Look at part {number} of the pump"})
    return perform(store, request, by="ana", now=time.time()).target


def _index(port: int, token: str) -> None:
    """Search once: the index is made with the first search."""
    link = HTTPConnection("127.0.0.1", port, timeout=600)
    link.request("GET", "/v1/search?query=pump", headers={"authorization": f"Bearer {token}"})
    if link.getresponse().status != 200:
        raise RuntimeError("the search failed")
    link.close()


def _reads(port: int, script: Path, pid: int, seconds: int) -> Iterator[Row]:
    _wrk(port, script, 2)  # pages are read
    resident, cpu = _resident(pid), _cpu(pid)
    p50, p99, rate = _wrk(port, script, seconds)
    used = _cpu(pid) - cpu
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    what = f"{CONNECTIONS} connections: status, inbox, task, search; {load}"
    yield Row("P3", f"HTTP p50, {what}", p50, goal=15)
    yield Row("P3", "HTTP p99 of these", p99, goal=50)
    yield Row("P3", "reads a second", rate, "1/s", goal=5000, more_is_better=True)
    yield Row("P3", "CPU of the server for a read", 1000 * used / (rate * seconds))
    yield Row("P3", "memory that it takes up meanwhile", _resident(pid) - resident, "MB", goal=8)


def _wrk(port: int, script: Path, seconds: int) -> tuple[float, float, float]:
    """Return p50 and p99 in milliseconds, and requests a second. Raises where a request was not answered."""
    words = [
        "wrk",
        "-t",
        "1",
        "-c",
        str(CONNECTIONS),
        "-d",
        str(seconds),
        "-s",
        str(script),
        f"http://127.0.0.1:{port}",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    match = re.search(r"RESULT (\S+) (\S+) (\S+) (\d+)", done.stdout)
    if match is None or int(match[4]):
        raise RuntimeError(f"requests were not answered: {done.stdout}")
    return float(match[1]), float(match[2]), float(match[3])


def _streams(port: int, token: str, layout: Layout, pid: int) -> Iterator[Row]:
    head = f"GET /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n".encode()
    before, streams = _resident(pid), []
    for _ in range(STREAMS):
        stream = socket.create_connection(("127.0.0.1", port), 60)
        stream.sendall(head)
        streams.append(stream)
    for stream in streams:
        _until(stream, b"id: ")
    began = time.monotonic()
    request = named("signal.send", {"message": "to all of them", "to": "*"})
    perform(Store(layout.root), request, by="ana", now=time.time())
    for stream in streams:
        _until(stream, b"to all of them")
    yield Row("P3", f"from a signal to the last of {STREAMS:,} streams", 1000 * (time.monotonic() - began), goal=1000)
    yield Row("P3", f"memory of {STREAMS:,} streams", _resident(pid) - before, "MB", goal=100)
    for stream in streams:
        stream.close()


def _until(stream: socket.socket, words: bytes) -> None:
    data = b""
    while words not in data:
        part = stream.recv(65536)
        if not part:
            raise RuntimeError("a stream ended")
        data += part


def _family(pid: int) -> list[int]:
    """Return a process and those that it started."""
    lists = [path.read_text(encoding="utf-8") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [pid, *(int(child) for children in lists for child in children.split())]


def _resident(pid: int) -> float:
    """Return the memory of a process, and of those that it started, in MB."""
    texts = [Path(f"/proc/{each}/status").read_text(encoding="utf-8") for each in _family(pid)]
    return sum(int(text.partition("VmRSS:")[2].split()[0]) for text in texts) / 1024


def _cpu(pid: int) -> float:
    """Return the processor time of a process, and of those that it started, in seconds."""
    stats = [Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split() for each in _family(pid)]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")
