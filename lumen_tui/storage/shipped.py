"""Where the files that come with the program are: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache  # a room asks at every look
def shipped(name: str) -> Path:
    """The folder or file of that name: `roles`, `styles`, `state/lumen.toml`.

    Found from this module's own place: `importlib.resources` would cost every start 3 ms, and we never run from a zip.
    """
    package = Path(__file__).resolve().parents[1]
    inside = package / "shipped" / name
    return inside if inside.exists() else package.parent / name
