"""Filters over long lists: in slices, with what was found shown as it comes."""

from __future__ import annotations

import asyncio

import pytest

from lumen_tui.tui.kit.query import Sifter


class View:
    def words(self, row: str) -> str:
        return row

    def fields(self, row: str) -> dict[str, str]:
        return {"end": row[-1:]}


class Shown:
    """What a sifter hands out, with how much it had looked through at the time."""

    def __init__(self) -> None:
        self.sifter = Sifter(View(), self.take)
        self.seen: list[tuple[int, float]] = []
        self.order: list[int] | None = None
        self.rows: list[str] = []

    def take(self, rows, order) -> None:
        self.rows, self.order = rows, order
        self.seen.append((len(order or ()), self.sifter.share))

    async def rest(self) -> None:
        while (job := self.sifter._job) is not None:
            await job


ROWS = [f"row {number}" for number in range(35_000)]


async def test_a_long_list_is_filtered_in_slices_and_says_how_far_it_is() -> None:
    shown = Shown()
    shown.sifter.set_rows(ROWS)
    shown.sifter.set_text("99 end:9")
    assert shown.sifter.share < 1 or shown.sifter._job is not None
    await shown.rest()
    assert shown.order == [number for number, row in enumerate(ROWS) if "99" in row and row.endswith("9")]
    shares = [share for _, share in shown.seen[1:]]
    assert shares == sorted(shares)
    assert len(shares) > 3
    assert shown.sifter.share == 1.0


async def test_misspelt_words_are_tried_where_nothing_has_them_as_they_are() -> None:
    shown = Shown()
    shown.sifter.set_rows([*ROWS, "finished"])
    shown.sifter.set_text("finnished")
    await shown.rest()
    assert shown.order == [len(ROWS)]
    shown.sifter.set_text("row 34999")
    await shown.rest()
    assert shown.order == [34_999], "and not those that are merely alike"


async def test_another_word_ends_the_search_for_the_first() -> None:
    shown = Shown()
    shown.sifter.set_rows(ROWS)
    shown.sifter.set_text("row 1")
    await asyncio.sleep(0)
    shown.sifter.set_text("row 34998")
    await shown.rest()
    assert shown.order == [34_998]
    shown.sifter.set_text("")
    assert shown.order is None


async def test_newer_rows_are_filtered_too() -> None:
    shown = Shown()
    shown.sifter.set_rows(ROWS)
    shown.sifter.set_text("row 3499")
    shown.sifter.set_rows([*ROWS, "row 3499 again"])
    await shown.rest()
    assert shown.rows[shown.order[-1]] == "row 3499 again"


async def test_a_row_that_cannot_be_read_ends_that_look_and_no_other() -> None:
    shown, broken = Shown(), list(ROWS)
    broken[20_000] = None  # type: ignore[call-overload]
    shown.sifter.set_text("row 34999")
    shown.sifter.set_rows(broken)
    with pytest.raises(AttributeError):
        await shown.rest()
    shown.sifter.set_rows(ROWS)
    await shown.rest()
    assert (shown.order, shown.sifter.share) == ([34_999], 1.0)
