"""Style sheets parsed once per process: every application brings the same ones of Textual and of the room."""

from __future__ import annotations

from typing import Any

from textual.css.stylesheet import Stylesheet

_parsed: dict[tuple[Any, ...], Any] = {}


def install() -> None:
    """What was parsed with the same variables is taken again, as Textual itself does within one application."""
    parse = Stylesheet._parse_rules

    def parsed_once(sheet: Stylesheet, css: str, read_from: Any, *more: Any, **named: Any) -> Any:
        key = (css, read_from, more, *named.items(), *sheet._variables.items())
        if key not in _parsed:
            _parsed[key] = parse(sheet, css, read_from, *more, **named)
        return _parsed[key]

    Stylesheet._parse_rules = parsed_once  # type: ignore[method-assign]
