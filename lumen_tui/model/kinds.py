"""The constants and rules of the memory records, for whatever must start without loading the records themselves.

Among them the words of a progress signal that is due, which hooks say at the time and the room later.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PRIORITIES = ("P0", "P1", "P2", "P3")
NODE_TYPES = ("session", "discovery", "checkpoint", "note", "summary")
LIFECYCLES = ("ephemeral", "session", "wu", "project")
LIFECYCLE_BY_TYPE = {
    "session": "wu",
    "discovery": "wu",
    "checkpoint": "session",
    "note": "session",
    "summary": "project",
}
DISCOVERY_ALIASES = ("bug", "idea", "question", "dependency")
CHECKPOINT_MARK = "Checkpoint: "  # how the content of a checkpoint begins
WORK_UNIT_TYPES = ("task", "bug", "idea", "question", "dependency", "feature")
COMPLETION = "wu_completion"  # the type of the signal that `wu done` broadcasts, which is no progress signal
RELATION_TYPES = ("discovered_from", "blocks", "parent_child", "related")


def priority_rank(priority: str) -> int:
    """Return the sort key of a priority: P0 first, no priority last."""
    return PRIORITIES.index(priority) if priority in PRIORITIES else len(PRIORITIES)


def is_decided(tags: object, content: object, answer: object) -> bool:
    """Return whether a note with the tag `decision` says what was decided: by its answer, or in its own words.

    `Decision: use Zod` is one; a question is open until it is answered, and so is what has the tag `pending`.
    """
    if answer:
        return True
    words = content.lstrip().lower() if isinstance(content, str) else ""
    is_open = isinstance(tags, (list, tuple)) and "pending" in tags
    return words.startswith(("decision:", "decided:")) and not is_open


def discovery_kind(tags: Iterable[str]) -> str:
    """Return what sort of discovery these tags make of it: `bug`, `idea` ..., empty where they say nothing of it."""
    return next((tag for tag in tags if tag in DISCOVERY_ALIASES), "")


UNSIGNALLED_TESTS = "tests passed and nobody was told"
UNSIGNALLED_MILESTONE = "a step was completed and nobody was told"
UNSIGNALLED_BLOCKED = "is blocked and nobody was told"
UNSIGNALLED_DONE = "was finished without a progress signal"


def calls_unsignalled(count: int, every: int) -> str:
    return f"{count} tool calls without a progress signal (one is due every {every})"


def signal_command(wu_id: str) -> str:
    """Return the command that sends the one that is due."""
    return f'lumen-tui signal "TEXT" --wu {wu_id}'
