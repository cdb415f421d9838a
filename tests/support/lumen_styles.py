"""Style sheets parsed once per process: every application has the same ones of Textual and of the room."""

from __future__ import annotations

from typing import Any

from textual.css.stylesheet import Stylesheet

_parsed: dict[tuple[Any, ...], Any] = {}


def install() -> None:
    """Cache parsed style sheets by their variables, as Textual itself does within one application."""
    parse = Stylesheet._parse_rules

    def parsed_once(sheet: Stylesheet, css: str, read_from: Any, *args: Any, **kwargs: Any) -> Any:
        key = (css, read_from, args, *kwargs.items(), *sheet._variables.items())
        if key not in _parsed:
            _parsed[key] = parse(sheet, css, read_from, *args, **kwargs)
        return _parsed[key]

    Stylesheet._parse_rules = parsed_once  # type: ignore[method-assign,assignment]
