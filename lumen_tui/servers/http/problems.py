"""What is answered where something was not carried out: problem documents of RFC 9457."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from lumen_tui.servers.catalogue import Fault, OperationError

STATUS: Mapping[Fault, int] = {
    Fault.UNKNOWN: 404,
    Fault.DENIED: 403,
    Fault.INVALID: 422,
    Fault.MISSING: 404,
    Fault.REFUSED: 409,
    Fault.BUSY: 429,
    Fault.FAILED: 503,
}
# What HTTP adds to the faults of operations: name -> status.
UNAUTHORIZED, FOREIGN, METHOD, TOO_LONG, TOO_SLOW, INTERNAL = (
    ("unauthorized", 401),
    ("foreign", 403),
    ("method", 405),
    ("too-long", 413),
    ("too-slow", 408),
    ("internal", 500),
)
KINDS = (*(str(fault) for fault in Fault), "unauthorized", "foreign", "method", "too-long", "too-slow", "internal")
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}  # of every answer: none is for a page
_URN = "urn:lumen-tui:"


class HttpProblem(Exception):
    """A request that is not answered as it asks; the text says why and what to do next. It never holds a token."""

    def __init__(self, kind: tuple[str, int], detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.name, self.status = kind
        self.headers = headers or {}

    @classmethod
    def unauthorized(cls, detail: str) -> HttpProblem:
        """Return what is answered to a request without a token, or with one that is not valid."""
        return cls(UNAUTHORIZED, detail, {"www-authenticate": "Bearer", "connection": "close"})


def answer(problem: HttpProblem | OperationError) -> Response:
    """Return the problem document of a refusal."""
    if isinstance(problem, HttpProblem):
        return _document(problem.name, problem.status, str(problem), (), problem.headers)
    retry = {"retry-after": str(math.ceil(problem.retry_after))} if problem.retry_after else {}
    return _document(str(problem.fault), STATUS[problem.fault], str(problem), problem.candidates, retry)


def _document(name: str, status: int, detail: str, candidates: tuple[str, ...], headers: Mapping[str, str]) -> Response:
    body = {"type": f"{_URN}{name}", "title": name, "status": status, "detail": detail}
    data = msgspec.json.encode({**body, **({"candidates": candidates} if candidates else {})})
    return Response(data, status, media_type="application/problem+json", headers={**HEADERS, **headers})
