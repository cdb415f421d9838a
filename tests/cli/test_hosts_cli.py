"""Hosts on the command line: registered at a terminal alone, listed, cordoned; keys are open to their owner alone."""

from __future__ import annotations

import json
import stat
import time

import pytest

pytest.importorskip("cryptography", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from lumen_tui.__main__ import main
from lumen_tui.hosts.certificates import ENGINE, HOST, Credentials
from lumen_tui.servers import access
from lumen_tui.store.settings import hosts


@pytest.fixture
def command(here, monkeypatch):
    """`command("hosts", "add", "attic")` in this process, whose operator sits at a terminal."""
    monkeypatch.setattr(access, "at_terminal", lambda: None)
    return lambda *words: main([*words])


def test_without_a_terminal_no_host_is_registered(shell):
    ran = shell("hosts", "add", "attic")
    assert ran.returncode != 0 and "at a terminal" in ran.stderr
    assert hosts.entries(shell.layout) == [] and not (shell.root.parent / "attic.pem").exists()


def test_one_that_is_registered_has_a_certificate_that_the_engine_knows(command, shell, tmp_path):
    path = tmp_path / "attic.pem"
    assert command("hosts", "add", "attic", "--out", str(path)) == 0
    attic = Credentials(path, time.time())
    engine = Credentials(shell.layout.engine_certificate, time.time())
    assert (attic.signer.kind, attic.signer.name, engine.signer.kind) == (HOST, "attic", ENGINE)
    assert attic.open(engine.seal(b"begin"), ENGINE, time.time())[1] == b"begin"
    for file in (path, shell.layout.engine_certificate, *shell.layout.host_authority.iterdir()):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert [entry.name for entry in hosts.entries(shell.layout)] == ["attic"]


@pytest.mark.parametrize("name", ["any", "engine", "../attic", "Attic", "at tic", ""])
def test_a_name_that_will_not_do_registers_nothing(command, shell, name, tmp_path):
    assert command("hosts", "add", name, "--out", str(tmp_path / "x.pem")) != 0
    assert hosts.entries(shell.layout) == [] and not (tmp_path / "x.pem").exists()


def test_a_second_one_of_the_name_and_a_file_that_is_there_are_refused(command, shell, tmp_path):
    path = tmp_path / "attic.pem"
    path.write_text("mine")
    assert command("hosts", "add", "attic", "--out", str(path)) != 0
    assert path.read_text() == "mine" and hosts.entries(shell.layout) == []
    assert command("hosts", "add", "attic", "--out", str(tmp_path / "one.pem")) == 0
    assert command("hosts", "add", "attic", "--out", str(tmp_path / "two.pem")) != 0
    assert command("hosts", "cert", "attic", "--out", str(tmp_path / "two.pem")) == 0
    assert command("hosts", "cert", "loft", "--out", str(tmp_path / "three.pem")) != 0


def test_hosts_are_listed_with_what_is_wrong(command, shell, tmp_path, capsys):
    command("hosts", "add", "attic", "--out", str(tmp_path / "attic.pem"))
    shown = shell("hosts")
    assert "attic" in shown.stdout and "it has not joined yet" in shown.stdout
    assert "no host can be reached: the engine has not opened the link" in shown.stderr
    (listed,) = json.loads(shell("hosts", "list", "--json").stdout)
    assert (listed["name"], listed["state"], listed["slots"], listed["tasks"]) == ("attic", "closed", 0, [])
    assert shell("hosts", "cordon", "attic", "-r", "new disk").returncode == 0
    assert json.loads(shell("hosts", "list", "--json").stdout)[0]["state"] == "cordoned"
    assert shell("hosts", "uncordon", "attic").returncode == 0
    assert shell("hosts", "uncordon", "attic").returncode == 3
    assert shell("hosts", "remove", "attic").returncode == 0
    assert shell("hosts").returncode == 3


def test_a_host_says_why_it_cannot_start(shell, tmp_path):
    words = ["host", "--scheduler", "tls://127.0.0.1:1", "--folder", str(tmp_path / "x"), "--cert"]
    assert "there is no certificate at" in shell(*words, str(tmp_path / "none.pem")).stderr
    (tmp_path / "bad.pem").write_text("rubbish")
    assert "is no file with a key" in shell(*words, str(tmp_path / "bad.pem")).stderr


def test_a_task_says_what_it_takes_of_its_host(command, shell, tmp_path):
    command("hosts", "add", "attic", "--out", str(tmp_path / "attic.pem"))
    ran = shell("task", "new", "Look", "--host", "any", "--resource", "gpu=2", "--resource", "tape")
    shown = json.loads(shell("task", "show", ran.stdout.strip(), "--json").stdout)
    assert shown["resources"] == ["gpu=2", "tape=1"]
    assert shell("task", "edit", ran.stdout.strip(), "--resource", "gpu").returncode == 0
    for words in (["--resource", "gpu"], ["--host", "any", "--resource", "two words"]):
        refused = shell("task", "new", "Look", *words)
        assert refused.returncode == 2 and "resource" in refused.stderr
        assert shell("run", "Look", *words).returncode == 2
    bad = shell("host", "--cert", "x.pem", "--scheduler", "tls://127.0.0.1:1", "--resources", "GPU")
    assert bad.returncode == 2 and "'GPU' is no resource" in bad.stderr
