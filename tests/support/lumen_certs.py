"""HTTP clients without the machine's certificates: each client reads more than a hundred, and no test needs them."""

from __future__ import annotations

import ssl
from typing import Any

_load = ssl.SSLContext.load_verify_locations


def none_needed() -> None:
    """Let TLS contexts of this process and its forks load no certificates from files, which makes them cheap."""
    ssl.SSLContext.load_verify_locations = _given_alone  # type: ignore[method-assign,assignment]


def _given_alone(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
    """Load the certificates that are given as such, like those of our own authority."""
    if cadata:
        _load(context, cadata=cadata)
