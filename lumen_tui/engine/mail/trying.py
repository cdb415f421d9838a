"""Mail as it is set up is tried by a person, now: each place is looked at, and a message is sent."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from lumen_tui.engine.mail.imap import opened
from lumen_tui.engine.mail.maildir import check
from lumen_tui.engine.mail.smtp import submit
from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.model.config import Config
from lumen_tui.model.text import one_line


def maildir(setting: str) -> str:
    """Return what is in a Maildir. Raise Unreachable, OSError."""
    root = Path(setting).expanduser()
    check(root)
    waiting = sum(1 for each in (root / "new").iterdir() if not each.name.startswith("."))
    return f"{root}: {waiting} in new/"


def imap(config: Config) -> str:
    """Return what a server says of the mailbox; nothing is fetched. Raise Unreachable, SecretMissing."""
    with closing(opened(config)) as mailbox:
        looks = f"it is looked at each {config.mail.every_minutes:g} minutes"
        how = "the server tells of new ones" if mailbox.tells else looks
        return f"{config.mail.imap_folder}: {len(mailbox.uids('ALL'))} messages; {how}"


def smtp(config: Config, now: float) -> str:
    """Send the operators a message, and return to whom. Raise NotSent, SecretMissing."""
    mail = config.mail
    if not (mail.address and mail.operators):
        raise NotSent("address and operators are needed for it")
    letter = EmailMessage()
    letter["From"], letter["To"] = mail.address, ", ".join(mail.operators)
    letter["Subject"] = f"{one_line(config.agent.name, 24)}: a test"
    letter["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    letter["Message-ID"] = f"<test-{now:.0f}@{mail.address.rpartition('@')[2]}>"
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content("This is how what needs you is told.")
    submit(mail, letter, mail.operators)
    return f"sent to {', '.join(mail.operators)}"
