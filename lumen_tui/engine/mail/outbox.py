"""What the agent may send is sent: by SMTP in a thread, each step written down, under one Message-ID for every try.

A step is written before it is made. So after a kill between the server's yes and its line the message goes out once
more, under the same Message-ID, by which mail programs show it once: SMTP cannot ask what a server has taken.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import ids, times
from lumen_tui.model.approvals import Approval, Decision, call_hash
from lumen_tui.model.config import Config
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.mail import FAILED, SENDING, SENT, UNSENT, MailLine, OutgoingMail
from lumen_tui.model.notifying import retry_pause
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.records import Signal
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamp, stamp
from lumen_tui.store import mail
from lumen_tui.store.memory import nodes
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from email.message import EmailMessage

_NAME = lazy_re(r"(msg-[0-9a-z]{13})\.json")
_NEVER = float("inf")
_LATER = 60.0  # seconds until the next look where the disk takes no line


class MailOutbox:
    """Sends what waits. For one thread; `poll` costs one look at a folder."""

    def __init__(self, layout: Layout, clock: Clock, note: Callable[[str], None]) -> None:
        self._layout = layout
        self._clock = clock
        self._note = note
        self._seen: Stamp | None = None
        self._again = _NEVER  # when something that failed is tried again, in seconds since 1970
        self._thread: threading.Thread | None = None

    def poll(self, config: Config, now: float) -> None:
        """Send what is due, in a thread of its own."""
        if self._thread is not None and self._thread.is_alive():
            return
        seen = stamp(self._layout.mail_out)
        if (seen == self._seen and now < self._again) or not config.mail.sends:
            return
        self._seen = seen
        self._thread = threading.Thread(target=self._send_due, args=(config,), name="mail-out", daemon=True)
        self._thread.start()

    def close(self, seconds: float) -> None:
        """Give a message that is being sent so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _send_due(self, config: Config) -> None:
        """Send each message whose next try is due, and note when the next one is."""
        again = self._clock.now() + _LATER
        with contextlib.suppress(files.StoreError, OSError):  # a full disk tells of itself
            again = min((self._next(message, config) for message in waiting(self._layout)), default=_NEVER)
        self._again = again

    def _next(self, message: OutgoingMail, config: Config) -> float:
        """Send a message if it is due; return when it is due next."""
        steps = [line for line in mail.lines(self._layout) if line.id == message.id]
        due = next_try(steps)
        return self._send(message, steps, config) if due <= self._clock.now() else due

    def _send(self, message: OutgoingMail, steps: list[MailLine], config: Config) -> float:
        """Send a message, unless that is over; return when it is tried again."""
        if steps and steps[-1].outcome in (SENT, UNSENT):
            return self._over(message)
        from lumen_tui.engine.mail.smtp import submit  # with ssl, for another 10 ms
        from lumen_tui.engine.mouths.sending import NotSent
        from lumen_tui.store.settings.secrets import SecretMissing

        tries = sum(line.outcome == SENDING for line in steps) + 1
        self._write(message, SENDING)
        try:
            submit(config.mail, letter(message, config.mail.address, self._clock.now()), [message.to])
        except (NotSent, SecretMissing) as error:
            final = tries >= config.notify.tries or (isinstance(error, NotSent) and error.final)
            return self._failed(message, config, str(error), tries, final=final)
        self._write(message, SENT)
        self._note(one_line(f"sent {message.id} to {message.to}: {message.subject}", 200))
        return self._over(message)

    def _failed(self, message: OutgoingMail, config: Config, why: str, tries: int, *, final: bool) -> float:
        self._note(one_line(f"{message.id} to {message.to} could not be sent: {why}", 200))
        if not final:
            self._write(message, FAILED, why)
            return self._clock.now() + retry_pause(tries)
        text = f"Your mail {message.id} to {message.to} ({message.subject}) could not be sent: {why}"
        tell_agent(self._layout, f"{message.id} not sent", text, config.agent.name, self._clock.now())
        self._write(message, UNSENT, why)
        return self._over(message)

    def _over(self, message: OutgoingMail) -> float:
        directories.remove(self._layout.mail_out / f"{message.id}.json")
        return _NEVER

    def _write(self, message: OutgoingMail, outcome: str, why: str = "") -> None:
        Journal(self._layout.mail_log).append(mail.step(message, outcome, times.iso(self._clock.now()), why))


def waiting(layout: Layout) -> Iterator[OutgoingMail]:
    """Yield the messages that were not sent yet."""
    for name in filter(_NAME.fullmatch, sorted(os.listdir(layout.mail_out))):
        with contextlib.suppress(*UNDECODABLE):
            yield msgspec.json.decode(files.read(layout.mail_out / name) or b"", type=OutgoingMail)


def next_try(steps: list[MailLine]) -> float:
    """Return when a message is due by its steps so far, in seconds since 1970; 0 for at once."""
    if not steps or steps[-1].outcome != FAILED:
        return 0.0
    return times.epoch(steps[-1].at) + retry_pause(sum(line.outcome == SENDING for line in steps))


def letter(message: OutgoingMail, address: str, now: float) -> EmailMessage:
    """Return a message as it is sent."""
    from datetime import UTC, datetime  # these three for 10 ms, which only what sends pays
    from email.message import EmailMessage
    from email.utils import format_datetime

    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = address, message.to, message.subject
    made["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    made["Message-ID"] = message.message_id
    if message.in_reply_to:
        made["In-Reply-To"], made["References"] = message.in_reply_to, message.references
    made["Auto-Submitted"] = "auto-replied" if message.in_reply_to else "auto-generated"  # RFC 3834: no program answers
    made.set_content(message.text)
    return made


def settle(layout: Layout, request: Approval, answer: Decision, now: float) -> None:
    """Queue the message of a call that a person allowed; tell the agent of one that was not. Raise files.StoreError.

    All ids follow from the call's, so that what a kill cut off can be made again.
    """
    config = load_config(layout)[0]
    same = call_hash(request.tool, request.arguments) == request.hash == answer.hash
    if answer.allowed and same:
        answered = mail.received(mail.lines(layout), str(request.arguments.get("reply_to", "")))
        name = f"msg-{ids.short_hash(request.id)}"
        mail.queue(layout, mail.outgoing(answered, name, request.arguments, config.mail.address, now))
        return
    reason = answer.reason or ("no reason was given" if same else "it is not the message that was shown")
    by = "" if answer.ended else f" by {one_line(answer.by, 60)}"
    text = f"Your mail ({request.summary}) was refused{by} and is not sent: {reason}"
    tell_agent(layout, request.id, text, config.agent.name, now)


def tell_agent(layout: Layout, about: str, text: str, agent: str, now: float) -> None:
    """Send the main agent a signal, once for each `about`."""
    signal = Signal(
        id=f"sig-{ids.short_hash(about)}",
        message=text,
        created_at=times.iso(now),
        sender="mail",
        target_agent=agent,
    )
    nodes.append_once(layout.signals, msgspec.to_builtins(signal))
