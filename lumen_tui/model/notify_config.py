"""[notify]: which transitions of the attention queue are told, by which mouths, and the quiet hours.

A secret is never a setting: `env:NAME` names the variable and `file:PATH` the file that holds it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

_MINUTE = 60.0  # seconds

Kind = Literal[
    "engine",
    "approval",
    "question",
    "signal",
    "failed",
    "lost",
    "stalled",
    "budget",
    "expired",
    "constitution",
    "rollback",
    "fact",
    "discovery",
    "changes",
    "loop",
    "relay",
    "triage",
    "progress",
    "proposal",
    "problem",
    "retirement",
]
URGENT: tuple[Kind, ...] = (
    *("engine", "approval", "question", "signal", "failed", "lost", "budget"),
    *("constitution", "rollback", "discovery", "changes", "loop", "problem"),
)


_REFERENCE = r"env:[A-Za-z_][A-Za-z0-9_]*|file:[^\0\n]+"
_URL = r"https://[^\s@#]+|http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(/[^\s@#]*)?"
SecretReference = Annotated[str, Meta(pattern=rf"^(|{_REFERENCE})$")]
_Address = Annotated[str, Meta(pattern=rf"^(|{_REFERENCE}|{_URL})$")]  # one with a secret in it is a reference
_Topic = Annotated[str, Meta(pattern=rf"^(|{_REFERENCE}|[A-Za-z0-9_-]{{1,64}})$")]
Patience = Annotated[float, Meta(ge=0.1, le=300)]


class CommandMouthConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[notify.command]: a command of the operator's for each message"""

    run: str = ""  # for a shell; what is told stands in $LUMEN_TITLE and other variables
    seconds: Patience = 10.0  # until it is ended


class WebhookConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[notify.webhook]: one POST of JSON for each message"""

    url: _Address = ""
    secret: SecretReference = ""  # with which each is signed
    seconds: Patience = 10.0


class NtfyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[notify.ntfy]: messages to phones"""

    server: _Address = "https://ntfy.sh"
    topic: _Topic = ""
    token: SecretReference = ""  # with which the topic may be written to, and that of the answers read
    answers: _Topic = ""  # where a phone's answers come from; empty: none are taken
    answer_token: SecretReference = ""  # goes to the phone: with it that topic may be written to, and nothing else
    click: str = ""  # what a tap opens
    seconds: Patience = 10.0


class NotifyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[notify]: what is told of what needs you, how, and when not"""

    terminal: tuple[Literal["bell", "osc9", "osc777"], ...] = ("bell",)  # how an open room tells
    passthrough: bool = False  # through tmux, to the terminal around it
    kinds: tuple[Kind, ...] = URGENT
    quiet: Annotated[str, Meta(pattern=r"^(|([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)$")] = ""
    zone: str = ""  # IANA zone of the quiet hours; empty: that of this machine
    through_quiet: tuple[Kind, ...] = ()  # kinds that are told in quiet hours as well
    aged_hours: tuple[Annotated[float, Meta(gt=0, le=8760)], ...] = (1.0, 24.0)  # told again after waiting so long
    closing_minutes: Annotated[float, Meta(ge=0, le=10_080)] = 10.0  # and so long before it expires; 0: never
    most: Annotated[int, Meta(ge=1, le=100)] = 5  # messages within five minutes; more become one digest
    operator: str = ""  # in whose name answers from elsewhere are given; empty: who started the engine
    tries: Annotated[int, Meta(ge=1, le=20)] = 8  # of one message that could not be sent, ever further apart
    command: CommandMouthConfig = field(default_factory=CommandMouthConfig)
    webhook: WebhookConfig = field(default_factory=WebhookConfig)
    ntfy: NtfyConfig = field(default_factory=NtfyConfig)


def quiet_until(quiet: str, now: float, zone_offset: float = 0.0) -> float:
    """Return when the quiet hours (`22:00-07:00`, local time) end that are now; 0 where there are none."""
    if not quiet:
        return 0.0
    begin, end = (_minute(part) for part in quiet.split("-"))
    minute = (now + zone_offset) / _MINUTE % 1440
    length = (end - begin) % 1440
    gone = (minute - begin) % 1440
    return now + (length - gone) * _MINUTE if gone < length else 0.0


def _minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
