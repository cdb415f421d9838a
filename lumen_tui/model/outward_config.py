"""[backup] and [traces]: what leaves the state folder, and who can read it."""

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
