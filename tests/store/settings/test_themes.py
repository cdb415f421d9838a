"""Colours of an operator's own: what a file may say, and each way in which it can be wrong, by name and line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lumen_tui.model.themes import DARK, PALE, contrast, no_colours, unreadable
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.themes import list_themes

NOW = 1_800_000_000.0


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "state")
    made.create()
    made.themes.mkdir()
    return made


def written(layout: Layout, text: str, name: str = "dusk") -> None:
    (layout.themes / f"{name}.toml").write_text(text)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#ffffff", "#777777") == contrast("#777777", "#ffffff")


@pytest.mark.parametrize("palette", [DARK, PALE], ids=["lumen", "lumen-light"])
def test_the_rooms_own_themes_can_be_read(palette: object) -> None:
    assert unreadable(palette) == no_colours(palette) == {}
    assert palette.dark == (palette is DARK)


def test_a_file_says_only_what_differs_from_its_base(layout: Layout) -> None:
    written(layout, 'accent = "#7fd4c1"\n')
    written(layout, 'base = "lumen-light"\ntext = "#000000"\n', "snow")
    (dusk, snow), problems = list_themes(layout)
    assert (dusk.name, dusk.palette.accent, dusk.palette.ground) == ("dusk", "#7fd4c1", DARK.ground)
    assert (snow.palette.text, snow.palette.ground, snow.palette.dark) == ("#000000", PALE.ground, False)
    assert problems == []


WRONG = {
    "bad TOML": ('accent = "#7fd4c1"\nbar = \n', ":2", "what follows the = is no value"),
    "unknown name": ('bar = "#101018"\nacent = "#fff000"\n', ":2", "there is no such setting; did you mean accent?"),
    "unknown base": ('base = "lumin"\n', ":1", 'base: "lumin" is unknown: one of lumen, lumen-light'),
    "no text": ("accent = 7\n", ":1", "accent: text in quotes is needed, not 7"),
    "no colour": ('bad = "red"\n', ":1", "bad: 'red' is no colour: write it as \"#rrggbb\""),
    "short colour": ('\n\nmuted = "#888"\n', ":3", "muted: '#888' is no colour"),
    "a sequence for the terminal": ('text = "\\u001b[31m"\n', ":1", "text: '\\x1b[31m' is no colour"),
    "unreadable": ('text = "#202020"\n', ":1", "text: too little contrast with panel (1.0 of 4.5): make it lighter"),
    "several": ('base = "lumen-light"\nground = "#777777"\n', ":1", "(and so "),
    "a link in it": ("[accent]\nof = 1\n", ":1", "accent: text in quotes is needed, not a table"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_named_with_its_line_and_what_to_do_and_the_others_hold(layout: Layout, name: str) -> None:
    text, line, complaint = WRONG[name]
    written(layout, text)
    written(layout, "", "plain")
    themes, (problem,) = list_themes(layout)
    assert [theme.name for theme in themes] == ["plain"]
    assert problem.where == f"themes/dusk.toml{line}"
    assert complaint in problem.what
    assert problem.hint.startswith("fix the file")


def test_names_that_no_setting_could_say_and_files_that_cannot_be_read_are_named(layout: Layout) -> None:
    for name in ("lumen", "ansi-dark", "Big Name"):
        written(layout, "", name)
    (layout.themes / "odd.toml").write_bytes(b'text = "\xff"\n')
    os.mkfifo(layout.themes / "pipe.toml")
    (layout.themes / "link.toml").symlink_to("/etc/passwd")
    (layout.themes / "folder.toml").mkdir()
    themes, problems = list_themes(layout)
    said = {problem.where: problem.what for problem in problems}
    assert themes == () and len(said) == 7
    assert "give the file another name" in said["themes/lumen.toml"]
    assert "is not usable" in said["themes/Big Name.toml"]
    assert said["themes/odd.toml:1"] == "the file is not UTF-8"


def test_a_snapshot_has_the_themes_as_the_files_are_now(layout: Layout) -> None:
    reader = SnapshotReader(layout.root)
    assert reader.snapshot(NOW).themes == ()
    before = reader.mark()
    written(layout, 'accent = "#7fd4c1"\n')
    assert [theme.name for theme in reader.snapshot(NOW).themes] == ["dusk"]
    assert reader.mark() != before
    written(layout, "accent\n")
    snapshot = reader.snapshot(NOW)
    assert snapshot.themes == ()
    assert [problem.where for problem in snapshot.problems] == ["themes/dusk.toml:1"]
    (layout.themes / "dusk.toml").unlink()
    assert reader.snapshot(NOW).problems == ()
    reader.close()
