"""More room than the settings could give is refused; a record of old that holds no number can be undone."""

from __future__ import annotations

import pytest

from lumen_tui.actions import edits
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.budget import Cap, Limit, dollars
from lumen_tui.model.records import Change
from lumen_tui.model.spendbook import GRANT, Amount, LedgerEntry
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.store.audit import journal
from lumen_tui.store.ledger.ledger import Ledger

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "asked", [{"usd": NAN}, {"usd": INF}, {"usd": 1e308}, {"minutes": INF}, {"tokens": 99999999999999999999}]
)
def test_what_no_setting_could_be_is_refused(purse, asked):
    with pytest.raises(ActionError, match="out of range: 0 to 1,000,000"):
        purse.do("budget.raise", **asked)
    assert not purse.layout.spend.exists()


def test_an_old_raise_without_a_number_can_be_undone_and_done_again(purse, now, day):
    Ledger(purse.layout).append(LedgerEntry("grn-old", GRANT, iso(now), day, usd=NAN, by="ann"))
    side = {"day": day, "role": "", "tokens": 0, "usd": NAN, "seconds": 0.0}
    change = Change(kind="grant", key="grn-old", before=None, after=side)
    action = edits.new_action("budget.raise", [change], summary="raised", by="ann", now=now, reason="")
    files.append(purse.layout.actions, journal.action_lines(action))
    assert b'"usd":null' in purse.layout.actions.read_bytes()
    purse.do("undo")
    assert purse.ledger.book.grants == {}
    purse.do("redo")
    assert list(purse.ledger.book.grants) == ["grn-old"]
    purse.do("undo")
    assert purse.ledger.book.grants == {}


def test_a_small_cap_is_said_with_digits_that_count():
    cap = Cap("today's budget", Limit(usd=0.0015), Amount(usd=0.03))
    assert cap.words == "$0.0300 of $0.0015 spent"
    assert [dollars(5), dollars(0.25), dollars(0)] == ["$5.00", "$0.25", "$0.00"]
