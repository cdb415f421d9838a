"""Role profiles: who a worker is, what it may use and how far it may go."""

from __future__ import annotations

from msgspec import Struct, field

READ_TOOLS = ("read_file", "list_dir", "find", "grep", "disk_usage")
REPORT_TOOLS = ("write_result", "signal", "discover")
ALL_TOOLS = (*READ_TOOLS, "shell", *REPORT_TOOLS)


class Limits(Struct, frozen=True, omit_defaults=True):
    """How far one task of the role may go."""

    timeout_seconds: float = 600.0
    stall_seconds: float = 120.0
    max_steps: int = 40
    max_output_bytes: int = 1_000_000
    at_once: int = 0  # tasks of this role at the same time; 0: the engine's limit


class Role(Struct, frozen=True, omit_defaults=True):
    """roles/<name>.md: TOML front matter between `+++` lines, then the prompt."""

    name: str
    purpose: str
    tier: str = "haiku"
    tools: tuple[str, ...] = (*READ_TOOLS, *REPORT_TOOLS)
    shell: str = "none"  # none | read | any: which commands the shell tool may run
    write: bool = False  # may files outside the task folder be changed
    network: bool = False
    limits: Limits = field(default_factory=Limits)
    prompt: str = ""
    source: str = "shipped"  # shipped | hired
    schema: int = 1


class PersonnelEntry(Struct, frozen=True, omit_defaults=True):
    """One line of personnel.jsonl: who was hired, fired or adjusted, by whom and why."""

    at: str
    verb: str  # hire | fire | adjust
    role: str
    by: str
    reason: str = ""
    summary: str = ""
    schema: int = 1
