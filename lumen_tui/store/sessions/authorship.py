"""Who wrote the text of a session's line: a person at the keyboard, or a program, a tool, another agent."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from lumen_tui.model.patterns import lazy_re

ADDED = lazy_re(
    r"""
    <(system-reminder | context | material | (?:data|order)(?=\s+from=) | ide_\w+ | command-\w+
      | local-command-\w+ | bash-\w+ | task-notification | user-prompt-submit-hook | persisted-output)\b[^>]*>
    .*?
    (?:</\1[^>]*> | \Z)
    """,
    re.DOTALL | re.VERBOSE,
)
# A block of the program's own beside what was typed.
_BESIDE = lazy_re(r"\s*<(?P<tag>ide_\w+|system-reminder)\b[^>]*>.*</(?P=tag)>\s*", re.S)
# The front ends with a person before them.
PERSONS_PROGRAMS = frozenset({"", "cli", "claude-vscode", "claude-desktop", "claude-jetbrains"})
_TYPED = frozenset({"", "typed", "queued", "sdk"})  # sdk: an editor; what `promptSource` says of a person's words
NO_PERSON = lazy_re(
    r"\s*(?:Caveat: The messages below|This session is being continued|\[Request interrupted|\[Image: "
    r"|Stop hook feedback|Base directory for this skill|Implement the following plan:|API Error|Another Claude session)"
)


class SessionLine(Struct):
    """One line as it was written; every field may be of another type."""

    type: str = ""
    message: object = None
    uuid: object = ""
    timestamp: object = ""
    cwd: object = ""
    session: object = msgspec.field(default="", name="sessionId")
    version: object = ""
    side: object = msgspec.field(default=False, name="isSidechain")
    meta: object = msgspec.field(default=False, name="isMeta")
    compact: object = msgspec.field(default=False, name="isCompactSummary")
    only_shown: object = msgspec.field(default=False, name="isVisibleInTranscriptOnly")
    entry: object = msgspec.field(default="", name="entrypoint")
    result: object = msgspec.field(default=None, name="toolUseResult")
    origin: object = None
    source: object = msgspec.field(default="", name="promptSource")
    agent: object = msgspec.field(default="", name="agentId")
    made_by: object = msgspec.field(default="", name="sourceToolUseID")
    plan: object = msgspec.field(default="", name="planContent")


def typed_block(
    record: SessionLine, blocks: list[dict[str, object]], *, by_operator: bool = False
) -> dict[str, object] | None:
    """Return the block that a person may have typed: the only text of the line but for the program's own blocks.

    `by_operator`: our own program marked it as the operator's.
    """
    generated = record.result is not None or record.made_by or record.plan
    role = record.message.get("role", "user") if isinstance(record.message, dict) else ""
    kind = record.origin.get("kind") if isinstance(record.origin, dict) else record.origin
    is_typed = by_operator or text_of(record.source) in _TYPED
    if generated or role != "user" or kind not in (None, "human") or not is_typed:
        return None
    if any(block.get("type") not in ("text", "image", "document") for block in blocks):
        return None
    texts = [
        block for block in blocks if not _BESIDE.fullmatch(text_of(block.get("text"))) and block.get("type") == "text"
    ]
    return texts[0] if len(texts) == 1 else None


def text_of(value: object) -> str:
    """Return a text; the empty one for anything else."""
    return value if isinstance(value, str) else ""
