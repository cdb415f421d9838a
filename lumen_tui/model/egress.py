"""What is on record of a connection that a command made through the proxy of its task, and how far it may go."""

from __future__ import annotations

from msgspec import Struct

ALLOWED, REFUSED, FAILED = "allowed", "refused", "failed"  # verdicts


class Connection(Struct, frozen=True, omit_defaults=True):
    """One line of tasks/<id>/network.jsonl."""

    at: str
    verdict: str  # allowed | refused | failed: it was allowed, and could not be made or kept
    host: str = ""  # as it was asked for, safe
    port: int = 0
    method: str = ""
    why: str = ""
    address: str = ""  # with which it was connected
    sent: int = 0  # bytes to the host
    received: int = 0
    seconds: float = 0.0
    schema: int = 1


class ProxyLimits(Struct, frozen=True):
    """How far all connections of one task may go."""

    connections: int = 2_000
    at_once: int = 32
    sent: int = 64 * 1024 * 1024  # bytes, all together
    received: int = 2 * 1024 * 1024 * 1024
    head_seconds: float = 10.0  # until a request is whole, and until TLS has named its host
    idle_seconds: float = 60.0  # without a byte in either direction
    seconds: float = 1_800.0  # of one connection
