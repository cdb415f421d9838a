"""What the request behind a cut of a conversation holds, part by part, as the server counts tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from lumen_apiserver import Request
from lumen_apiserver.request import tokens

from benchmarks.agent.bill import Call

_INDENT = " " * 14
_CUT = 0.9  # of the request before it: what is less was cut


def after_cuts(requests: Sequence[Request], calls: Sequence[Call]) -> list[str]:
    """Return two lines for each request of a task that is smaller than the one before; `calls` are what each cost."""
    steps = [(request, call) for request, call in zip(requests, calls, strict=True) if request.tool_names]
    return [
        line
        for (before, _), (after, call) in pairwise(steps)
        if _is_cut(before, after)
        for line in _lines(before, after, call)
    ]


def _is_cut(before: Request, after: Request) -> bool:
    same = before.first_text.split("\n")[0] == after.first_text.split("\n")[0]
    return same and bool(after.called) and after.tokens() < _CUT * before.tokens()


def _lines(before: Request, after: Request, call: Call) -> Iterator[str]:
    yield (
        f"{_INDENT} after a cut {after.tokens():,} tokens instead of {before.tokens():,}: {call.read:,} read from the "
        f"cache, {call.written:,} written to it, ${call.usd:.4f}"
    )
    yield f"{_INDENT} {', '.join(f'{name} {count:,}' for name, count in _parts(after) if count)}"


def _parts(request: Request) -> Iterator[tuple[str, int]]:
    """Yield the parts of a request with their tokens."""
    yield "tools", tokens(request.body.get("tools"))
    yield "system", tokens(request.body.get("system"))
    first, *others = request.messages
    opening, *said = [block for block in first["content"] if isinstance(block, dict)]
    summaries = [block for block in said if block.get("text", "").startswith("## Earlier steps")]
    yield "first message", tokens(opening)
    yield "operator's words beside it", sum(tokens(block) for block in said if block not in summaries)
    yield "summary", tokens(summaries)
    yield f"{len(request.called)} steps", tokens(others)
