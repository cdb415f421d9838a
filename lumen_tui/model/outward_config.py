"""[backup], [traces] and [hosts]: what leaves the state folder, and who can read it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field


class TracesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[traces]: which collector of OpenTelemetry gets what `lumen-tui traces export` sends."""

    endpoint: str = ""  # of OTLP/HTTP; http for this machine alone
    headers: dict[str, Annotated[str, Meta(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:[^\0\n]+)$")]] = field(
        default_factory=dict
    )  # each by reference, as it may be a secret
    seconds: Annotated[float, Meta(ge=0.1, le=300)] = 10.0  # for one request


class BackupConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[backup]: who can read what `lumen-tui backup` writes."""

    recipients: tuple[str, ...] = ()  # public keys of age; none: it is not encrypted


class HostsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[hosts]: where other machines that do tasks join"""

    listen: str = "127.0.0.1:8786"  # ADDRESS:PORT
    lost_minutes: Annotated[float, Meta(ge=2, le=10_080)] = 5.0  # without word of a host its attempts are lost
