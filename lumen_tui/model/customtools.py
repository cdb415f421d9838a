"""A tool of the operator's own: any program, with a schema for its arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from lumen_tui.model.toolrules import ToolRule


class CustomTool(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """custom-tools/<name>.toml. The program gets the arguments as one JSON object, its last argument."""

    name: str
    description: Annotated[str, Meta(min_length=1, max_length=2000)]
    command: Annotated[tuple[str, ...], Meta(min_length=1, max_length=50)]  # `./x` stands beside the file
    schema: dict[str, Any]  # JSON Schema of the arguments
    risk: Literal["low", "high"] = "high"  # high: [approvals] ask knows it as custom:high
    risk_text: str = ""  # told to the person who is asked
    writes: bool = False  # whether it changes something: then only roles with write = true may have it
    network: bool = False  # whether it needs the network: then only roles with network = true may have it
    timeout_seconds: Annotated[float, Meta(gt=0, le=7200)] = 120.0
    rules: tuple[ToolRule, ...] = field(default_factory=tuple)  # [[rules]] about this tool
