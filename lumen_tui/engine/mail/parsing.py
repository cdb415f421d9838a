"""A message taken apart within bounds: of its size, its headers, its parts, and how deep they are nested."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32

from lumen_tui.model.mail import Attachment, Letter, message_ids, sender_of
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.redaction import clean
from lumen_tui.tools.html import text_of
from lumen_tui.tools.web_fetch import CHARSETS

_MOST_HEAD = 256 * 1024  # bytes
_MOST_PARTS, _MOST_DEPTH, _MOST_ATTACHMENTS = 200, 10, 20
_MOST_HTML = 1024 * 1024  # characters
_HTML_SECONDS = 5.0
_SUBJECT = 200  # characters
_PROGRAMS = ("x-autoreply", "x-autorespond", "x-loop", "x-auto-response-suppress", "feedback-id")  # headers of theirs
_NAME = lazy_re(r"[^A-Za-z0-9._-]+")
_BREAK = lazy_re(rb"\r?\n\r?\n")


class BadMessage(Exception):
    """A message that is not taken apart; the text says why."""


def parse(raw: bytes) -> Letter:
    """Return what is in a message. Raise BadMessage."""
    head = _BREAK.search(raw[: _MOST_HEAD + 4])
    if len(raw) > _MOST_HEAD and head is None:
        raise BadMessage("its headers are too long")
    if raw.lower().count(b"boundary=") > _MOST_PARTS or raw.count(b"\n--") > 50 * _MOST_PARTS:
        raise BadMessage("it has too many parts")
    try:
        message = BytesParser(policy=compat32).parsebytes(raw)
        parts = list(_leaves(message))
    except RecursionError as error:
        raise BadMessage("its parts are nested too deep") from error
    text, attachments = _contents(parts)
    return Letter(
        sender=sender_of(_decoded(_all(message, "From"))),
        subject=one_line(_decoded(_all(message, "Subject")), _SUBJECT),
        message_id=next(iter(message_ids(_all(message, "Message-ID"))), ""),
        text=text,
        attachments=attachments,
        automatic=_is_automatic(message),
        references=" ".join(message_ids(_all(message, "References") or _all(message, "In-Reply-To"))),
    )


def _all(message: Message, name: str) -> str:
    """Return a header; of one that stands there several times all of it, which is no address then."""
    return ", ".join(str(value) for value in message.get_all(name, ()))


def _is_automatic(message: Message) -> bool:
    """Return whether a program sent it (RFC 3834), a list, or whoever reports that something could not be delivered."""
    auto = _all(message, "Auto-Submitted").strip().lower()
    bulk = _all(message, "Precedence").strip().lower() in ("bulk", "list", "junk", "auto_reply")
    listed = any(name.lower().startswith("list-") or name.lower() in _PROGRAMS for name in message)
    bounced = _all(message, "Return-Path").strip() == "<>" or message.get_content_type() == "multipart/report"
    return bool(auto and not auto.startswith("no")) or bulk or listed or bounced


def _leaves(message: Message) -> Iterator[Message]:
    """Yield the parts that hold no parts. Raise BadMessage."""
    waiting: list[tuple[Message, int]] = [(message, 0)]
    count = 0
    while waiting:
        part, depth = waiting.pop()
        count += 1
        if count > _MOST_PARTS:
            raise BadMessage("it has too many parts")
        if depth > _MOST_DEPTH:
            raise BadMessage("its parts are nested too deep")
        inner = part.get_payload() if part.is_multipart() else None
        if isinstance(inner, list):
            waiting.extend((each, depth + 1) for each in reversed(inner) if isinstance(each, Message))
        else:
            yield part


def _contents(parts: list[Message]) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text, of a page what can be read of it, and the rest as attachments."""
    plain, page = "", ""
    attachments: list[Attachment] = []
    for part in parts:
        kind, attached = part.get_content_type(), part.get_content_disposition() == "attachment"
        if kind == "text/plain" and not attached and not plain:
            plain = safe(_text(part))
        elif kind == "text/html" and not attached and not page:
            page = _text(part)[:_MOST_HTML]
        elif len(attachments) < _MOST_ATTACHMENTS:
            attachments.append(Attachment(_file_name(part, len(attachments) + 1), _bytes(part)))
    return plain or (safe(_readable(page)) if page else ""), tuple(attachments)


def _readable(page: str) -> str:
    ends = time.monotonic() + _HTML_SECONDS

    def check() -> None:
        if time.monotonic() > ends:
            raise BadMessage("its page takes too long to read")

    return text_of(page, check)


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> str:
    return _in_charset(_bytes(part), str(part.get_content_charset() or ""))


def _in_charset(data: bytes, charset: str) -> str:
    name = charset.lower() if CHARSETS.fullmatch(charset.lower().replace("_", "-")) else "utf-8"
    try:
        return data.decode(name, "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


def _decoded(header: str) -> str:
    """Return a header with its encoded words (RFC 2047) in clear, on one line and safe."""
    try:
        parts = decode_header(header[:4000])
    except (HeaderParseError, ValueError):
        return one_line(header, 1000)
    words = [part if isinstance(part, str) else _in_charset(part, charset or "") for part, charset in parts]
    return one_line("".join(words), 1000)


def _file_name(part: Message, number: int) -> str:
    """Return a plain file name, with a number before it so that none hides another."""
    try:
        given = str(part.get_filename() or "")
    except (HeaderParseError, ValueError, LookupError):
        given = ""
    name = _NAME.sub("-", clean(given.replace("\\", "/").rpartition("/")[2])).strip("-.")[:60]
    return f"{number:02d}-{name or 'part'}"
