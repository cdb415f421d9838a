"""CLAUDE.md: a person's words around our section stay, no part crowds out another, and a bad place says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from evolution_folder import Mind, SessionFile
from lumen_rows import each_row

from lumen_tui.model import evolvedfiles
from lumen_tui.model.evolution import TARGETS, Observation, ObservationKind, ObservationStatus, Source, Trust
from lumen_tui.model.evolvedfiles import SECTION_BEGIN, SECTION_END, assemble, placed
from lumen_tui.model.times import iso
from lumen_tui.storage.files import StoreError
from lumen_tui.store.evolution import evolved, writing

OURS = f"{SECTION_BEGIN}\nnew\n{SECTION_END}\n"


@each_row(
    "text",
    [
        "", "mine", "mine\r\n\n\n", f"a begin that lost its end {SECTION_BEGIN} and my words",
        f"{SECTION_BEGIN}\nmy words, no end\n", f"{SECTION_END} x {SECTION_BEGIN} y",
        f"`{SECTION_BEGIN}` and `{SECTION_END}` are the marks.\nkeep me\n",
    ],
)  # fmt: skip
def test_what_is_not_ours_is_never_taken_away(text: str) -> None:
    once = placed(text, OURS)
    assert once.startswith(text)
    assert placed(once, OURS) == once
    assert placed(once, OURS.replace("new", "newer")).startswith(text)


def test_only_what_stands_between_the_marks_is_written() -> None:
    text = f"# Mine\r\n{SECTION_BEGIN}\r\nold\r\n{SECTION_END} behind\r\ntail"
    assert placed(text, OURS) == f"# Mine\r\n{SECTION_BEGIN}\nnew\n{SECTION_END} behind\r\ntail"


def test_a_long_part_crowds_out_no_short_one() -> None:
    texts = {name: f"# {title}\n\n- only line of {title}" for name, title in TARGETS.items()}
    first = next(name for name, title in TARGETS.items() if title == "Domain knowledge")
    texts[first] = "\n".join(f"- line {number} of a long list" for number in range(2000))
    made = assemble("# C\n\nprinciple", texts, 3000)
    assert made.size <= 3000
    assert 3000 - made.size < 40
    assert [cut.part for cut in made.cuts] == ["Domain knowledge"]
    assert all(f"only line of {title}" in made.text for name, title in TARGETS.items() if name != first)


def learnt(*numbers: int, own: str = "") -> dict[str, str]:
    lines = "".join(f"- lesson number {number:03d} <!-- evo-{number} -->\n" for number in numbers)
    return {"persona.md": f"# Persona\n\n{own}{evolvedfiles.BEGIN}\n{lines}{evolvedfiles.END}\n"}


def numbers_in(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"lesson number (\d+)", text)]


def test_what_is_doubted_least_sure_and_oldest_is_cut_first() -> None:
    worth = {"evo-1": (True, 0.9, 1.0), "evo-2": (True, 0.5, 9.0), "evo-3": (False, 0.99, 9.0),
             "evo-4": (True, 0.5, 2.0), "evo-5": (True, 0.9, 5.0)}  # fmt: skip
    left = []
    for budget in range(330, 140, -1):
        made = assemble("", learnt(1, 2, 3, 4, 5), budget, worth.__getitem__)
        assert made.size <= budget or not numbers_in(made.text)
        if (found := numbers_in(made.text)) not in left:
            left.append(found)
        assert sum(cut.lines for cut in made.cuts) == 5 - len(found)
        assert all(cut.own == 0 for cut in made.cuts)
    assert left == [[1, 2, 3, 4, 5], [1, 2, 4, 5], [1, 2, 5], [1, 5], [5], []]


def test_a_persons_words_stay_before_all_that_was_learnt() -> None:
    mine = "".join(f"My word {number}.\n" for number in range(5))
    whole = assemble("", learnt(1, 2, own=mine), 10_000)
    less = assemble("", learnt(1, 2, own=mine), whole.size - 20)
    assert less.text.count("My word") == 5 and less.text.count("lesson") == 1 and less.cuts[0].own == 0
    least = assemble("", learnt(1, 2, own=mine), whole.size - 80)
    assert "My word 0." in least.text and "lesson" not in least.text
    assert (least.cuts[0].lines, least.cuts[0].own) == (
        2 + 5 - least.text.count("My word"),
        5 - least.text.count("My word"),
    )
    assert 0 < least.cuts[0].own < 5


def test_the_surest_and_newest_stay_in_the_file_itself(mind: Mind) -> None:
    made = [
        Observation(
            f"evo-{number}",
            iso(mind.now - number * 86_400),
            ObservationKind.RULE,
            f"Rule {number} " + "word " * 20,
            "persona.md",
            "q",
            (Source("s", 1),),
            Trust.PERSON,
            confidence=0.5 if number % 2 else 0.9,
            status=ObservationStatus.ACCEPTED,
        )
        for number in range(1, 41)
    ]
    evolved.add(mind.layout, made)
    path = evolved.path_of(mind.layout, "persona.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(evolvedfiles.render("persona.md", "", made))
    text = writing.claude_md_section(mind.layout, msgspec.structs.replace(mind.config, claude_md_kb=4), mind.now)
    kept = [int(found) for found in re.findall(r"Rule (\d+) ", text.text)]
    unsure = [number for number in kept if number % 2]
    assert [number for number in kept if not number % 2] == list(range(2, 41, 2))
    assert 0 < len(unsure) < 20 and unsure == list(range(1, 2 * len(unsure), 2))
    assert text.cuts[0].lines == 40 - len(kept)


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
            writing.write_claude_md(mind.layout, msgspec.structs.replace(mind.config, claude_md=place), mind.now)
    assert (tmp_path / "real.md").read_text() == "mine"


def test_what_could_not_be_read_is_not_counted_as_read(mind: Mind, session: SessionFile, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(session.person("Always say why.").path)
    done = mind.learn(session.path, tmp_path / "link.jsonl")
    assert done.summary.startswith("1 session read: 1 learnt; 1 not read")
    assert f"read {session.path} instead" in done.reports[1].problem
