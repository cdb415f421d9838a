"""What a token weighs in the caps: cached ones as they are priced, all others one each."""

import pytest

from lumen_tui.model.budget import light_tokens
from lumen_tui.model.spendbook import HOLD, SETTLE, Book, LedgerEntry
from lumen_tui.providers.vendors.endpoints import cost


def test_cached_reads_weigh_as_they_are_priced():
    opus = cost("claude-opus-5-5", fresh=1_000, written=2_000, read=100_000, output=500)
    assert (opus.input_tokens, opus.read_tokens, opus.tokens) == (103_000, 100_000, 103_500)
    assert opus.weight == 3_500 + 5_000  # $0.20 beside $4.00
    haiku = cost("claude-haiku-5-5", fresh=0, written=0, read=1_001, output=0)
    assert haiku.weight == 101  # a tenth, rounded up


@pytest.mark.parametrize(
    ("read", "fresh", "reading"), [(0, 4.0, 0.2), (-5, 4.0, 0.2), (100, 0.0, 0.0), (100, 1.0, 2.0), (100, 1.0, -1.0)]
)
def test_what_makes_no_sense_counts_in_full(read, fresh, reading):
    assert light_tokens(read, fresh, reading) == 0


def test_an_older_ledger_is_read_as_it_was_written():
    book = Book()
    book.take(LedgerEntry("a", HOLD, "2026-11-20T10:00:00Z", day="2026-11-20", task="t", role="main", tokens=900))
    book.take(LedgerEntry("a", SETTLE, "2026-11-20T10:00:01Z", day="2026-11-20", tokens=800, usd=0.1))
    total = book.part("2026-11-20", "role", "main")
    assert (total.tokens, total.prompt, total.cached) == (800, 0, 0.0)


def test_the_ledger_says_which_share_came_from_the_cache():
    book = Book()
    for name, read in (("a", 900), ("b", 700)):
        book.take(LedgerEntry(name, HOLD, "2026-11-20T10:00:00Z", day="2026-11-20", role="main", tokens=2_000))
        settled = LedgerEntry(name, SETTLE, "2026-11-20T10:00:01Z", day="2026-11-20", tokens=9, prompt=1000, read=read)
        book.take(settled)
    assert book.part("2026-11-20", "role", "main").cached == 0.8
