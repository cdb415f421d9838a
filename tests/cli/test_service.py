"""`service` and `health`: units that systemd takes and that leave workers their sandbox; exit codes of a monitor."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from lumen_program import lumen, start_lumen
from lumen_until import until

from lumen_tui.cli.main import main
from lumen_tui.cli.units import ServiceUnit
from lumen_tui.model.access import Scope
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import access

BOTH = pytest.mark.parametrize("user", ["", "lumen"], ids=["user", "system"])
COMMANDS = [[], ["serve", "--cert", "/srv/100 %/$HOME.pem"], ["host", "--cert", "/srv/100 %/$HOME.pem"]]
# What bubblewrap, Landlock, seccomp and the zygote need of the kernel.
SANDBOX = {
    *("clone", "clone3", "unshare", "setns", "mount", "umount2", "pivot_root", "prctl", "seccomp", "chroot"),
    *(
        "landlock_create_ruleset",
        "landlock_add_rule",
        "landlock_restrict_self",
        "capset",
        "sethostname",
        "memfd_create",
    ),
    *("ptrace", "pidfd_open", "pidfd_send_signal", "fork", "vfork", "execve", "setsid", "flock", "inotify_init1"),
}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user's units."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "systemd" / "user"


@BOTH
@pytest.mark.parametrize("command", COMMANDS, ids=["engine", "serve", "host"])
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_takes_the_unit_without_a_warning(user: str, command: list[str], tmp_path: Path) -> None:
    program = shutil.which("true") or ""
    path = tmp_path / "lumen.service"
    path.write_text(ServiceUnit([program], '/srv/100 % of "it"/lumen $HOME', user, command).text(), encoding="utf-8")
    words = ["systemd-analyze", "verify", "--man=no", *(["--system"] if user else ["--user"]), str(path)]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=env)
    complaints = [line for line in done.stderr.splitlines() if "lumen.service" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


def _values(text: str, name: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]


@BOTH
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_no_system_call_of_the_sandbox_is_filtered(user: str) -> None:
    (denied,) = _values(ServiceUnit(["/bin/true"], "/srv", user).text(), "SystemCallFilter")
    assert denied.startswith("~")
    calls = system_calls(*denied[1:].split())
    assert len(calls) > 10
    assert calls & SANDBOX == set()


def system_calls(*groups: str) -> set[str]:
    """Return the system calls of groups of systemd's, with those of the groups in them."""
    calls: set[str] = set()
    for group in groups:
        words = ["systemd-analyze", "syscall-filter", group]
        listed = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        names = {line.strip() for line in listed.stdout.splitlines() if re.match(r"    [@a-z]", line)}
        inner = {name for name in names if name.startswith("@")}
        calls |= (names - inner) | (system_calls(*inner) if inner else set())
    return calls


@BOTH
def test_nothing_keeps_bubblewrap_from_its_namespaces_and_a_fresh_proc(user: str) -> None:
    text = ServiceUnit(["/bin/true"], "/srv", user).text()
    for name in ("RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "ProcSubset"):
        assert _values(text, name) == []


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
def test_commands_are_sandboxed_without_new_privileges_and_capabilities(sandbox: object) -> None:
    account = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"] if os.geteuid() == 0 else []
    words = ["setpriv", "--no-new-privs", "--inh-caps=-all", *account]
    inner = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "sh", "-c", "echo $$"]
    if not shutil.which("bwrap"):
        pytest.skip("needs bubblewrap")
    done = subprocess.run([*words, *inner], capture_output=True, text=True, timeout=60, cwd="/")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 10  # a pid namespace of its own


@BOTH
@pytest.mark.parametrize("command", [[], ["host"]], ids=["engine", "host"])
def test_a_crash_and_a_hang_are_restarted_and_workers_outlive_it(user: str, command: list[str]) -> None:
    text = ServiceUnit(["/bin/true"], "/srv", user, command).text()
    expected = {"Type": "notify", "Restart": "on-failure", "WatchdogSec": "3min", "KillMode": "process"}
    assert {name: _values(text, name) for name in expected} == {name: [value] for name, value in expected.items()}
    assert _values(text, "NoNewPrivileges") == ["yes"]
    assert _values(text, "User") == ([user] if user else [])


@pytest.mark.parametrize(
    ("root", "user"), [("/srv/a\nExecStartPre=/bin/rm", ""), ("/srv", "root\nUser=x"), ("/srv", "-x"), ("/srv", "root")]
)
def test_no_line_of_the_unit_comes_from_outside(root: str, user: str) -> None:
    with pytest.raises(ValueError, match=r"characters|account"):
        ServiceUnit(["/bin/true"], root, user).text()


