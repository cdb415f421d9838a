"""Mail as a mouth: a message to the operators by SMTP, in the thread of what it is about, with a token for a reply."""

from __future__ import annotations

from contextlib import closing
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from lumen_tui.engine.answering import MAIL, Answers
from lumen_tui.engine.mail.smtp import submit
from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.model import ids
from lumen_tui.model.answers import Verdict, call_text, pointer, question_text
from lumen_tui.model.approvals import Approval
from lumen_tui.model.mail_config import MailConfig
from lumen_tui.model.notifying import Message
from lumen_tui.model.snapshot import Need
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals

_MOST_TEXT = 100_000  # bytes


class MailSender:
    """Sends to the operators."""

    def __init__(self, config: MailConfig, root: str, operator: str) -> None:
        self._config = config
        self._store = Store(Path(root))
        self._operator = operator

    def send(self, message: Message, now: float) -> None:
        config = self._config
        if not (config.smtp and config.address and config.operators):
            raise NotSent("mail: smtp, address and operators are needed for it", final=True)
        submit(config, self._letter(message, self._text(message, now), now), config.operators)

    def _letter(self, message: Message, text: str, now: float) -> EmailMessage:
        from datetime import UTC, datetime

        config, domain = self._config, self._config.address.rpartition("@")[2]
        about = message.id if message.digest else ids.short_hash(message.transitions[-1].item)
        letter = EmailMessage()
        letter["From"], letter["To"] = config.address, ", ".join(config.operators)
        letter["Subject"] = message.title
        letter["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
        letter["Message-ID"] = f"<{message.id}@{domain}>"  # the same for each try
        letter["In-Reply-To"] = letter["References"] = f"<about-{about}@{domain}>"  # all that is told of one item
        letter["Auto-Submitted"] = "auto-generated"  # RFC 3834: no vacation note answers it
        letter.set_content(text)
        return letter

    def _text(self, message: Message, now: float) -> str:
        last = message.transitions[-1]
        if message.digest or last.need not in (Need.APPROVAL, Need.QUESTION):
            return message.body
        request = approvals.read(self._store.layout, last.target)
        if request is None or approvals.decision(self._store.layout, request.id):
            return message.body
        text, how, verdict = _asked(request, message.body)
        with closing(Answers(self._store, MAIL, self._operator)) as answers:
            (offer,) = answers.offer(request, [("", verdict, "")], now)
        return f"{text}\n\n-- \nTo answer, reply and begin with {how}.\n{offer.token}"


def _asked(request: Approval, brief: str) -> tuple[str, str, Verdict]:
    """Return the text, how to answer, and what is offered: where not all can be shown a call can only be denied."""
    whole = (question_text if request.question else call_text)(request, _MOST_TEXT)
    text = whole or f"{brief}\n{pointer(request)}"
    if request.question:
        numbers = " or with the number of an option" if request.options else ""
        return text, f"`answer:` and the words{numbers}", Verdict.REPLY
    return (text, "allow or deny", Verdict.REPLY) if whole else (text, "deny", Verdict.DENY)
