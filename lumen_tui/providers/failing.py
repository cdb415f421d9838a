"""What can go wrong with a model call: plain sentences, and whether trying again or elsewhere can help."""

from __future__ import annotations

import email.utils
import json
from typing import Any

from lumen_tui.model.text import one_line
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.endpoints import Target
from lumen_tui.providers.history import Counts
from lumen_tui.providers.overlong import is_overlong

_STATUS_OF = {
    "invalid_request_error": 400, "authentication_error": 401, "permission_error": 403, "not_found_error": 404,
    "request_too_large": 413, "rate_limit_error": 429, "rate_limit_exceeded": 429, "api_error": 500,
    "server_error": 500, "overloaded_error": 529, "timeout_error": 504,
}  # fmt: skip
_NOT_REACHED = {
    "ConnectError",
    "ConnectTimeout",
    "UnsupportedProtocol",
    "LocalProtocolError",
    "PoolTimeout",
    "ProxyError",
}
_AGAIN = (408, 409, 425, 429)  # and everything from 500
_IN_VAIN = " and waiting did not help"
_LATER = "try again later"
_QUOTA = ("insufficient_quota", "billing_error", "credit balance")


class Failure(ProviderError):
    """A call that gave no answer. `again` and `elsewhere` say what can help, `after` (seconds) what the server asks."""

    def __init__(
        self, text: str, *, again: bool = False, elsewhere: bool = False, overlong: bool = False,
        after: float | None = None, counts: Counts | None = None,
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.again, self.elsewhere, self.overlong, self.after = again, elsewhere, overlong, after
        self.counts = counts or Counts()  # what is known of its cost

    @property
    def brief(self) -> str:
        """What happened, without what to do about it: the waiting is being done."""
        return str(self).partition(": ")[0].replace(_IN_VAIN, "")


def failure(error: BaseException, target: Target, counts: Counts, now: float, guess: int = 0) -> Failure:
    """An SDK's error in our words. `counts` is what the call has cost for all that is known.

    A server that was reached and then fell silent has read the prompt for all we know: `guess` tokens.
    """
    if isinstance(error, Failure):
        error.counts = counts
        return error
    status, detail = _status(error), _detail(error)
    if status:
        return _of_status(status, detail, error, target, counts, now)
    names = {kind.__name__ for kind in type(error).__mro__}
    server = f"the model's server {_place(target)}"
    reached = not _causes(error) & _NOT_REACHED
    counts = counts if counts.prompt or not reached else Counts(fresh=guess)
    if any("Timeout" in name for name in names) and reached:
        return _passing(f"{server} was silent for too long: {_LATER} or give it more time under [models]", counts)
    if names & {"APIConnectionError", "TransportError"} and reached:
        return _passing(f"{server} cut the connection in the middle of its answer: {_LATER}", counts)
    if names & {"APIConnectionError", "TransportError"}:
        look = "ANTHROPIC_BASE_URL" if target.endpoint.name == "anthropic" else "base_url of the endpoint in lumen.toml"
        return _passing(f"{server} cannot be reached ({detail}): look at the network and {look}", counts)
    said = f"{server} sent no usable answer ({type(error).__name__}: {detail})"
    return _passing(f"{said}: look at the endpoint's base_url and kind, or try again later", counts)


def rubbish(target: Target, why: str) -> Failure:
    """An answer that makes no sense."""
    return _passing(f"the model's server {_place(target)} sent no usable answer ({why}): try again later", Counts())


def _passing(text: str, counts: Counts) -> Failure:
    return Failure(text, again=True, elsewhere=True, counts=counts)


def _place(target: Target) -> str:
    url = target.endpoint.base_url
    return f"({target.endpoint.name}, {url})" if url else f"({target.endpoint.name})"


def _causes(error: BaseException | None) -> set[str]:
    """The names of an error and of what it came from."""
    found: set[str] = set()
    while error is not None and len(found) < 100:
        found |= {kind.__name__ for kind in type(error).__mro__}
        error = error.__cause__
    return found


def _status(error: BaseException) -> int:
    """The HTTP status; for an error inside a stream that of its type."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return status
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return 0
    code = inner.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return _STATUS_OF.get(str(inner.get("type")), 0) or _STATUS_OF.get(str(code), 500)


def _detail(error: BaseException) -> str:
    """The server's own words on one line."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    words = inner.get("message") if isinstance(inner, dict) else None
    return one_line(str(words or getattr(error, "message", "") or error), 300)


def _of_status(
    status: int, detail: str, error: BaseException, target: Target, counts: Counts, now: float
) -> Failure:  # fmt: skip
    headers = getattr(getattr(error, "response", None), "headers", {})
    told = str(headers.get("x-should-retry", "")).lower()
    low = f"{detail} {_code(error)}".lower()
    if status == 413 or (status == 400 and is_overlong(f"{detail} {_name(error)}")):
        too = (
            "the request is too large for the server" if status == 413 else "the conversation is too long for the model"
        )
        return Failure(f"{too} ({status}): give a narrower objective or less context", overlong=True, counts=counts)
    quota = any(word in low for word in _QUOTA)
    passing = status in _AGAIN or status >= 500
    return Failure(
        _sentence(status, detail, target, quota), again=passing and not quota and told != "false",
        elsewhere=passing, after=retry_after(headers, now), counts=counts,
    )  # fmt: skip


def _name(error: BaseException) -> str:
    """The server's own name for the error: its code and type, and none of the words around them."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    return f"{inner.get('code')} {inner.get('type')}" if isinstance(inner, dict) else ""


def _code(error: BaseException) -> str:
    body = getattr(error, "body", None)
    return json.dumps(body, default=str)[:2000] if isinstance(body, dict) else ""


def _sentence(status: int, detail: str, target: Target, quota: bool) -> str:
    key = target.endpoint.key_env or "its key"
    if quota:
        return f"the account of {key} has no credit left ({status}): add some, or set another model under [models]"
    said = {
        401: f"the key in {key} was refused (401): set a valid one",
        402: f"the account of {key} has no credit left (402): add some, or set another model under [models]",
        403: f"the key in {key} may not do this (403): {detail}",
        404: f"the model {target.model!r} is not known at {target.endpoint.name} (404): set its id under [models] in "
        f"lumen.toml ({detail})",
        429: f"the rate limit was reached{_IN_VAIN} (429): try again later ({detail})",
        529: "the model's servers are overloaded (529): try again later",
    }.get(status)
    if said:
        return said
    if status >= 500:
        return f"the model's server failed ({status}): try again later"
    return f"the request was refused ({status}): {detail}"


def retry_after(headers: Any, now: float) -> float | None:
    """The seconds that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    try:
        if found := headers.get("retry-after-ms"):
            return max(0.0, float(found) / 1000)
        found = headers.get("retry-after")
        if not found:
            return None
        if date := email.utils.parsedate_to_datetime(found) if not _is_number(found) else None:
            return max(0.0, date.timestamp() - now)
        return max(0.0, float(found))
    except (ValueError, TypeError, OverflowError):
        return None


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
