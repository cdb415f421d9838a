"""Verbs that must start within milliseconds, without the parser; `lumen_tui.hot` calls them."""
