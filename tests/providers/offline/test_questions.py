"""Questions in natural words: each is answered right, or not at all."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import folder
import pytest
import scoring


@pytest.mark.parametrize(("half", "least"), [("tune", 44), ("held", 44)])
def test_questions_are_answered_right_or_not_at_all(ask, tmp_path: Path, half: str, least: int) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    words = folder.build(root, time.time())
    judged = {one.name: scoring.judge(one, ask(one.ask, root)) for one in scoring.questions(half, root, words)}
    assert [name for name, verdict in judged.items() if verdict == "wrong"] == []
    assert Counter(judged.values())["right"] >= least


def test_the_judge_wants_whole_facts_and_no_forbidden_ones() -> None:
    question = scoring.Question("x", "?", (("41", "forty-one"), ("app.log",)), ("42",))
    assert scoring.judge(question, "**41 lines** in `logs/app.log`") == "right"
    assert scoring.judge(question, "417 lines in app.log") == "wrong"
    assert scoring.judge(question, "41 or 42 lines in app.log") == "wrong"
    assert scoring.judge(question, None) == "refused"
    assert scoring.judge(scoring.Question("x", "?", (), ()), None) == "right"
    assert scoring.judge(scoring.Question("x", "?", (), ()), "Done.") == "wrong"
