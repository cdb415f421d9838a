"""Clients without the machine's certificates: each of them reads the hundred and more anew, and no test speaks TLS."""

from __future__ import annotations

import ssl


def none_needed() -> None:
    """In this process, and in those that it forks, a context trusts nobody and is made at once."""
    ssl.SSLContext.load_verify_locations = _nothing  # type: ignore[method-assign]


def _nothing(*places: object) -> None:
    """No place is read."""
