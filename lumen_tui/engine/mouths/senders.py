"""The mouths by which a message leaves: a command, a webhook, ntfy, mail; and which of them the settings name."""

from __future__ import annotations

import base64
import os
import threading
from pathlib import Path
from typing import NamedTuple

import msgspec

from lumen_tui.engine import own_commands
from lumen_tui.engine.mouths.sending import NotSent, Sender
from lumen_tui.model.config import Config
from lumen_tui.model.notify_config import CommandMouthConfig, WebhookConfig
from lumen_tui.model.notifying import Message
from lumen_tui.model.text import one_line
from lumen_tui.storage.origin import operator_name
from lumen_tui.store.settings.secrets import SecretMissing, resolve

COMMAND, WEBHOOK, NTFY, MAIL = "command", "webhook", "ntfy", "mail"


class Origin(NamedTuple):
    """Whose messages they are, and for whom."""

    root: str  # the state folder
    agent: str
    operator: str  # in whose name an answer is given


def origin_of(root: Path, config: Config) -> Origin:
    """Return whose messages go out of a state folder with these settings."""
    return Origin(str(root), config.agent.name, config.notify.operator or operator_name(os.environ))


def configured(config: Config) -> tuple[str, ...]:
    """Return the mouths that the settings turn on."""
    told = config.notify
    on = {COMMAND: told.command.run, WEBHOOK: told.webhook.url, NTFY: told.ntfy.topic, MAIL: config.mail.tell}
    return tuple(name for name, setting in on.items() if setting)


def sender(name: str, config: Config, origin: Origin, stop: threading.Event) -> Sender:
    """Return the sender of a mouth. `stop` ends a command that runs."""
    told = config.notify
    if name == COMMAND:
        return CommandSender(told.command, origin, stop)
    if name == WEBHOOK:
        return WebhookSender(told.webhook, origin)
    if name == MAIL:
        from lumen_tui.engine.mouths.mail import MailSender  # this and the next with the verbs that an answer needs

        return MailSender(config.mail, origin.root, origin.operator)
    from lumen_tui.engine.mouths.ntfy import NtfySender

    return NtfySender(told.ntfy, origin.root, origin.operator)


def problem_of(name: str, config: Config, origin: Origin, stop: threading.Event, message: Message, now: float) -> str:
    """Send a message by a mouth; return why it did not go out, empty where it did."""
    try:
        sender(name, config, origin, stop).send(message, now)
    except (NotSent, SecretMissing) as error:
        return str(error)
    return ""


class CommandSender:
    """Runs the operator's own command. What is told reaches it in variables, never in its text."""

    def __init__(self, config: CommandMouthConfig, origin: Origin, stop: threading.Event) -> None:
        self._config = config
        self._origin = origin
        self._stop = stop

    def send(self, message: Message, now: float) -> None:
        del now
        finished = own_commands.run(self._config.run, self._variables(message), self._config.seconds, self._stop)
        if self._stop.is_set() and finished.why:
            raise NotSent("ended with the engine")
        if finished.why:
            raise NotSent(one_line(finished.why, 160))
        if finished.code:
            said = one_line(finished.output[-400:], 120)
            raise NotSent(f"the command ended with {finished.code}{f': {said}' if said else ''}")

    def _variables(self, message: Message) -> dict[str, str]:
        last = message.transitions[-1]
        return {
            "LUMEN_STATE": self._origin.root,
            "LUMEN_AGENT": one_line(self._origin.agent, 60),
            "LUMEN_MESSAGE": message.id,
            "LUMEN_TITLE": message.title,
            "LUMEN_BODY": message.body,
            "LUMEN_COUNT": str(len(message.transitions)),
            "LUMEN_KIND": "digest" if message.digest else last.kind.value,
            "LUMEN_NEED": last.need,
            "LUMEN_ID": last.target,
        }


class WebhookSender:
    """One POST of JSON, signed as Standard Webhooks has it (standardwebhooks.com): id, time and body, HMAC-SHA256."""

    def __init__(self, config: WebhookConfig, origin: Origin) -> None:
        self._config = config
        self._origin = origin

    def send(self, message: Message, now: float) -> None:
        from lumen_tui.engine.mouths.http import post

        config = self._config
        url = resolve("notify.webhook.url", config.url, os.environ)
        secret = resolve("notify.webhook.secret", config.secret, os.environ)
        body = msgspec.json.encode(self._record(message))
        headers = {"Content-Type": "application/json", "webhook-id": message.id, "webhook-timestamp": f"{now:.0f}"}
        if secret:
            headers["webhook-signature"] = signature(secret, message.id, f"{now:.0f}", body)
        post(url, body, headers, config.seconds)

    def _record(self, message: Message) -> dict[str, object]:
        return {
            "id": message.id,
            "agent": one_line(self._origin.agent, 60),
            "title": message.title,
            "text": f"{message.title}\n{message.body}",
            "body": message.body,
            "digest": message.digest,
            "items": [
                {"kind": each.kind, "need": each.need, "target": each.target, "text": each.text, "at": each.at}
                for each in message.transitions
            ],
        }


def signature(secret: str, number: str, moment: str, body: bytes) -> str:
    """Return `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; `whsec_` begins a key in base64."""
    key = secret.encode()
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except ValueError as error:
            raise NotSent("notify.webhook.secret: what follows whsec_ is no base64", final=True) from error
    signed = b".".join((number.encode(), moment.encode(), body))
    import hmac  # with OpenSSL 4 ms, which only a webhook pays

    return f"v1,{base64.b64encode(hmac.digest(key, signed, 'sha256')).decode()}"
