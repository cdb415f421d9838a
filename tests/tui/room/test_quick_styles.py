"""Style sheets that are taken apart quickly are what Textual makes of them, and so is what is wrong with them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from textual import widgets
from textual.css import tokenize
from textual.css.model import RuleSet, SelectorSet
from textual.css.parse import parse
from textual.css.tokenize import TCSSTokenizerState
from textual.css.tokenizer import TokenError
from textual.dom import DOMNode

from lumen_tui.tui import theme
from lumen_tui.tui.patches import quick_styles

_NOWHERE = ("", "")
_COLOURS = {
    **theme.variable_defaults(),
    **theme.themes()[0].to_color_system().generate(),
    **theme.themes()[0].variables,
}


def sheets(kind: type[DOMNode] = DOMNode) -> Iterator[str]:
    yield from [vars(kind)["DEFAULT_CSS"]] if vars(kind).get("DEFAULT_CSS") else []
    for each in kind.__subclasses__():
        yield from sheets(each)


def every_sheet() -> list[str]:
    for module in pkgutil.iter_modules(widgets.__path__):
        importlib.import_module(f"textual.widgets.{module.name}")
    return [*(open(path, encoding="utf-8").read() for path in theme.style_files()), *sorted(set(sheets()))]


def rules(sheet: str) -> list[tuple[list[SelectorSet], str]]:
    """The rules of a sheet, each with all that it says in words: a layout is not equal to another of its kind."""
    found = parse("", sheet, _NOWHERE, variable_tokens=tokenize.tokenize_values(_COLOURS))
    return [(rule.selector_set, repr(rule)) for rule in found]


def test_each_sheet_has_the_rules_that_textual_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    every = every_sheet()
    monkeypatch.setattr(TCSSTokenizerState, "__call__", quick_styles._theirs)
    theirs = [rules(sheet) for sheet in every]
    monkeypatch.setattr(TCSSTokenizerState, "__call__", quick_styles._tokens)
    assert [rules(sheet) for sheet in every] == theirs
    assert len(every) > 50
    assert all(quick_styles.quick_tokens(sheet, _NOWHERE) is not None for sheet in every)


@pytest.mark.parametrize("value", ["#fff 30%", "ansi_default", "round  $panel", "1fr auto", "rgba(1, 2, 3, 0.5)", ""])
def test_a_value_has_the_same_tokens(value: str) -> None:
    begin = tokenize.expect_declaration_content_solo
    theirs = list(quick_styles._theirs(tokenize.tokenize_value, value, _NOWHERE))
    assert quick_styles.quick_tokens(value, _NOWHERE, begin) == theirs


@pytest.mark.parametrize(
    "sheet",
    [
        "#a { color: red }", "#a { color: red; } /* never ends", "#a { color: red; ", "#a:hoover { color: red; }",
        "color: red;", "$mine: red;\n#a { color: $mine; }", "#a { colour: red; }", "#a { color: ?; }", "}", "a b",
        "# a line of words\n#a { /* x\n y */ color: red; # so\n}", "A { &:hover { color: red; } B > C { width: 1; } }",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_what_textual_says_of_it(sheet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome() -> object:
        try:
            return rules(sheet)
        except (TokenError, StopIteration, RuntimeError) as error:
            return type(error), str(error)

    monkeypatch.setattr(TCSSTokenizerState, "__call__", quick_styles._theirs)
    theirs = outcome()
    monkeypatch.setattr(TCSSTokenizerState, "__call__", quick_styles._tokens)
    assert outcome() == theirs


def test_a_rule_is_known_by_its_identity() -> None:
    quick_styles.install()
    one, other = RuleSet(), RuleSet()
    assert one == other
    assert (one in {one}, other in {one}) == (True, False)
