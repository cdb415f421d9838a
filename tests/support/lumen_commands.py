"""The parser of all commands, built once for all tests that go through them."""

from __future__ import annotations

from functools import cache

from lumen_tui.cli.parser import Parser, build_parser


@cache
def all_commands() -> Parser:
    """Return it; nobody changes it."""
    return build_parser()
