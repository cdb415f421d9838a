"""What is said where an optional package is missing."""

from __future__ import annotations


def missing(what: str, package: str | None, extra: str) -> str:
    """Return a sentence with the next step, for a program that came from a checkout or a wheel."""
    return (
        f"{what} needs the package {package}: install lumen-tui with its extra {extra}, "
        f'`uv tool install ".[{extra}]"` or `pip install ".[{extra}]"` in its checkout'
    )
