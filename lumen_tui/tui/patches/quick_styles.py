"""Style sheets are taken apart in one pass, without the white space that means nothing, and rules are found quickly.

Textual calls several functions for each of the 5,000 tokens that the first screens are made of, and for the hash of a
rule some 20,000 times. What is not plain is left to Textual, which says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from textual.css import tokenize
from textual.css.constants import VALID_PSEUDO_CLASSES
from textual.css.model import RuleSet
from textual.css.tokenize import TCSSTokenizerState, ValueTokenizerState
from textual.css.tokenizer import Expect, Token
from textual.css.types import CSSLocation

_NEXT = TCSSTokenizerState.STATE_MAP  # what is expected behind a token
_ROOT, _SELECTORS, _BODY = tokenize.expect_root_scope, tokenize.expect_selector_continue, tokenize.expect_declaration
_BEGINS = {TCSSTokenizerState: _ROOT, ValueTokenizerState: tokenize.expect_declaration_content_solo}
_theirs = TCSSTokenizerState.__call__


@cache
def _matcher(expected: Expect) -> Callable[[str, int], re.Match[str] | None]:
    """Return what matches one of the tokens that are expected; its last group has the token's name."""
    return re.compile("|".join(map("(?P<{}>{})".format, expected.names, expected.regexes))).match


def quick_tokens(code: str, read_from: CSSLocation, begin: Expect = _ROOT) -> list[Token] | None:
    """Return the tokens of a style sheet, of selectors or of a value; None where Textual is to look at it.

    White space in the declarations of a sheet is left out, and so are their ends: the parser passes over them.
    """
    tokens: list[Token] = []
    expected, depth, in_comment, all_space = begin, 0, False, begin is not _ROOT
    for number, line in enumerate(code.splitlines(keepends=True)):
        place, end = 0, len(line)
        while place < end:
            if in_comment:
                stop = line.find("*/", place)
                in_comment = stop < 0
                place = end if in_comment else stop + 2
                continue
            found = _matcher(expected)(line, place)
            if found is None:
                return None
            name, value, column = found.lastgroup or "", found[0], place
            place = found.end()
            if name == "variable_name" or (name == "pseudo_class" and value[1:] not in VALID_PSEUDO_CLASSES):
                return None
            if name == "comment_start":
                in_comment = True
            elif name != "comment_line" and (name != "whitespace" or all_space or expected is _SELECTORS):
                if name != "declaration_end":
                    tokens.append(tuple.__new__(Token, (name, value, read_from, code, (number, column), None)))
                depth += (name == "declaration_set_start") - (name == "declaration_set_end")
                expected = _NEXT.get(name, expected)
                if name == "declaration_set_end":
                    expected = _BODY if depth else _ROOT
    return None if in_comment or not expected._expect_eof else tokens


def _tokens(self: TCSSTokenizerState, code: str, read_from: CSSLocation) -> Iterable[Token]:
    begin = _BEGINS.get(type(self))
    tokens = quick_tokens(code, read_from, begin) if begin else None
    return _theirs(self, code, read_from) if tokens is None else tokens


def install() -> None:
    """Take style sheets apart in that way from here on, and know rules by their identity without a call."""
    TCSSTokenizerState.__call__ = _tokens  # type: ignore[method-assign]
    RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]
