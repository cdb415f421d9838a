"""Read aloud, no screen has a sign that stands alone: each is the word of the one table, whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import pytest
from lumen_gallery import Gallery, gallery
from lumen_screens import SCREENS, opened

from lumen_tui.model.tasks import Status
from lumen_tui.tui import theme
from lumen_tui.tui.theme import ASCII, SHAPES, WORDS, Shapes

_NO_SIGNS = ("status", "cursor", "sep", "size")  # cursor: the terminal's own stands there as well; sep: between words
_AS_TEXT = re.compile(r"[a-z ]*")
# What may stand without a letter: keys before their words, figures' units, and what belongs to a command or a text.
_KEYS = re.compile(r"[-/?:=*%>#\]\[{}|<&!~+@$;.,'\"_()]{1,3}")
_CUT = [f"{word[:place]}~" for word in WORDS.status.values() for place in range(3, len(word))]


def signs(shapes: Shapes) -> dict[str, str]:
    """All signs of a table, by name."""
    named = {name: value for name, value in msgspec.structs.asdict(shapes).items() if name not in _NO_SIGNS}
    return {**named, **{f"status {status}": sign for status, sign in shapes.status.items()}}


def test_each_sign_of_the_table_is_a_word_or_only_repeats_one() -> None:
    words = signs(WORDS)
    assert words.keys() == signs(SHAPES).keys() == signs(ASCII).keys()
    assert all(_AS_TEXT.fullmatch(word) for word in words.values())
    assert set(WORDS.status) == set(Status)
    assert len(set(WORDS.status.values())) == len(Status)
    assert all(len(word) <= WORDS.size for word in [*WORDS.status.values(), WORDS.waits, WORDS.paused])
    drawings = {"gutter", "rule", "bar", "levels", "tick", "spin", "dash", "need"}  # a word or a figure is beside each
    assert {name for name, word in words.items() if not word} == drawings


@pytest.fixture(scope="module")
def recorded() -> Iterator[Gallery]:
    with gallery() as opened_gallery:
        yield opened_gallery


@pytest.mark.parametrize("name", SCREENS)
async def test_no_screen_has_a_sign_without_a_word(
    recorded: Gallery, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Every sign of the other tables is put out of reach: whoever still draws one is seen."""
    monkeypatch.setattr(theme, "SHAPES", _odd(SHAPES))
    monkeypatch.setattr(theme, "ASCII", _odd(ASCII))
    async with opened(recorded.room(accessible=True), (120, 40), SCREENS[name]) as robot:
        assert not re.search("[\ue100-\ue1ff]", robot.text)
        tokens = [token for line in robot.lines for token in line.split()]
        alone = {token for token in tokens if not any(letter.isalnum() for letter in token)}
        assert {token for token in alone if not (token.isascii() and _KEYS.fullmatch(token))} == set()
        assert [line for line in robot.lines if next(iter(line.lstrip(" >").split()), "") in _CUT] == []


def _odd(table: Shapes) -> Shapes:
    """The table with a letter in place of each sign that no other text has."""
    odd = {
        name: chr(0xE100 + place) for place, name in enumerate(sorted(signs(table))) if not name.startswith("status")
    }
    status = {status: chr(0xE180 + place) for place, status in enumerate(table.status)}
    return msgspec.structs.replace(table, **odd, status=status)


async def test_marks_units_risks_and_diffs_are_told_in_words(recorded: Gallery) -> None:
    async with opened(recorded.room(accessible=True), (120, 40), "5 space space") as robot:
        assert sum(line.lstrip(">").strip().startswith("marked ") for line in robot.lines) == 2
    async with opened(recorded.room(accessible=True), (120, 40), "exclamation_mark") as robot:
        assert any("warning approval" in " ".join(line.split()) for line in robot.lines)
    async with opened(recorded.room(accessible=True), (120, 40), "V enter") as robot:
        await robot.sees("added ", "PAUSE")
    async with opened(recorded.room(accessible=True), (120, 40), "F") as robot:
        assert any(word in robot.text for word in ("fresh", "drifted", "expired"))
    async with opened(recorded.room(accessible=True), (120, 40), "percent_sign") as robot:
        await robot.sees("the highest", " to now")
