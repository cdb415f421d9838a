"""Commands in a task's own network: real ones, behind a real sandbox, with the proxy as their only way out."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading

import pytest
from lumen_host import Host
from lumen_until import until

from lumen_tui.model.roles import ALL_TOOLS
from lumen_tui.tools.base import ApprovalReply
from lumen_tui.tools.sandbox.sandboxed_command import BUBBLEWRAP

ASK = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=9).read().decode())"
SERVER = (
    "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
    "print(s.server_port, flush=True); s.serve_forever()"
)


ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nfrom site"


@pytest.fixture
def site():
    made = Host(ANSWER)
    yield made
    made.close()


@pytest.fixture
def box(machine, site):
    """A task whose commands may reach that site and nothing else."""
    if machine.tier != BUBBLEWRAP:
        pytest.skip("a network of its own is bubblewrap's")
    with open(machine.store.layout.config, "a") as settings:
        settings.write('[web]\nprivate = ["127.0.0.1"]\n')
    made = machine.box(command_hosts=(f"127.0.0.1:{site.port}",))
    made.site = site
    yield made
    made.close()


def fetch(box, url, *before):
    command = f"{' '.join(before)} {sys.executable} -c '{ASK}' {url}"
    return box.call("shell", {"command": command})


def records(machine):
    path = machine.store.layout.task("tsk-a") / "network.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def test_a_command_reaches_what_is_allowed_and_the_rest_is_refused_and_said(box, machine, site):
    url = f"http://127.0.0.1:{site.port}/"
    assert fetch(box, url, "no_proxy=").text == "from site\n"
    refused = fetch(box, "http://evil.example/")
    assert not refused.ok
    allowed = f"127.0.0.1:{site.port}"
    assert f"[network: evil.example:80 is not among the hosts of this task ({allowed})]" in refused.text
    denied = box.call("shell", {"command": "touch /etc/lumen-test"})
    assert f"reaches {allowed} alone, through the proxy in HTTPS_PROXY" in denied.text
    until(lambda: len(records(machine)) == 2, lambda: records(machine))
    first, second = records(machine)
    assert (first["verdict"], first["host"], first["port"], first["method"]) == (
        "allowed",
        "127.0.0.1",
        site.port,
        "GET",
    )
    assert first["received"] > 9 and (second["verdict"], second["host"]) == ("refused", "evil.example")
    assert "127.0.0.1" in box._context.memo.web


def test_real_tls_goes_through_a_tunnel(box, machine, site, tmp_path):
    if not (shutil.which("openssl") and shutil.which("curl")):
        pytest.skip("openssl and curl, of which this is made, are not here")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", certificate, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    site.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    site.tls.load_cert_chain(certificate, key)
    shown = machine.files / "certificate.pem"
    machine.files.mkdir(exist_ok=True)
    shutil.copy(certificate, shown)
    said = box.call("shell", {"command": f"curl -sS --noproxy '' --cacert {shown} https://127.0.0.1:{site.port}/"})
    assert said.text == "from site"
    until(lambda: records(machine), lambda: "no record")
    assert (records(machine)[0]["method"], records(machine)[0]["verdict"]) == ("CONNECT", "allowed")


WAYS = {
    "straight to it": "socket.create_connection(('127.0.0.1', order['port']), 3)",
    "straight to the machine": "socket.create_connection((order['lan'], order['port']), 3)",
    "by a name": "socket.create_connection(('example.org', 80), 3)",
    "by UDP": "s = socket.socket(2, 2); s.connect(('9.9.9.9', 53)); s.send(b'x')",
    "by IPv6": "socket.create_connection(('2606:4700:4700::1111', 443), 3)",
    "by a UNIX socket": "socket.socket(1, 1).connect(order['sock'])",
    "by an abstract socket": "socket.socket(1, 1).connect(chr(0) + order['abstract'])",
    "by a raw socket": "socket.socket(2, 3, 1)",
    "by a packet socket": "socket.socket(17, 3)",
    "by VSOCK": "socket.socket(40, 1).connect((2, 1))",
    "by a network of its own": "assert ctypes.CDLL(None).unshare(0x50000000) == 0",
    "by the worker's network": "n = str(order['worker']); f = os.open('/proc/' + n + '/ns/net', 0); "
    "assert ctypes.CDLL(None).setns(f, 0) == 0",
    "by the first process's network": "assert ctypes.CDLL(None).setns(os.open('/proc/1/ns/net', 0), 0) == 0",
    "by a new device": "assert os.system('ip link add x type dummy 2>/dev/null') == 0",
    "in the place of the proxy": "socket.create_server(('127.0.0.1', 3128))",
    "beside the proxy": "s = socket.socket(); s.setsockopt(1, 15, 1); s.bind(('127.0.0.1', 3128)); s.listen()",
}
TRY = """
import ctypes, json, os, socket, sys
order, ways = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
out = []
for name, way in ways.items():
    try:
        exec(way)
        out.append(name)
    except (OSError, AssertionError):
        pass
