"""What became of mail: the lines of mail.jsonl, and what is queued to be sent."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.mail import QUEUED, RECEIVED, MailLine, OutgoingMail, thread_of
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines


class MailLog:
    """The lines of one mail.jsonl, each read once; for use by several threads."""

    def __init__(self, path: Path) -> None:
        import threading  # which a command that reads no mail does without

        self._follower = Follower(path)
        self._generation = self._follower.generation
        self._lines: list[MailLine] = []
        self._turn = threading.Lock()

    def lines(self) -> list[MailLine]:
        """Return what became of every message, the oldest first, its texts safe."""
        with self._turn:
            for offset, data in self._follower.pieces():
                self._forget_what_is_gone()
                for _, line in split_lines(data, offset):
                    with contextlib.suppress(*UNDECODABLE):
                        self._lines.append(decode_safe(line, MailLine))
            self._forget_what_is_gone()
            return list(self._lines)

    def _forget_what_is_gone(self) -> None:
        if self._generation != self._follower.generation:
            self._generation = self._follower.generation
            self._lines.clear()


_log_at = functools.lru_cache(maxsize=1)(MailLog)  # of the one folder that a process is about


def lines(layout: Layout) -> list[MailLine]:
    """Return what became of every message, the oldest first, its texts safe."""
    return _log_at(layout.mail_log).lines()


def bytes_of_day(known: list[MailLine], now: float) -> int:
    """Return the bytes of all messages that came in on the day (UTC) of `now`."""
    day = times.iso(now)[:10]
    return sum(line.size for line in known if line.at[:10] == day)


def outgoing(line: MailLine | None, name: str, arguments: dict[str, object], address: str, now: float) -> OutgoingMail:
    """Return the message that a call of `send_mail` asks for, in the thread of `line`, which it answers."""
    to, subject, text = (str(arguments.get(key, "")) for key in ("to", "subject", "text"))
    return OutgoingMail(
        id=name,
        to=to,
        subject=subject,
        text=text,
        at=times.iso(now),
        message_id=f"<{name}@{address.rpartition('@')[2]}>",
        in_reply_to=line.message_id if line else "",
        references=thread_of(line.references, line.message_id) if line else "",
    )


def received(known: list[MailLine], mail_id: str) -> MailLine | None:
    """Return the line of a message that came in and became a signal; None for any other."""
    return next((line for line in known if line.id == mail_id and line.outcome == RECEIVED), None)


def queued_today(known: list[MailLine], now: float) -> list[MailLine]:
    """Return the lines of what the agent was allowed to send on the day (UTC) of `now`."""
    day = times.iso(now)[:10]
    return [line for line in known if line.outcome == QUEUED and line.at[:10] == day]


def queue(layout: Layout, message: OutgoingMail) -> None:
    """Put a message where the engine sends it, once for each id. Raise files.StoreError."""
    with locks.waiting_lock(layout.lock("mail")):
        if any(line.id == message.id for line in lines(layout)):
            return
        folder = layout.mail_kept / message.id
        for path in (layout.mail_out, folder):
            directories.make_folder(path)
        files.replace(folder / "text.txt", message.text.encode())
        files.replace(layout.mail_out / f"{message.id}.json", msgspec.json.encode(message))
        Journal(layout.mail_log).append(step(message, QUEUED, message.at))


def step(message: OutgoingMail, outcome: str, at: str, why: str = "") -> MailLine:
    """Return the line for one step of a message that the agent sends."""
    return MailLine(
        id=message.id,
        at=at,
        outcome=outcome,
        subject=message.subject,
        why=why,
        to=message.to,
        message_id=message.message_id,
        references=message.references,
    )
