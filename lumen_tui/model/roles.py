"""Role profiles: who a worker is, what it may use and how far it may go."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from lumen_tui.model.toolrules import ToolRule

READ_TOOLS = ("read_file", "list_dir", "find", "grep", "disk_usage")
WRITE_TOOLS = ("write_file", "edit_file", "apply_patch")
BACKGROUND_TOOLS = ("shell_start", "shell_output", "shell_stop")
BLOCK_TOOLS = ("block_append", "block_replace", "block_rethink")  # the main agent has them; others where named
MEMORY_TOOLS = ("memory_search", "recall", "remember", "read_signals")
RELAY_TOOLS = ("relay_read", "relay_submit")  # no shipped role has them; others where named
REPORT_TOOLS = ("write_result", "signal", "discover")
ALL_TOOLS = (
    *READ_TOOLS, "shell", *BACKGROUND_TOOLS, *WRITE_TOOLS, "web_fetch", *MEMORY_TOOLS, *BLOCK_TOOLS,
    *RELAY_TOOLS, *REPORT_TOOLS,
)  # fmt: skip


class Limits(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How far one task of the role may go."""

    timeout_seconds: Annotated[float, Meta(gt=0, le=604_800)] = 600.0
    stall_seconds: Annotated[float, Meta(ge=0, le=604_800)] = 120.0
    max_steps: Annotated[int, Meta(ge=1, le=100_000)] = 40
    max_output_bytes: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 1_000_000
    at_once: Annotated[int, Meta(ge=0, le=64)] = 0  # tasks of this role at the same time; 0: the engine's limit
    cpu_seconds: Annotated[int, Meta(ge=0, le=86_400)] = 0  # of one command; 0: as [sandbox] says
    memory_mb: Annotated[int, Meta(ge=0, le=1_048_576)] = 0
    processes: Annotated[int, Meta(ge=0, le=16_384)] = 0


class Role(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """roles/<name>.md: TOML front matter between `+++` lines, then the prompt."""

    name: str
    purpose: str
    tier: str = "haiku"
    tools: tuple[str, ...] = (*READ_TOOLS, *REPORT_TOOLS)
    shell: str = "none"  # none | read | any: which commands the shell tool may run
    write: bool = False  # may files outside the task folder be changed
    writable: tuple[str, ...] = ()  # folders it may change, besides those of [sandbox] writable
    network: bool = False
    hosts: tuple[str, ...] = ()  # where its web_fetch may go, besides those of [web] hosts
    custom_tools: tuple[str, ...] = ()  # of custom-tools/<name>.toml
    rules: tuple[ToolRule, ...] = ()  # [[rules]]
    limits: Limits = field(default_factory=Limits)
    prompt: str = ""
    source: str = "shipped"  # shipped | hired
    until: str = ""  # when a temporary hire ends, as 2026-03-08T12:00:00Z; empty: it stays
    schema: int = 1


class PersonnelEntry(Struct, frozen=True, omit_defaults=True):
    """One line of personnel.jsonl: who was hired, fired or adjusted, by whom and why."""

    at: str
    verb: str  # hire | fire | adjust
    role: str
    by: str
    reason: str = ""
    summary: str = ""
    key: str = ""  # idempotency key of a hire
    schema: int = 1
