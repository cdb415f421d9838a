"""Totals follow from the lines alone, after any repetition, and are never less than what may have been spent."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from lumen_rows import each_row

from lumen_tui.model.spendbook import (
    GONE,
    GRANT,
    HOLD,
    LOST,
    RELEASE,
    REVOKE,
    SETTLE,
    SPENT,
    WAIT,
    Amount,
    Book,
    LedgerEntry,
)

AT = "2026-11-21T10:00:00Z"
DAY = "2026-11-21"
KINDS = st.sampled_from([HOLD, SETTLE, RELEASE, LOST, SPENT])


def entry(call: str, kind: str, tokens: int = 0, **more: object) -> LedgerEntry:
    return LedgerEntry(
        **{"id": call, "kind": kind, "at": AT, "day": DAY, "task": "t", "role": "r", "tokens": tokens, **more}
    )


def book_of(*entries: LedgerEntry) -> Book:
    book = Book()
    for one in entries:
        book.take(one)
    return book


def test_a_hold_is_set_aside_and_a_settlement_takes_its_place():
    held = book_of(entry("a", HOLD, 100))
    assert (held.held(DAY).tokens, held.days.get(DAY)) == (100, None)
    settled = book_of(entry("a", HOLD, 100), entry("a", SETTLE, 60, usd=0.1))
    assert settled.held(DAY).tokens == 0
    assert settled.days[DAY] == Amount(60, 0.1, 0.0, 1)
    assert settled.part(DAY, "role", "r") == settled.part(DAY, "task", "t") == settled.tasks["t"] == settled.days[DAY]


def test_a_call_across_midnight_counts_for_the_day_that_let_it_begin():
    book = book_of(entry("a", HOLD, 100), entry("a", SETTLE, 60, day="2026-11-22", at="2026-11-22T00:01:00Z"))
    assert {day: total.tokens for day, total in book.days.items()} == {DAY: 60}


def test_a_released_call_costs_nothing_and_is_no_call():
    assert book_of(entry("a", HOLD, 100), entry("a", RELEASE)).days[DAY] == Amount()


def test_a_lost_call_counts_in_full_until_somebody_tells():
    lost = [entry("a", HOLD, 100), entry("a", LOST)]
    assert book_of(*lost).days[DAY].tokens == 100
    told = book_of(*lost, entry("a", SETTLE, 60))
    assert told.days[DAY] == Amount(60, 0.0, 0.0, 1)
    assert book_of(*lost, entry("a", SETTLE, 60), entry("a", SETTLE, 60)).days == told.days


@each_row("end", [SETTLE, RELEASE])
def test_a_settlement_that_comes_before_its_hold_closes_the_call(end):
    tokens = 60 if end == SETTLE else 0
    usual = book_of(entry("a", HOLD, 100), entry("a", end, tokens))
    early = book_of(entry("a", end, tokens), entry("a", LOST), entry("a", HOLD, 100), entry("a", end, tokens))
    assert early == usual
    assert early.held(DAY) == Amount()


def test_a_settled_call_never_opens_again():
    for end in (SETTLE, RELEASE, SPENT):
        book = book_of(entry("a", HOLD, 100), entry("a", end), entry("a", HOLD, 100), entry("a", LOST))
        assert (book.open, book.lost, book.days[DAY].tokens) == ({}, {}, 0)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), KINDS, st.integers(0, 50)), min_size=1, max_size=25), st.data())
def test_what_is_repeated_counts_once(steps, data):
    """Any line told a second time, at any later place, changes nothing, whatever stands between."""
    once = [entry(f"c{call}", kind, tokens) for call, kind, tokens in steps]
    place = data.draw(st.integers(0, len(once) - 1))
    again = data.draw(st.integers(place + 1, len(once)))
    assert book_of(*once[:again], once[place], *once[again:]) == book_of(*once)


HISTORIES = st.sampled_from([(HOLD,), (HOLD, SETTLE), (HOLD, RELEASE), (HOLD, LOST), (HOLD, LOST, SETTLE), (SPENT,)])


def history(call: str, kinds: tuple[str, ...], most: int) -> list[LedgerEntry]:
    """The lines that a ledger has of one call: the amounts differ by line, a release has none."""
    tokens = {HOLD: most, SETTLE: most // 2, SPENT: most}
    return [entry(call, kind, tokens.get(kind, 0), usd=tokens.get(kind, 0) / 4) for kind in kinds]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(HISTORIES, st.integers(0, 50)), max_size=6), st.data())
def test_the_order_of_the_lines_and_their_repetition_change_no_total(calls, data):
    lines = [line for number, (kinds, most) in enumerate(calls) for line in history(f"c{number}", kinds, most)]
    more = data.draw(st.lists(st.sampled_from(lines), max_size=8)) if lines else []
    mixed = book_of(*data.draw(st.permutations([*lines, *more])))
    straight = book_of(*lines)
    assert mixed == msgspec.structs.replace(straight, recent=mixed.recent)
    assert mixed.recent.keys() == straight.recent.keys()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), KINDS, st.integers(0, 50)), max_size=25))
def test_the_parts_add_up_and_the_index_is_the_book(steps):
    book = book_of(*[entry(f"c{call}", kind, tokens, role=f"r{call % 2}") for call, kind, tokens in steps])
    total = book.days.get(DAY, Amount())
    assert sum(part.tokens for part in book.parts.get(f"{DAY} role", {}).values()) == total.tokens
    assert sum(slot.tokens for slot in book.slots.values()) == total.tokens
    assert msgspec.json.decode(msgspec.json.encode(book), type=Book) == book


def test_a_wait_ends_with_the_next_hold_or_with_its_worker():
    waits = entry("w", WAIT, 10)
    assert book_of(waits).waits == {"t": waits}
    assert book_of(waits, entry("a", HOLD, 10)).waits == {}
    assert book_of(waits, entry("w", GONE)).waits == {}
    assert book_of(waits, entry("x", GONE)).waits == {"t": waits}


def test_a_grant_holds_until_it_is_taken_back():
    grant = entry("g", GRANT, 500)
    assert book_of(grant).grants == {"g": grant}
    assert book_of(grant, entry("g", REVOKE)).grants == {}


def test_unknown_kinds_are_passed_over():
    assert book_of(entry("a", "tomorrows")) == Book()


@each_row("tasks", [10_000])
def test_the_totals_stay_small_over_the_years(tasks):
    book = Book()
    for number in range(tasks):
        day = f"20{26 + number // 2800:02d}-{1 + number // 240 % 12:02d}-{1 + number // 9 % 28:02d}"
        at = f"{day}T10:00:00Z"
        book.take(LedgerEntry(f"c{number}", SPENT, at, day=day, task=f"t{number}", role="r", tokens=1))
    assert len(msgspec.json.encode(book)) < 300_000
