"""A real SMTP server on loopback, an engine that tells by mail, and messages as a mail server hands them in."""

from __future__ import annotations

import io
import ssl
import sys
import time
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from lumen_smtp import AGENT, ANA, Post, posting
from lumen_until import AwaitedInLoop

from lumen_tui.__main__ import main
from lumen_tui.engine.mail.following import Intake
from lumen_tui.engine.mail.receiving import deal_with
from lumen_tui.model.mail import MailLine
from lumen_tui.model.notifying import ToldReceipt
from lumen_tui.model.records import Signal
from lumen_tui.storage.journal import Journal
from lumen_tui.store.settings.config import load_config


class Mailed(AwaitedInLoop):
    """A state folder whose engine tells by mail, and into which mail is delivered."""

    def __init__(self, world, post: Post) -> None:
        self.world, self.post = world, post
        world.clock.wall = time.time()  # a command asks the machine

    def settings(self, scheme: str = "smtp", more: str = "") -> None:
        self.world.layout.config.write_text(
            f'[notify]\noperator = "ana"\n[mail]\naddress = "{AGENT}"\noperators = ["{ANA}"]\ntell = true\n'
            f'smtp = "{scheme}://localhost:{self.post.port}"\n{more}'
        )

    async def beat(self, seconds: float = 0) -> None:
        self.world.clock.pass_time(seconds)
        await self.world.beat()

    def receipts(self, outcome: str) -> list[ToldReceipt]:
        return [each for each in Journal(self.world.layout.told).records(ToldReceipt) if each.outcome == outcome]

    def lines(self) -> list[MailLine]:
        return list(Journal(self.world.layout.mail_log).records(MailLine))

    def instead(self) -> object:
        return self.lines(), self.world.instead()

    def deliver(self, raw: bytes | EmailMessage, monkeypatch: pytest.MonkeyPatch) -> int:
        data = raw if isinstance(raw, bytes) else raw.as_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return main(["--state", str(self.world.root), "mail", "deliver"])


@pytest.fixture
def mailed(world, request: pytest.FixtureRequest) -> Iterator[Mailed]:
    certificate = request.getfixturevalue(request.param) if hasattr(request, "param") else ""
    with posting(certificate) as post:
        yield Mailed(world, post)
        close_threads(world)


def words(mailed) -> list[str]:
    """The first line of the text of each message that became a signal."""
    return [signal.message.splitlines()[2] for signal in Journal(mailed.world.layout.signals).records(Signal)]


def intake(mailed) -> Intake:
    """What takes messages in, for the thread that calls."""
    world = mailed.world
    return Intake(world.store, world.clock, load_config(world.layout)[0], "ana", lambda note: None)


def sweep(mailed) -> None:
    """What an engine does with messages that were durable and not dealt with, and with files that were half written."""
    world = mailed.world
    for path in world.root.rglob(".*.tmp"):
        path.unlink()
    for path in sorted(world.layout.mail_new.glob("eml-*.eml")):
        deal_with(world.store, path.stem, load_config(world.layout)[0], "ana", world.now)


def close_threads(world) -> None:
    """End the threads of an engine that sends and takes mail."""
    if world._engine is not None:
        world._engine.mouths.close()
        world._engine.mail.close()


@pytest.fixture
def inbox(world) -> Iterator[Mailed]:
    """The same without a server: what comes in."""
    made = Mailed(world, Post())
    made.settings()
    yield made
    close_threads(world)


@pytest.fixture
def trusted(certificate: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The certificate of `certificate` for the setting `ca`, in a process that reads it."""
    monkeypatch.delattr(ssl.SSLContext, "load_verify_locations", raising=False)
    return str(Path(certificate).with_name("only.pem"))
