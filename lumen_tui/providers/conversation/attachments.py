"""Images and PDF files in a conversation: which of them a model is sent, and what stands for the others. Pure.

An entry names what a call returned and never holds its bytes: these are loaded for a request, and go with it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from msgspec.structs import replace

from lumen_tui.model.media import PDF, Media
from lumen_tui.model.text import one_line
from lumen_tui.providers.conversation.history import Entry, ResultMessage, ResultMessages

Load = Callable[[Media], bytes | None]
_MOST = 20  # images and PDF files of one request, the newest: with more, vendors take smaller ones only
_MOST_BYTES = 16_000_000  # of all of them; in base64 a third more, and requests end at 32 MB
_KINDS = {"image": "images", PDF: "PDF files"}


def left_out(result: ResultMessage, reason: str) -> ResultMessage:
    """Return a result without its images and PDF files, and with a word on why."""
    return replace(result, text=f"{result.text}\n[not shown: {reason}]", media=()) if result.media else result


def without_media(entries: tuple[Entry, ...], reason: str) -> tuple[Entry, ...]:
    """Return a conversation whose images and PDF files were refused by a server, in its own words."""
    words = f"the server refused it: {one_line(reason, 200)}"
    return _changed(entries, lambda result: left_out(result, words))


def fitted(entries: tuple[Entry, ...], takes: tuple[str, ...], label: str) -> tuple[Entry, ...]:
    """Return the entries as a model is sent them: the newest images and PDF files that it takes, as far as they fit."""
    count = size = 0

    def fit(result: ResultMessage) -> ResultMessage:
        nonlocal count, size
        if not result.media:
            return result
        if unseen := [attachment.kind for attachment in result.media if attachment.kind not in takes]:
            return left_out(
                result, f"{label} is sent no {_KINDS[unseen[0]]} here; use a command that turns it into text"
            )
        count, size = count + len(result.media), size + sum(attachment.size for attachment in result.media)
        if count <= _MOST and size <= _MOST_BYTES:
            return result
        return left_out(result, "too many newer ones came after it; read it again where it is needed")

    return _changed(entries, fit)


def _changed(entries: tuple[Entry, ...], change: Callable[[ResultMessage], ResultMessage]) -> tuple[Entry, ...]:
    """Return the entries with their results changed; the newest is changed first."""
    newest_first: list[Entry] = []
    for entry in reversed(entries):
        if isinstance(entry, ResultMessages) and any(result.media for result in entry.results):
            results = [change(result) for result in reversed(entry.results)]
            newest_first.append(ResultMessages(tuple(reversed(results))))
        else:
            newest_first.append(entry)
    return tuple(reversed(newest_first))


def weight(entries: tuple[Entry, ...]) -> int:
    """Return as many bytes of text as would have the tokens of all images and PDF files."""
    results = [result for entry in entries if isinstance(entry, ResultMessages) for result in entry.results]
    return sum(attachment.weight for result in results for attachment in result.media)


def attachments(result: ResultMessage, load: Load) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the text of a result, and of each image or PDF its kind, its media type and its bytes in base64."""
    text, attached = result.text, []
    for attachment in result.media:
        data = load(attachment)
        if data is None:
            text += "\n[not shown: the file that was kept of it is gone; read it again]"
        else:
            attached.append((attachment.kind, attachment.type, base64.b64encode(data).decode()))
    return text, attached
