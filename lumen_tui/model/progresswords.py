"""What is said of a progress signal that is due, at the time and later: light, for hooks."""

from __future__ import annotations

TESTS = "tests passed and nobody was told"
MILESTONE = "a step was completed and nobody was told"
BLOCKED = "is blocked and nobody was told"
DONE = "was finished without a progress signal"


def calls(count: int, every: int) -> str:
    return f"{count} tool calls without a progress signal (one is due every {every})"


def what_to_do(wu_id: str) -> str:
    """Return the command that sends the one that is due."""
    return f'lumen-tui signal "TEXT" --wu {wu_id}'
