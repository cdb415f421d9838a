"""HTTP clients without the machine's certificates: each client reads more than a hundred, and no test uses TLS."""

from __future__ import annotations

import ssl


def none_needed() -> None:
    """Let TLS contexts of this process and its forks load no certificates, which makes them cheap."""
    ssl.SSLContext.load_verify_locations = _nothing  # type: ignore[method-assign,assignment]


def _nothing(*places: object) -> None:
    """Load no certificates."""
