"""Hosts for a state folder: registered, with certificates, each a process with a folder of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from lumen_until import until

from lumen_tui.hosts.certificates import ENGINE, HOST, Authority
from lumen_tui.model.hosting import HostEntry
from lumen_tui.storage import files, locks, process
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import hosts

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return int(taken.getsockname()[1])


class Hosts:
    """The hosts of one state folder. `close` ends them, their workers and the link."""

    def __init__(self, layout: Layout, beside: Path, address: str = LOOPBACK) -> None:
        """Let hosts join at a free port of that address; `beside` holds the folders of the hosts."""
        self.layout, self.beside, self.address = layout, beside, address
        self.port = free_port()
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        settings = (files.read(layout.config) or b"").decode()
        layout.config.write_text(f'{settings}\n[hosts]\nlisten = "{address}:{self.port}"\nlost_minutes = 2.0\n')
        self.authority = Authority(layout.host_authority)
        self.authority.create(time.time())
        files.replace(layout.engine_certificate, self.authority.issue("engine", ENGINE, time.time()))

    def register(self, name: str) -> Path:
        """Register a host as `hosts add` does; return its certificate."""
        path = self.beside / f"{name}.pem"
        files.replace(path, self.authority.issue(name, HOST, time.time()))
        hosts.change(self.layout, name, lambda _: HostEntry(name, "2026-01-01T00:00:00Z", "ann"))
        return path

    def start(self, name: str, slots: int = 2, *more: str, lie: str = "") -> None:
        """Start the service of a host, by its command."""
        if not (self.beside / f"{name}.pem").exists():
            self.register(name)
        words = self.command(name, self.folder(name), "--slots", str(slots), *more, lie=lie)
        with open(self.beside / f"{name}.log", "ab") as log:
            self.children[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def command(self, name: str, folder: Path, *more: str, lie: str = "") -> list[str]:
        """Return the command of a host with the certificate of that name; a `lie` is Python that it runs first."""
        program = ["-c", f"{lie}\nfrom lumen_tui.__main__ import main\nraise SystemExit(main())"]
        words = ["--cert", str(self.beside / f"{name}.pem"), "--scheduler", f"tls://{self.address}:{self.port}"]
        started = program if lie else ["-m", "lumen_tui"]
        return [*self.prefix(name), sys.executable, *started, "host", *words, "--folder", str(folder), *more]

    def prefix(self, name: str) -> list[str]:
        """Return the words before the command of a host, which put it on a machine of its own; here there is one."""
        return []

    def folder(self, name: str) -> Path:
        """Return the folder of a host."""
        return self.beside / name

    def log(self, name: str) -> str:
        """Return what a host has printed."""
        return (self.beside / f"{name}.log").read_text()

    def kill(self, name: str) -> None:
        """Kill the service of a host; its workers go on."""
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def joined(self, *names: str) -> None:
        """Wait until these take tasks. An engine, or whoever keeps the link, must run."""
        until(lambda: self.open_ones() >= set(names), lambda: f"{self.open_ones()} have joined")

    def open_ones(self) -> set[str]:
        """Return the names of those that take tasks as far as the link knows."""
        book = hosts.book(self.layout)
        return set() if book.link else {host.name for host in book.hosts if not host.closed(book.version)}

    def kill_link(self) -> None:
        """Kill the link, and wait until it is gone."""
        process.kill_lock_holders(str(self.layout.link_lock))
        until(lambda: not locks.is_locked(self.layout.link_lock))

    def workers(self) -> list[Path]:
        """Return the locks of the tasks' workers that live on hosts."""
        return [path for path in self.beside.glob("*/tasks/*/*/state/tasks/*/run.lock") if locks.is_locked(path)]

    def close(self) -> None:
        """End everything."""
        for child in self.children.values():
            child.send_signal(signal.SIGKILL)
            child.wait()
        for path in (*self.workers(), *self.layout.tasks.glob("*/run.lock"), self.layout.link_lock):
            process.kill_lock_holders(str(path))