def test_the_unit_is_written_and_removed(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = ["--state", str(tmp_path / "state")]
    assert main(["service", "install", "--no-start", *state]) == 0
    unit = config / "lumen.service"
    (command,) = _values(unit.read_text(), "ExecStart")
    assert command.endswith(f"--engine-only --state {tmp_path / 'state'}")
    assert Path(command.split()[0]).is_absolute()
    assert main(["service", "show", *state]) == 0
    assert capsys.readouterr().out.endswith(unit.read_text())
    assert main(["service", "remove", "--no-start"]) == 0
    assert not unit.exists()
    assert main(["service", "remove", "--no-start"]) == 3


def test_a_server_is_a_unit_beside_the_engine_with_its_own_options(config: Path, tmp_path: Path, capsys) -> None:
    state, words = ["--state", str(tmp_path / "state")], ["--serve", "--", "--port", "0", "--name", "lumen.example"]
    assert main(["service", "install", "--no-start", *state, *words]) == 0
    assert "access add" in capsys.readouterr().err
    unit = config / "lumen-serve.service"
    (command,) = _values(unit.read_text(), "ExecStart")
    assert command.endswith(f"serve --port 0 --name lumen.example --state {tmp_path / 'state'}")
    assert _values(unit.read_text(), "EnvironmentFile") == []  # keys of models are none of its business
    assert main(["service", "show", *state, *words]) == 0
    assert capsys.readouterr().out.endswith(unit.read_text())
    assert main(["service", "remove", "--serve", "--no-start"]) == 0
    assert not unit.exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--serve", "--", "--prot", "9000"], "--prot"),
        (["--serve", "--", "--port", "many"], "many"),
        (["--serve", "--", "--cert", "chain.pem"], "whole path"),
        (["--", "--port", "9000"], "--serve"),
        (["--host", "--", "--cert", "/srv/attic.pem"], "--scheduler"),
        (["--host", "--", "--cert", "attic.pem", "--scheduler", "tls://x:1"], "whole path"),
        (["--host", "--", "--cert", "/a.pem", "--scheduler", "tls://x:1", "--folder", "x"], "whole path"),
        (["--host", "--system", "--account", "ann", "--", "--cert", "/a.pem", "--scheduler", "tls://x:1"], "--folder"),
        (["--host", "--serve"], "not allowed with"),
    ],
)
def test_words_that_it_does_not_take_write_no_unit(config: Path, words: list[str], reason: str, capsys) -> None:
    assert main(["service", "install", "--no-start", *words]) == 2
    assert reason in capsys.readouterr().err
    assert not config.exists()


HOST = ["--cert", "/srv/attic.pem", "--scheduler", "tls://127.0.0.1:1", "--slots", "4"]


def test_a_host_is_a_unit_with_a_folder_of_its_own_and_no_state_folder(config: Path, tmp_path: Path, capsys) -> None:
    state = ["--state", str(tmp_path / "state")]
    assert main(["service", "install", "--host", "--no-start", *state, "--", *HOST]) == 0
    unit = config / "lumen-host.service"
    (command,) = _values(unit.read_text(), "ExecStart")
    assert command.endswith(" ".join(["host", *HOST, "--folder", str(Path.home() / "lumen-host")]))
    assert not (tmp_path / "state").exists()
    assert _values(unit.read_text(), "EnvironmentFile") != []  # it has model keys of its own
    assert "service remove --host" in unit.read_text() and "hosts drain" in unit.read_text()
    assert (
        main(["service", "install", "--host", "--name", "cellar", "--no-start", "--", *HOST, "--folder", "/srv/x"]) == 0
    )
    assert _values((config / "cellar.service").read_text(), "ExecStart")[0].endswith("--slots 4 --folder /srv/x")
    assert main(["service", "remove", "--host", "--no-start"]) == 0
    assert not unit.exists() and "the folder stays" in capsys.readouterr().out


def test_the_command_of_a_host_tells_the_manager_how_it_is(config: Path, tmp_path: Path) -> None:
    certificates = pytest.importorskip("lumen_tui.hosts.certificates", reason="hosts need the extra of that name")
    pytest.importorskip("distributed", reason="hosts need the extra of that name")
    authority = certificates.Authority(tmp_path / "authority")
    authority.create(time.time())
    (tmp_path / "attic.pem").write_bytes(authority.issue("attic", certificates.HOST, time.time()))
    place = ["--cert", str(tmp_path / "attic.pem"), "--folder", str(tmp_path / "host")]
    words = ["--host", "--no-start", "--", "--scheduler", "tls://127.0.0.1:1", *place]
    assert main(["service", "install", *words]) == 0
    (command,) = _values((config / "lumen-host.service").read_text(), "ExecStart")
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(60)
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NOTIFY_SOCKET": address, "WATCHDOG_USEC": "3000000"}
        with subprocess.Popen(shlex.split(command), cwd="/", env=env, stderr=subprocess.DEVNULL) as host:
            told, awaited = set(), {b"READY=1", b"WATCHDOG=1", b"STATUS=no scheduler of ours is at tls"}
            while not awaited <= told:
                told.add(manager.recv(400).partition(b":")[0])
            host.terminate()
        assert host.returncode == 0
        manager.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while last := manager.recv(400):
                told.add(last)
        assert b"STOPPING=1" in told and b"STATUS=stopping: asked to end" in told