print("out by", out)
"""


def own_address() -> str:
    """An address of this machine beside 127.0.0.1, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
            return str(one.getsockname()[0])
        except OSError:
            return "127.0.0.2"


@pytest.mark.threat("S12", "ways past the proxy of a task")
def test_no_way_leads_out_but_through_the_proxy(box, machine, site):
    machine.files.mkdir(exist_ok=True)
    order = {"port": site.port, "lan": own_address(), "worker": os.getpid(), "sock": str(machine.values["sock"]),
             "abstract": machine.values["abstract"]}  # fmt: skip
    for name, text in (("order", json.dumps(order)), ("ways", json.dumps(WAYS)), ("try.py", TRY)):
        (machine.files / name).write_text(text)
    said = box.call("shell", {"command": f"{sys.executable} -I -S try.py order ways"})
    assert said.text == "out by []\n"
    assert site.connections == 0 and machine.reached() == []


def test_what_runs_in_the_background_is_reached_past_the_proxy(box):
    assert box.call("shell_start", {"command": f'{sys.executable} -u -c "{SERVER}"'}).ok
    port = box.call("shell_output", {"name": "job-1", "timeout": 10}).data["output"].strip()
    assert "Directory listing" in fetch(box, f"http://127.0.0.1:{port}/").text
    assert not fetch(box, f"http://127.0.0.1:{port}/", "no_proxy= NO_PROXY=").ok


def test_a_person_may_add_a_host_for_this_task_alone(box, machine, site):
    port = site.port
    ask = {"host": f"127.0.0.1:{port}", "why": "to look at it"}
    plain = machine.box(tools=ALL_TOOLS)
    machine.answer = ApprovalReply(allowed=False, reason="not that one")
    refused = plain.call("request_host", ask)
    assert not refused.ok and "not that one" in refused.text
    assert not fetch(plain, f"http://127.0.0.1:{port}/", "no_proxy=").ok
    machine.answer = ApprovalReply(allowed=True, by="ann")
    assert plain.call("request_host", ask).ok
    assert machine.asked[-1].arguments["host"] == f"127.0.0.1:{port}"
    assert fetch(plain, f"http://127.0.0.1:{port}/", "no_proxy=").ok
    assert not plain.call("request_host", {"host": "*.org", "why": "all"}).ok
    assert not plain.call("request_host", {"host": "0x7f.1", "why": "x"}).ok
    plain.close()


def test_nothing_of_it_stays_after_the_task(machine, site):
    if machine.tier != BUBBLEWRAP:
        pytest.skip("a network of its own is bubblewrap's")
    before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    box = machine.box(command_hosts=("good.example",))
    assert not fetch(box, "http://evil.example/").ok
    box.close()
    until(lambda: threading.active_count() <= threads, threading.enumerate)
    until(lambda: len(os.listdir("/proc/self/fd")) <= before)  # tests before this one may close theirs meanwhile


@pytest.mark.parametrize("role", [{"shell": "read", "command_hosts": ("a.org",)}, {}, {"constraints": ("No network",)}])
def test_other_roles_and_commands_that_read_have_no_proxy(machine, role):
    box = machine.box(**{"command_hosts": ("a.org",), **role} if "constraints" in role else role)
    said = box.call("shell", {"command": "env | grep -ci _proxy; cat /proc/net/tcp | grep -c :0C38; true"})
    assert said.text.split() == ["0", "0"]
    box.close()


def test_landlock_has_no_network_to_give(machine, site):
    if machine.tier == BUBBLEWRAP:
        pytest.skip("under bubblewrap there is one")
    box = machine.box(command_hosts=(f"127.0.0.1:{site.port}",))
    said = fetch(box, f"http://127.0.0.1:{site.port}/")
    assert not said.ok and site.connections == 0
    assert not records(machine)
    box.close()
