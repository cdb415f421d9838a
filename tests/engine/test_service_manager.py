"""The engine under a service manager, which is a datagram socket: ready, fed while it beats, stopping, and no more."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_program import start_lumen
from lumen_until import until

from lumen_tui.cli.main import main
from lumen_tui.engine.service_manager import ServiceManager


class Manager:
    """What a service manager hears, in order."""

    def __init__(self, name: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind(name)
        self.heard: list[str] = []

    def hears(self, text: str, after: int = 0) -> bool:
        try:
            while True:
                self.heard.append(self._socket.recv(4096).decode())
        except BlockingIOError:
            return text in self.heard[after:]

    def await_word(self, text: str, after: int = 0) -> None:
        until(lambda: self.hears(text, after), lambda: self.heard)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.close()


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "300000", **more}


def test_the_engine_is_ready_is_alive_and_says_that_it_stops(tmp_path: Path, manager: Manager) -> None:
    assert main(["init", "--state", str(tmp_path / "state")]) == 0
    engine = start_lumen(["--engine-only", "--state", str(tmp_path / "state")], env=environment(tmp_path), cwd=tmp_path)
    try:
        manager.await_word("READY=1")
        manager.await_word("STATUS=asleep")
        manager.await_word("WATCHDOG=1")
        manager.await_word("WATCHDOG=1", after=len(manager.heard))  # again and again
        assert "STOPPING=1" not in manager.heard
    finally:
        engine.send_signal(signal.SIGTERM)
    assert engine.wait() == 128 + signal.SIGTERM
    manager.await_word("STOPPING=1")
    assert manager.heard[-2:] == ["STATUS=stopping: SIGTERM", "STOPPING=1"]
    assert manager.heard.index("READY=1") < manager.heard.index("WATCHDOG=1")


def test_an_upgrade_asks_for_the_time_that_it_takes(tmp_path: Path, manager: Manager) -> None:
    """The manager waits 90 s for the first beat, and would end an engine that saves a large folder first."""
    assert main(["init", "--state", str(tmp_path / "state")]) == 0
    (tmp_path / "state" / "schema.json").unlink()
    engine = start_lumen(["--engine-only", "--state", str(tmp_path / "state")], env=environment(tmp_path), cwd=tmp_path)
    try:
        manager.await_word("READY=1")
    finally:
        engine.send_signal(signal.SIGTERM)
    engine.wait()
    assert manager.heard.index("EXTEND_TIMEOUT_USEC=3600000000") < manager.heard.index("READY=1")


def test_workers_do_not_speak_for_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    manager = ServiceManager.of(os.environ)
    assert manager.patience == 20
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & set(os.environ)
    manager.close()


def test_nothing_is_fed_before_its_time_and_every_status_is_said_once(tmp_path: Path, manager: Manager) -> None:
    ours = ServiceManager(str(tmp_path / "notify"), watchdog=60.0)
    for second in range(100, 150):
        ours.alive(float(second))
        ours.status("asleep\nwith\x00 a second line" if second < 125 else "x" * 1000)
    ours.close()
    assert not manager.hears("nothing more comes")
    assert manager.heard.count("WATCHDOG=1") == 3  # at 100, 120 and 140
    assert len(manager.heard) == 5
    assert max(map(len, manager.heard)) <= 307
    assert not any("\n" in text for text in manager.heard)


@pytest.mark.parametrize("address", ["", "relative", "/nobody/listens/here"])
def test_without_a_manager_that_listens_all_goes_on(address: str) -> None:
    manager = ServiceManager.of({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "rubbish"})
    manager.ready()
    manager.alive(1.0)
    manager.stopping("done")
    assert manager.patience == 0
    manager.close()


def test_a_name_of_the_abstract_namespace_is_reached() -> None:
    name = f"lumen-test-{os.getpid()}"
    manager = Manager(f"\0{name}")
    ours = ServiceManager.of({"NOTIFY_SOCKET": f"@{name}"})
    ours.ready()
    assert manager.hears("READY=1")
    ours.close()
    manager.close()


def test_a_watchdog_of_another_process_is_not_ours() -> None:
    assert ServiceManager.of({"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}).patience == 0
