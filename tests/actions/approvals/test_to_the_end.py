"""A call is allowed only once its end was on the screen, and nowhere is an end cut away without a word."""

from __future__ import annotations

from typing import Any

import pytest
from lumen_rows import each_row
from lumen_stage import Stage

from lumen_tui.model.text import brief, fold, line_count
from lumen_tui.tui.kit.questions import ConfirmKey

END = "touch EVIL-END"
HIDING = [
    "echo ok" + "\n" * 400 + END,
    "echo ok" + "\n \t" * 400 + "\n" + END,
    "echo ok" + " " * 3000 + "; " + END,
    "echo ok" + "\t" * 3000 + "; " + END,
    "echo ok" + "\u2003" * 3000 + "; " + END,
    "echo ok" + "\n#" * 400 + "\n" + END,
    "echo ok; " + "true; " * 3000 + END,
]


@each_row("text", HIDING)
def test_on_one_line_the_end_is_there_and_what_is_left_out_is_told(text: str) -> None:
    said = brief(text, 120)
    assert said.startswith("echo ok")
    assert said.endswith("EVIL-END")
    assert len(said) <= 120
    assert " … " in said


@each_row("text", HIDING[:5])
def test_emptiness_is_folded_and_counted(text: str) -> None:
    assert len(fold(text)) < 80
    assert fold(text).startswith("echo ok")
    assert fold(text).endswith(END)


def test_what_hides_nothing_stays_as_it_is() -> None:
    text = "def f():\n    return 1\n\n\nx = 2" + " " * 20 + "# aligned\n"
    assert fold(text) == text
    assert brief("git push", 300) == "git push"
    assert line_count("a\nb\n") == 2


@pytest.mark.threat("S11", "rules that cover more than they show; ends that nobody saw")
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 15)])
@pytest.mark.parametrize("text", HIDING)
async def test_the_key_counts_once_the_end_was_on_the_screen(text: str, size: tuple[int, int]) -> None:
    app: Any = Stage(
        ConfirmKey("Allow this?", ["1 call"], "confirm_allow", "allow it", [("builder wants to use shell.", text)])
    )
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        if END.split()[-1] not in app.shown:
            await pilot.press("a")
            assert app.answers == []
            assert "There is more below" in app.shown
            await pilot.press("G")
        assert END.split()[-1] in app.shown
        await pilot.press("a")
        assert app.answers == [True]


async def test_a_window_that_grows_over_the_end_has_shown_it() -> None:
    text = "\n".join(f"step {number}" for number in range(20))
    app: Any = Stage(ConfirmKey("Allow this?", ["1 call"], "confirm_allow", "allow it", [("it", text)]))
    async with app.run_test(size=(80, 16)) as pilot:
        await pilot.press("a")
        assert app.answers == []
        await pilot.resize_terminal(80, 50)
        await pilot.pause()
        assert "step 19" in app.shown
        await pilot.press("a")
        assert app.answers == [True]