def read(address: str, token: str = "") -> bytes:
    """Return the body of an answer, whatever its status."""
    link = HTTPConnection(address.split("/")[2], timeout=60)
    link.request("GET", f"/{address.split('/', 3)[3]}", headers={"authorization": f"Bearer {token}"})
    with contextlib.closing(link):
        return link.getresponse().read()


def test_the_command_of_its_unit_serves_and_tells_the_manager(config: Path, tmp_path: Path, monkeypatch) -> None:
    assert (
        main(["service", "install", "--no-start", "--state", str(tmp_path / "state"), "--serve", "--", "--port", "0"])
        == 0
    )
    (command,) = _values((config / "lumen-serve.service").read_text(), "ExecStart")
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(60)
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NOTIFY_SOCKET": address}
        with subprocess.Popen(shlex.split(command), cwd="/", env=env, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert manager.recv(100) == b"READY=1"
                url = server.stdout.readline().rpartition(" ")[2].strip()
                assert b'"openapi"' in read(f"{url}/openapi.json")
            finally:
                server.terminate()
        assert server.returncode == 0


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_server_needs_no_system_call_and_no_socket_that_its_unit_takes_away(tmp_path: Path) -> None:
    root, log = tmp_path / "state", tmp_path / "calls"
    assert main(["init", "--state", str(root)]) == 0
    token = access.add(Layout(root), "zed", frozenset({Scope.READ}), by="ana", now=time.time(), seconds=3600)
    words = [sys.executable, "-m", "lumen_tui", "serve", "--port", "0", "--state", str(root)]
    trace = ["strace", "-f", "-qq", "-o", str(log), "-e", "signal=none", "--"]
    with subprocess.Popen([*trace, *words], stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().rpartition(" ")[2].strip()
            for path in ("/v1/status", "/v1/search?query=pump", "/v1/tasks", "/ready", "/metrics"):
                read(f"{url}{path}", token)
        finally:
            (child,) = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
            os.kill(int(child), signal.SIGTERM)
    lines = log.read_text(errors="replace").splitlines()
    used = {match[1] for line in lines if (match := re.match(r"\d+ +([a-z]\w*)\(", line))}
    families = {match[1] for line in lines if (match := re.match(r"\d+ +socket\((\w+)", line))}
    text = ServiceUnit(["/bin/true"], "/srv", "lumen", ["serve"]).text()
    (allowed,) = _values(text, "SystemCallFilter")
    assert {"flock", "accept4", "inotify_add_watch"} <= used
    assert used - system_calls(*allowed.split()) == set()
    assert families <= set(_values(text, "RestrictAddressFamilies")[0].split())


def test_a_unit_of_somebody_else_stays(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.mkdir(parents=True)
    (config / "lumen.service").write_text("[Service]\nExecStart=/bin/true\n")
    for verb in ("install", "remove"):
        assert main(["service", verb, "--no-start"]) == 2
    assert "not ours" in capsys.readouterr().err
    assert (config / "lumen.service").read_text().startswith("[Service]")


def test_the_manager_is_asked_in_order_and_its_refusal_is_told(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = "echo Failed to connect to bus >&2; exit 1;"
    script = f'#!/bin/sh\necho "$@" >> {tmp_path}/orders\n[ "$2" != enable ] || {{ {refusal} }}\n'
    (tmp_path / "systemctl").write_text(script)
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert main(["service", "install"]) == 1
    told = capsys.readouterr().err
    assert "Failed to connect to bus" in told
    assert "log in by ssh or at the console" in told
    assert main(["service", "remove"]) == 0
    assert (tmp_path / "orders").read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now lumen.service",
        "--user disable --now lumen.service",
        "--user daemon-reload",
    ]


def _health(root: Path, *words: str) -> tuple[int, dict[str, object]]:
    done = lumen(["health", "--json", *words, "--state", str(root)], env=dict(os.environ), cwd=root.parent)
    return done.returncode, json.loads(done.stdout)


def test_health_is_that_of_a_real_engine(tmp_path: Path) -> None:
    root = tmp_path / "state"
    assert main(["init", "--state", str(root)]) == 0
    assert _health(root)[0] == 1
    engine = start_lumen(["--engine-only", "--state", str(root)], env=dict(os.environ), cwd=tmp_path)
    try:
        until(lambda: _health(root)[0] == 0, lambda: _health(root))
        assert main(["pause", "--state", str(root)]) == 0
        until(lambda: _health(root, "--ready")[0] == 1, lambda: _health(root, "--ready"))
        code, facts = _health(root)
        assert (code, facts["status"]) == (0, "warn")
        engine.send_signal(signal.SIGSTOP)
        code, facts = _health(root)
        assert (code, facts["status"]) == (1, "fail")
        assert "SIGSTOP" in json.dumps(facts)
    finally:
        engine.send_signal(signal.SIGCONT)
        engine.kill()
        engine.wait()
    assert _health(root)[0] == 1
