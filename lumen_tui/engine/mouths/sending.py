"""What a mouth that sends is: messages go out one by one, and each is sent, failed for now, or refused for good."""

from __future__ import annotations

from typing import Protocol

from lumen_tui.model.notifying import Message


class NotSent(Exception):
    """A message did not go out. The text is one safe line without secrets; `final`: trying again cannot help."""

    def __init__(self, problem: str, *, final: bool = False) -> None:
        super().__init__(problem)
        self.final = final


class Sender(Protocol):
    """Sends for one mouth, from its thread; built anew for each message from the settings of that moment."""

    def send(self, message: Message, now: float) -> None:
        """Send one message within the time that the settings allow. Raise NotSent, SecretMissing."""
