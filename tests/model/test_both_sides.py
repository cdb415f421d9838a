"""What a person edits where a change no longer fits: both sides in their place, and nothing of either lost."""

from __future__ import annotations

import random

import pytest
from lumen_sweeps import seed

from lumen_tui.model.changelist import Conflict, hunks_of, marked, merge

LINES = [b"line %d\n" % number for number in range(1, 31)]


def test_both_sides_are_where_they_clash_and_what_fits_is_brought_in():
    before = b"".join(LINES)
    now = before.replace(b"line 2\n", b"two by one\n")
    after = before.replace(b"line 2\n", b"two by the other\n").replace(b"line 28\n", b"")
    clash = (
        b"<<<<<<< what is there now\ntwo by one\n||||||| when the task began, line 2\nline 2\n"
        b"=======\ntwo by the other\n>>>>>>> the task\n"
    )
    assert marked(now, before, after, [1, 2]) == before.replace(b"line 2\n", clash).replace(b"line 28\n", b"")
    assert marked(now, before, after, [2]) == now.replace(b"line 28\n", b"")


@pytest.mark.parametrize(("now", "before", "after"), [(b"x", b"", b"y"), (b"", b"q\n", b"r\n"), (b"p", b"q", b"r")])
def test_texts_without_lines_or_a_last_newline(now, before, after):
    lines = marked(now, before, after, [1]).split(b"\n")
    assert lines[0].startswith(b"<<<<<<<") and lines[-2].startswith(b">>>>>>>") and lines[-1] == b""
    assert {now.rstrip(), after.rstrip()} - {b""} <= set(lines)


def changed(chance: random.Random, lines: list[bytes]) -> bytes:
    made = list(lines)
    for _ in range(chance.randrange(4)):
        place = chance.randrange(len(made) + 1)
        made[place : place + chance.randrange(2)] = [b"new %d\n" % chance.randrange(5)] * chance.randrange(2)
    whole = b"".join(made)
    return whole[:-1] if chance.random() < 0.3 else whole


def left(text: bytes, wanted: str) -> bytes:
    """The text with one side of each clash: `now` or `new`."""
    sides = {b"<<<<<<<": "now", b"|||||||": "then", b"=======": "new", b">>>>>>>": ""}
    kept, side = b"", ""
    for line in text.splitlines(keepends=True):
        if line[:7] in sides:
            side = sides[line[:7]]
        elif side in ("", wanted):
            kept += line
    return kept.rstrip(b"\n")


def test_whatever_changed_no_line_of_either_side_is_lost():
    """With the side that is there now in each clash it is what a merge of the hunks that fit makes."""
    chance = random.Random(seed())  # noqa: S311 - not for cryptography
    clashes = 0
    for _ in range(500):
        lines = [b"%d\n" % chance.randrange(4) for _ in range(chance.randrange(12))]
        before, after, now = b"".join(lines), changed(chance, lines), changed(chance, lines)
        hunks = hunks_of(before, after)
        chosen = [number for number in range(1, len(hunks) + 1) if chance.random() < 0.8]
        text = marked(now, before, after, chosen)
        fitting = [number for number in chosen if fits(now, before, after, number)]
        assert left(text, "now") == merge(now, before, after, fitting).rstrip(b"\n"), (now, before, after, chosen)
        for number in set(chosen) - set(fitting):
            assert b"".join(hunks[number - 1].new).rstrip(b"\n") in left(text, "new"), (now, before, after, chosen)
            clashes += 1
    assert clashes


def fits(now: bytes, before: bytes, after: bytes, number: int) -> bool:
    try:
        merge(now, before, after, {number})
    except Conflict:
        return False
    return True
