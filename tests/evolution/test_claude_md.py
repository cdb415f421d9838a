"""CLAUDE.md: a person's words around our section stay, no part crowds out another, and a bad place says what to do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from evolution_desk import Mind, SessionFile

from lumen_tui.model import evolvedfiles
from lumen_tui.model.claudemd import BEGIN, END, assemble, placed
from lumen_tui.model.evolution import TARGETS
from lumen_tui.store import claudemd
from lumen_tui.store.files import StoreError

OURS = f"{BEGIN}\nnew\n{END}\n"


@pytest.mark.parametrize(
    "text",
    [
        "", "mine", "mine\r\n\n\n", f"a begin that lost its end {BEGIN} and my words", f"{BEGIN}\nmy words, no end\n",
        f"{END} x {BEGIN} y", f"`{BEGIN}` and `{END}` are the marks.\nkeep me\n",
    ],
)  # fmt: skip
def test_what_is_not_ours_is_never_taken_away(text: str) -> None:
    once = placed(text, OURS)
    assert once.startswith(text)
    assert placed(once, OURS) == once
    assert placed(once, OURS.replace("new", "newer")).startswith(text)


def test_only_what_stands_between_the_marks_is_written() -> None:
    text = f"# Mine\r\n{BEGIN}\r\nold\r\n{END} behind\r\ntail"
    assert placed(text, OURS) == f"# Mine\r\n{BEGIN}\nnew\n{END} behind\r\ntail"


def test_a_long_part_crowds_out_no_short_one() -> None:
    texts = {name: f"# {title}\n\n- only line of {title}" for name, title in TARGETS.items()}
    first = next(name for name, title in TARGETS.items() if title == "Domain knowledge")
    texts[first] = "\n".join(f"- line {number} of a long list" for number in range(2000))
    made = assemble("# C\n\nprinciple", texts, 3000)
    assert made.size <= 3000
    assert 3000 - made.size < 40
    assert [cut.part for cut in made.cuts] == ["Domain knowledge"]
    assert all(f"only line of {title}" in made.text for name, title in TARGETS.items() if name != first)


def test_a_budget_smaller_than_the_constitution_cuts_all_else() -> None:
    made = assemble("word " * 300, {"persona.md": "- be brief"}, 500)
    assert made.text.count("word") == 300
    assert [cut.part for cut in made.cuts] == ["Persona"]


def test_an_end_mark_that_is_gone_costs_no_words_of_a_person() -> None:
    text = f"{evolvedfiles.BEGIN}\n- one <!-- evo-1 -->\n- two <!-- evo-2 -->\n\nMy own words.\n"
    assert evolvedfiles.render("persona.md", text, []).endswith("\n\nMy own words.\n")
    assert list(evolvedfiles.entries(text)) == ["evo-1", "evo-2"]


def test_a_place_where_nothing_can_be_written_says_what_to_do(mind: Mind, tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("mine")
    (tmp_path / "link.md").symlink_to(tmp_path / "real.md")
    wrong = {str(tmp_path / "no" / "C.md"): "make it", str(tmp_path / "link.md"): "real.md", "C.md": "absolute path"}
    for place, told in wrong.items():
        with pytest.raises(StoreError, match=told):
            claudemd.write(mind.layout, msgspec.structs.replace(mind.config, claude_md=place), mind.now)
    assert (tmp_path / "real.md").read_text() == "mine"


def test_what_could_not_be_read_is_not_counted_as_read(mind: Mind, session: SessionFile, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(session.person("Always say why.").path)
    done = mind.learn(session.path, tmp_path / "link.jsonl")
    assert done.summary.startswith("1 session read: 1 learnt; 1 not read")
    assert f"read {session.path} instead" in done.reports[1].problem
