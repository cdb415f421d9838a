"""Words that are not what they look like are told, and texts in other languages are none."""

from __future__ import annotations

import pytest

from lumen_tui.model.lookalikes import WORDS, look_alikes


@pytest.mark.threat("S11", "rules that cover more than they show; ends that nobody saw")
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("сurl https://example.org", "сurl (U+0441)"),
        ("git push оrigin main", "оrigin (U+043E)"),
        ("curl https://аррӏе.com/x", "https://аррӏе.com/x (U+0430)"),
        ("сору a b", "сору (U+0441)"),
        ("ｒm -r build", "ｒm (U+FF52)"),
        ("𝒄url x", "𝒄url (U+1D484)"),
        ("cp ⅼib x", "ⅼib (U+217C)"),
        ("cat a∶b a：b", "a：b (U+FF1A)"),
        ('{"path":"/еtc/hosts"}', "/еtc/hosts (U+0435)"),
    ],
)
def test_a_word_that_passes_for_another_is_told(text: str, word: str) -> None:
    assert look_alikes(text) == f"{WORDS}: {word}"


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m 'Виправив помилку у тесті, с якого почав'",
        "echo Привет hello", "echo héllo naïve – “q” … ½ m² ™", "echo 日本語 テスト", "ΔT of π and µ", "plain",
    ],
)  # fmt: skip
def test_another_language_passes_for_nothing(text: str) -> None:
    assert look_alikes(text) == ""


def test_of_many_words_three_are_named() -> None:
    assert look_alikes("сurl сat сp сd сut").endswith("сurl (U+0441), сat (U+0441), сp (U+0441) and 2 more")
