"""The header tells of the cap that is nearest to its end."""

from __future__ import annotations

from lumen_rows import each_row

from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.times import ago
from lumen_tui.tui.kit.header import spend_words


@each_row(
    ("spend", "said"),
    [
        (SpendView(usd=0.5, usd_cap=5, tokens=97_000, tokens_cap=100_000), "today 97 k of 100 k tokens"),
        (SpendView(usd=4.5, usd_cap=5, tokens=10_000, tokens_cap=100_000), "today $4.50 of 5.00"),
        (SpendView(usd=0.5, usd_cap=5, seconds=3000, seconds_cap=3600), "today 50 of 60 min"),
        (SpendView(usd=0.001, usd_cap=0.0015), "today $0.0010 of 0.0015"),
        (SpendView(usd_cap=5, tokens_cap=100_000), "today 0 of 100 k tokens"),
        (SpendView(tokens=300), "today 300 tokens"),
        (SpendView(tokens=126_000, tokens_cap=1, closed=True), "today 126 k tokens, budget closed"),
    ],
)
def test_the_nearest_cap_is_said(spend: SpendView, said: str) -> None:
    assert spend_words(spend) == said


def test_a_moment_ago_is_just_now() -> None:
    assert [ago(0.3), ago(-9), ago(300)] == ["just now", "just now", "5 min ago"]
