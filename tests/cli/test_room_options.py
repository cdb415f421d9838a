"""The options of a room in plain words are what argparse makes of them; all others are left to it."""

from __future__ import annotations

import pytest

from lumen_tui.launch import _parser, _room_options


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--state /a/b",
        "--state a --state b",
        "--operator ann --lean --read-only",
        "--accessible --state x --demo",
        "--state x --operator ann --operator bob",
    ],
)
def test_plain_words_are_what_argparse_makes_of_them(line: str) -> None:
    plain, parsed = _room_options(line.split()), vars(_parser().parse_args(line.split()))
    assert plain is not None
    assert vars(plain) == {name: parsed[name] for name in vars(plain)}
    assert not any(parsed[name] for name in ("engine_only", "once", "beats", "version"))


@pytest.mark.parametrize(
    "line",
    ["--state=x", "--state", "--operator", "--state --lean", "--operator -x", "--version", "--engine-only", "-h"],
)
def test_all_other_words_are_left_to_argparse(line: str) -> None:
    assert _room_options(line.split()) is None
