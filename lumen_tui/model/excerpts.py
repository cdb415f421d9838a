"""The part of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Pieces = Sequence[tuple[str, bool]]  # text, and whether it matched


def excerpt(pieces: Pieces, width: int = 160) -> tuple[tuple[str, bool], ...]:
    """Return the part of a marked text with the most matches in it, on one line of about `width` characters."""
    flat = list(_flat(pieces))
    starts = [at for at, (_, marked, _) in enumerate(flat) if marked]
    begin = max(starts, key=lambda at: _worth(flat, at, width), default=0)
    begin = _back(flat, begin, width // 4)
    shown: list[tuple[str, bool]] = [("… ", False)] if begin else []
    room, end = width, begin
    while end < len(flat) and room > 0:
        word, marked, glued = flat[end]
        room -= len(word) + 1
        blank = "" if glued or not shown or (end == begin) else " "
        shown.append((f"{blank}{word[: width + 1]}", marked))
        end += 1
    if end < len(flat):
        shown.append((" …", False))
    return tuple(_joined(shown))


def _flat(pieces: Pieces) -> Iterator[tuple[str, bool, bool]]:
    """Yield (word, whether it matched, whether it follows the one before it without a blank)."""
    blank = True
    for text, marked in pieces:
        for place, word in enumerate(text.split()):
            yield word, marked, place == 0 and not blank and not text[0].isspace()
        blank = text[-1:].isspace() if text else blank


def _worth(flat: Sequence[tuple[str, bool, bool]], begin: int, width: int) -> float:
    """Return how many different words match within `width` characters; the first of equals wins."""
    seen: set[str] = set()
    room, many = width, 0
    for word, marked, _ in flat[begin:]:
        room -= len(word) + 1
        if room < 0:
            break
        if marked:
            seen.add(word.casefold())
            many += 1
    return len(seen) * 10 + min(many, 9) - begin / (len(flat) + 1)


def _back(flat: Sequence[tuple[str, bool, bool]], begin: int, room: int) -> int:
    """Return a few words before `begin`, all of them where the text begins within reach."""
    at = begin
    while at > 0 and (room := room - len(flat[at - 1][0]) - 1) > 0:
        at -= 1
    while 0 < at < begin and flat[at][2]:
        at += 1
    return at


def _joined(pieces: Pieces) -> Iterator[tuple[str, bool]]:
    """Yield the pieces with neighbours of one kind joined."""
    held, kind = "", False
    for text, marked in pieces:
        if marked != kind and held:
            yield held, kind
            held = ""
        held, kind = held + text, marked
    if held:
        yield held, kind
