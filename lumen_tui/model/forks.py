"""A fork of a task beside the task: how both ended, and what each took."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from lumen_tui.model.budget import dollars
from lumen_tui.model.tasks import Exit
from lumen_tui.model.text import one_line
from lumen_tui.model.times import span


class EndOfTask(Struct, frozen=True):
    """How one of the two ended. Tokens, dollars and seconds are of the whole task, with the steps that both share."""

    role: str
    ended: Exit
    calls: int
    files: tuple[str, ...] = ()  # that it changed
    result: str = ""

    @property
    def outcome(self) -> str:
        """The word of its end, and what its checks showed."""
        accepted = self.ended.acceptance
        return f"{self.ended.status} ({accepted.verdict})" if accepted is not None else self.ended.status


class ForkReport(Struct, frozen=True):
    """What `fork` found: the task, after which call the fork goes on, and both ends."""

    task_id: str
    at: int
    original: EndOfTask
    fork: EndOfTask
    folder: str  # in which the fork's task is, until another trial begins
    schema: int = 1


def rows(report: ForkReport) -> Iterator[tuple[str, str, str]]:
    """Yield the comparison: what is compared, the original, the fork."""
    one, other = report.original, report.fork
    yield "", "as it was", f"from step {report.at}"
    yield "role", one.role, other.role
    yield "model", one_line(one.ended.brain, 60), one_line(other.ended.brain, 60)
    yield "outcome", one.outcome, other.outcome
    yield "calls", f"{one.calls:,}", f"{other.calls:,}"
    yield "tokens", f"{one.ended.usage.tokens:,}", f"{other.ended.usage.tokens:,}"
    yield "cost", dollars(one.ended.usage.usd), dollars(other.ended.usage.usd)
    yield "time", span(one.ended.seconds), span(other.ended.seconds)
    yield "changed", _files(one), _files(other)
    if one.ended.reason or other.ended.reason:
        yield "because", one_line(one.ended.reason, 120), one_line(other.ended.reason, 120)
    yield "result", _beginning(one), _beginning(other)


def _files(end: EndOfTask) -> str:
    return one_line(", ".join(end.files), 120) or "nothing"


def _beginning(end: EndOfTask) -> str:
    return one_line(end.result, 120) or "none"
