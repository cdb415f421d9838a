"""The virtual list without a screen: window, cursor, marks, filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lumen_rows import each_row

from lumen_tui.tui.kit.list_model import ListModel, Marks
from lumen_tui.tui.kit.query import indices, parse


class Million(Sequence[str]):
    """Rows that note which of them were read."""

    def __init__(self) -> None:
        self.read: set[int] = set()

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        self.read.add(index)
        return f"row-{index}"


def model_of(rows: Sequence[str], height: int = 10) -> ListModel[str]:
    model: ListModel[str] = ListModel(lambda row: row)
    model.height = height
    model.replace(rows, None)
    return model


def test_a_move_in_a_million_rows_reads_next_to_nothing() -> None:
    rows = Million()
    model = model_of(rows)
    model.move(len(model) - 1)
    assert model.selected == "row-999999"
    assert model.top == 999_990
    assert len(rows.read) < 5


def test_the_window_pages_so_that_most_moves_stay_inside_it() -> None:
    model = model_of([f"r{n}" for n in range(100)])
    tops = set()
    for _ in range(30):
        model.move(model.cursor + 1)
        tops.add(model.top)
        assert model.top <= model.cursor < model.top + model.height
    assert len(tops) <= 4


@each_row("expanded", [False, True])
def test_every_line_of_the_list_belongs_to_a_row(expanded: bool) -> None:
    model = model_of([f"r{n}" for n in range(20)])
    model.expanded = expanded
    model.move(7)
    places = [model.at_line(line) for line in range(model.lines)]
    assert [place[0] for place in places if place and not place[1]] == list(range(20))
    assert sum(1 for place in places if place and place[1]) == int(expanded)
    assert model.at_line(model.lines) is None


def test_the_cursor_follows_its_row_when_others_come_before_it() -> None:
    model = model_of(["a", "b", "c"])
    model.move(1)
    model.replace(["x", "y", "a", "b", "c"], None)
    assert model.selected == "b"


def test_a_row_that_goes_leaves_the_cursor_on_the_next_one() -> None:
    model = model_of(["a", "b", "c"])
    model.move(1)
    model.replace(["a", "c"], None)
    assert model.selected == "c"


def test_a_scrolled_window_stands_still_when_rows_come_before_it() -> None:
    model = model_of([f"r{n}" for n in range(100)])
    model.move(50)
    seen = model.row(model.top)
    model.replace(["new1", "new2", *(f"r{n}" for n in range(100))], None)
    assert model.row(model.top) == seen


def test_a_range_covers_what_lies_between_and_a_second_one_is_added() -> None:
    model = model_of(list("abcdefgh"))
    marks = Marks(model)
    model.move(2)
    marks.start_or_end_range()
    model.move(4)
    marks.stretch()
    model.move(3)
    marks.stretch()
    marks.start_or_end_range()
    model.move(7)
    marks.toggle()
    assert list(marks.keys) == ["c", "d", "h"]


def test_all_marks_the_filtered_rows_and_the_second_time_none() -> None:
    model = model_of(list("abcd"))
    model.replace(list("abcd"), [1, 3])
    marks = Marks(model)
    marks.all()
    assert list(marks.keys) == ["b", "d"]
    marks.all()
    assert not marks.keys


class Words:
    """Rows that are their own words, with a made-up field."""

    def words(self, row: str) -> str:
        return row

    def fields(self, row: str) -> Mapping[str, str]:
        return {"role": row.split()[0]}


@each_row(
    ("text", "found"),
    [
        ("retry", [0, 1]),
        ("retri", [0, 1]),  # misspelt
        ("retry !web", [1]),
        ("role:builder", [1]),
        ("!role:builder", [0, 2]),
        ("RETRY fetch", [0]),
        ("", [0, 1, 2]),
        ("! role:", [0, 1, 2]),  # still being typed
        ("nothing:like", []),
    ],
)
def test_filters(text: str, found: list[int]) -> None:
    rows = ["researcher retry on web fetch", "builder add retry to the loop", "analyst weekly report"]
    assert indices(parse(text), rows, Words(), 0, len(rows)) == found
