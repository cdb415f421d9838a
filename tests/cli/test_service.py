"""`service` and `health`: units that systemd takes and that leave workers their sandbox; exit codes of a monitor."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from lumen_program import lumen, start_lumen
from lumen_until import until

from lumen_tui.cli.main import main
from lumen_tui.cli.units import ServiceUnit

BOTH = pytest.mark.parametrize("user", ["", "lumen"], ids=["user", "system"])
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
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_takes_the_unit_without_a_warning(user: str, tmp_path: Path) -> None:
    program = shutil.which("true") or ""
    path = tmp_path / "lumen.service"
    path.write_text(ServiceUnit([program], '/srv/100 % of "it"/lumen $HOME', user).text(), encoding="utf-8")
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
    listed = subprocess.run(
        ["systemd-analyze", "syscall-filter", *denied[1:].split()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    calls = {line.strip() for line in listed.stdout.splitlines() if line.startswith("    ")}
    assert len(calls) > 10
    assert calls & SANDBOX == set()


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
def test_a_crash_and_a_hang_are_restarted_and_workers_outlive_the_engine(user: str) -> None:
    text = ServiceUnit(["/bin/true"], "/srv", user).text()
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
