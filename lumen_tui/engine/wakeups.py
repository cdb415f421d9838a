"""What wakes a sleeping engine: a command, a task, a signal, a worker that ended, a message from the zygote."""

from __future__ import annotations

import os
import select

from lumen_tui.storage import process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.process import ProcessId
from lumen_tui.storage.watch import Notices

_OURS = frozenset({
    "heartbeat.json", "events.jsonl", "events.1.jsonl", "command-receipts.jsonl", "engine.log",
    "attention.jsonl", "notifications.jsonl", "answers.jsonl", "seals.jsonl",
    "signal-receipts.jsonl", "relationships.jsonl", "touches.jsonl", "confirmations.jsonl", "archive.jsonl",
})  # fmt: skip


class Wakeups:
    """One pollable descriptor over all sources. If the system lacks inotify, `deaf` says to poll at intervals."""

    def __init__(self, layout: Layout) -> None:
        self._epoll = select.epoll()
        self._processes: dict[str, int] = {}
        self._notices: Notices | None = None
        try:
            self._notices = Notices((layout.root, layout.tasks, layout.signals.parent, layout.work, layout.approvals))
            self._epoll.register(self._notices.fileno(), select.EPOLLIN)
        except OSError:
            self._notices = None

    @property
    def deaf(self) -> bool:
        """Whether new files must be looked for."""
        return self._notices is None

    def fileno(self) -> int:
        """Return the descriptor that is readable once something happened."""
        return self._epoll.fileno()

    def watch_process(self, task_id: str, leader: ProcessId) -> None:
        """Wake up when that very process ends; do nothing if it has ended already."""
        if task_id in self._processes:
            return
        fd = process.open_pidfd(leader)
        if fd >= 0:
            self._processes[task_id] = fd
            self._epoll.register(fd, select.EPOLLIN)

    def keep_processes(self, task_ids: set[str]) -> None:
        """Forget the processes of all other tasks."""
        for task_id in self._processes.keys() - task_ids:
            self._forget(task_id)

    def _forget(self, task_id: str) -> None:
        fd = self._processes.pop(task_id)
        self._epoll.unregister(fd)
        os.close(fd)

    def watch_fd(self, fd: int) -> None:
        """Wake up when `fd` is readable; whoever owns it reads it, and closing it ends this."""
        try:
            self._epoll.register(fd, select.EPOLLIN)
        except FileExistsError:
            return

    def happened(self) -> bool:
        """Return whether anything happened since the last call."""
        woken = False
        for fd, _ in self._epoll.poll(0):
            woken |= self._is_news(fd)
        return woken

    def _is_news(self, fd: int) -> bool:
        if self._notices is not None and fd == self._notices.fileno():
            return bool(self._notices.names() - _OURS)
        for task_id, watched in self._processes.items():
            if watched == fd:
                self._forget(task_id)
                return True
        return True

    def close(self) -> None:
        """Close every descriptor."""
        self.keep_processes(set())
        if self._notices is not None:
            self._notices.close()
        self._epoll.close()
