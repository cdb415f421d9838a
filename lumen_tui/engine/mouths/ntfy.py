"""ntfy: messages to a topic, with buttons that answer to a second one (docs.ntfy.sh/publish, /subscribe/api)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from lumen_tui.engine.answering import Answers
from lumen_tui.engine.mouths.http import post
from lumen_tui.model.answers import Offer, Verdict, call_text, pointer, question_text
from lumen_tui.model.approvals import Approval
from lumen_tui.model.notify_config import NtfyConfig
from lumen_tui.model.notifying import Message
from lumen_tui.model.snapshot import Need
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import TransitionKind
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.settings.secrets import resolve

VIA = "ntfy"
_MOST_TEXT = 3500  # bytes of a message: ntfy makes a file of more than 4096
_MOST_BUTTONS = 3
_GUESSABLE = 20  # characters: a shorter topic could be guessed
_AT_ONCE = (Need.ENGINE, Need.APPROVAL, Need.QUESTION, Need.P0_SIGNAL)
_USUAL, _HIGH, _MAX = 3, 4, 5  # ntfy's priorities


def answers_fault(config: NtfyConfig) -> str:
    """Return why no answers are taken though a topic for them is named. Raise SecretMissing.

    Who reads the first topic can answer: so it is one that is protected, or that nobody guesses.
    """
    topic, answers = (resolve("notify.ntfy", each, os.environ) for each in (config.topic, config.answers))
    if topic == answers:
        return "answers: it must be another topic than that of the messages"
    if not config.token and len(topic) < _GUESSABLE:
        return f"answers: without a token the topic of the messages needs {_GUESSABLE} characters that nobody guesses"
    return ""


class NtfySender:
    """Publishes as JSON: title, priority, tags, what a tap opens, and buttons where an answer can be given."""

    def __init__(self, config: NtfyConfig, root: str, operator: str) -> None:
        self._config = config
        self._store = Store(Path(root))
        self._operator = operator

    def send(self, message: Message, now: float) -> None:
        config = self._config
        token = resolve("notify.ntfy.token", config.token, os.environ)
        server = resolve("notify.ntfy.server", config.server, os.environ)
        text, offers = self._asked(message, now)
        published: dict[str, object] = {
            "topic": resolve("notify.ntfy.topic", config.topic, os.environ),
            "title": message.title,
            "message": text,
            "priority": priority(message),
            "tags": list(dict.fromkeys(each.need for each in message.transitions)),
            "sequence_id": message.id,  # what is sent twice takes its own place on the phone
            "actions": self._buttons(server, offers),
        }
        if config.click:
            published["click"] = config.click
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        post(server, msgspec.json.encode(published), headers, config.seconds)

    def _asked(self, message: Message, now: float) -> tuple[str, Sequence[Offer]]:
        """Return the text, and the answers that are offered with it."""
        if not self._config.answers or len(message.transitions) != 1 or answers_fault(self._config):
            return message.body, ()
        asked = message.transitions[0]
        if asked.need not in (Need.APPROVAL, Need.QUESTION):
            return message.body, ()
        request = approvals.read(self._store.layout, asked.target)
        if request is None or approvals.decision(self._store.layout, request.id):
            return message.body, ()
        text, choices = what_to_ask(request, message.body)
        with closing(Answers(self._store, VIA, self._operator)) as answers:
            if request.question and _whole(request):
                topic = resolve("notify.ntfy.answers", self._config.answers, os.environ)
                code = answers.offer_code(request, now)
                text += f"\n\nIn words of your own, to the topic {topic}:\n{code} and the words"
            return text, answers.offer(request, choices[:_MOST_BUTTONS], now)

    def _buttons(self, server: str, offers: Sequence[Offer]) -> list[dict[str, object]]:
        config = self._config
        token = resolve("notify.ntfy.answer_token", config.answer_token, os.environ) if offers else ""
        topic = resolve("notify.ntfy.answers", config.answers, os.environ) if offers else ""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return [
            {
                "action": "http",
                "label": offer.label,
                "url": f"{server.rstrip('/')}/{topic}",
                "method": "POST",
                "headers": headers,
                "body": offer.token,
                "clear": True,
            }
            for offer in offers
        ]


def what_to_ask(request: Approval, brief: str) -> tuple[str, list[tuple[str, Verdict, str]]]:
    """Return the text of a question and the answers for it (label, verdict, words).

    Where less than the whole can be shown nothing is allowed: a call can be denied, for all else there is a pointer.
    """
    whole = _whole(request)
    if request.question:
        words = list(dict.fromkeys([*request.options, *([request.default] if request.default else [])]))
        choices = [(one_line(each, 40), Verdict.ANSWER, each) for each in words] if whole else []
        return whole or f"{brief}\n{pointer(request)}", choices
    deny = ("Deny", Verdict.DENY, "")
    return (whole, [("Allow once", Verdict.ALLOW, ""), deny]) if whole else (f"{brief}\n{pointer(request)}", [deny])


def _whole(request: Approval) -> str:
    """Return all of a question; empty where a message has no room for it, or something in it is masked."""
    return (question_text if request.question else call_text)(request, _MOST_TEXT)


def priority(message: Message) -> int:
    """Return ntfy's priority: the highest where an answer is due soon, high where somebody waits for one."""
    if any(each.kind is TransitionKind.CLOSING or each.need == Need.ENGINE for each in message.transitions):
        return _MAX
    return _HIGH if any(each.need in _AT_ONCE for each in message.transitions) else _USUAL
