"""What can go wrong with a model call: plain sentences, and whether trying again or elsewhere can help."""

from __future__ import annotations

import email.utils
import json
import math
from typing import Any

from lumen_tui.model.text import one_line
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.conversation.context_overflow import is_context_overflow
from lumen_tui.providers.conversation.history import TokenCounts
from lumen_tui.providers.vendors.endpoints import Target

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
_LATER = "try again later"
_QUOTA = (
    "insufficient_quota",
    "billing_error",
    "credit balance",
    "credit_balance",
    "spend_limit",
    "usage_limit_exceeded",
    "api usage limits",
)
_GARBLED = "tool_use_failed"  # Groq: what the model wrote was no tool call; it writes something else the next time
# Anthropic's models take their thinking back only as long as nothing before it has changed.
_BOUND = ("bound to a different conversation", "invalid `signature` in `thinking`", "`redacted_thinking` blocks in")


class ModelCallError(ProviderError):
    """A call that gave no answer: `brief` is what happened, `advice` what to do, and what the server said.

    `again` and `elsewhere` say what can help, `after` (seconds) what the server asks.
    `overlong`: a shorter conversation can help; `bound`: one without the model's own earlier thinking.
    """

    def __init__(
        self,
        brief: str,
        advice: str = "",
        *,
        again: bool = False,
        elsewhere: bool = False,
        overlong: bool = False,
        bound: bool = False,
        after: float | None = None,
        counts: TokenCounts | None = None,
    ) -> None:
        super().__init__(f"{brief}: {advice}" if advice else brief)
        self.brief, self.advice = brief, advice
        self.again, self.elsewhere, self.overlong, self.after = again, elsewhere, overlong, after
        self.bound = bound
        self.counts = counts or TokenCounts()  # what is known of its cost

    def count(self, tries: int) -> None:
        """Say how often the call was made, where it was made again."""
        if tries > 1:
            self.brief = f"{self.brief}, after {tries} tries"
            self.args = (f"{self.brief}: {self.advice}" if self.advice else self.brief,)


def map_error(error: BaseException, target: Target, counts: TokenCounts, now: float, guess: int = 0) -> ModelCallError:
    """An SDK's error in our words. `counts` is what the call has cost for all that is known.

    A server that was reached and then fell silent has read the prompt for all we know: `guess` tokens.
    """
    if isinstance(error, ModelCallError):
        error.counts = counts
        return error
    status, detail = _status(error), _detail(error)
    if status:
        return _of_status(status, detail, error, target, counts, now)
    names = {kind.__name__ for kind in type(error).__mro__}
    server = f"the model's server {_place(target)}"
    reached = not _causes(error) & _NOT_REACHED
    counts = counts if counts.prompt or not reached else TokenCounts(fresh=guess)
    if any("Timeout" in name for name in names) and reached:
        return _passing(f"{server} was silent for too long", f"{_LATER} or give it more time under [models]", counts)
    if names & {"APIConnectionError", "TransportError"} and reached:
        return _passing(f"{server} cut the connection in the middle of its answer", _LATER, counts)
    if names & {"APIConnectionError", "TransportError"}:
        setting = (
            "ANTHROPIC_BASE_URL" if target.endpoint.name == "anthropic" else "base_url of the endpoint in lumen.toml"
        )
        return _passing(f"{server} cannot be reached ({detail})", f"look at the network and {setting}", counts)
    brief = f"{server} sent no usable answer ({type(error).__name__}: {detail})"
    return _passing(brief, f"look at the endpoint's base_url and kind, or {_LATER}", counts)


def unusable_answer(target: Target, reason: str) -> ModelCallError:
    """An answer that makes no sense."""
    return _passing(f"the model's server {_place(target)} sent no usable answer ({reason})", _LATER, TokenCounts())


def _passing(brief: str, advice: str, counts: TokenCounts) -> ModelCallError:
    return ModelCallError(brief, advice, again=True, elsewhere=True, counts=counts)


def _place(target: Target) -> str:
    url = target.endpoint.base_url
    return f"({target.endpoint.name}, {url})" if url else f"({target.endpoint.name})"


def _causes(error: BaseException | None) -> set[str]:
    """The names of an error and of what it came from."""
    names: set[str] = set()
    while error is not None and len(names) < 100:
        names |= {kind.__name__ for kind in type(error).__mro__}
        error = error.__cause__
    return names


def _status(error: BaseException) -> int:
    """The HTTP status; for an error inside a stream that of its type."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return status
    inner = _inner(error)
    if not isinstance(inner, dict):
        return 500 if inner and isinstance(inner, str) else 0
    code = inner.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return _STATUS_OF.get(str(inner.get("type")), 0) or _STATUS_OF.get(str(code), 500)


def _detail(error: BaseException) -> str:
    """The server's own words on one line."""
    inner = _inner(error)
    words = (inner.get("message") or inner.get("detail")) if isinstance(inner, dict) else inner
    return one_line(str(words or getattr(error, "message", "") or error), 300)


def _inner(error: BaseException) -> Any:
    """What a server says is wrong: mostly a table, sometimes plain words."""
    body = getattr(error, "body", None)
    body = body[0] if isinstance(body, list) and body else body  # Google
    return body.get("error", body) if isinstance(body, dict) else body


def refusal_text(error: BaseException) -> str:
    """All that a server said when it refused the form of a request, in small letters; empty for any other error."""
    return f"{_detail(error)} {_code(error)}".lower() if getattr(error, "status_code", 0) in (400, 422) else ""


def _of_status(
    status: int, detail: str, error: BaseException, target: Target, counts: TokenCounts, now: float
) -> ModelCallError:
    headers = getattr(getattr(error, "response", None), "headers", {})
    should_retry = str(headers.get("x-should-retry", "")).lower()
    text = f"{detail} {_code(error)}".lower()
    name = _name(error)
    if status == 413 or is_context_overflow(f"{detail} {name}"):
        brief = (
            "the request is too large for the server" if status == 413 else "the conversation is too long for the model"
        )
        advice = f"give a narrower objective or less context ({detail})"
        return ModelCallError(f"{brief} ({status})", advice, overlong=True, counts=counts)
    quota, garbled = status == 402 or any(word in text for word in _QUOTA), _GARBLED in name
    passing = status in _AGAIN or status >= 500 or garbled
    unread = f"the model's tool call could not be read ({status})", detail
    brief, advice = unread if garbled else _words(status, detail, target, quota)
    return ModelCallError(
        brief,
        advice,
        again=passing and not quota and should_retry != "false",
        elsewhere=passing or quota,
        bound=status == 400 and any(words in text for words in _BOUND),
        after=retry_after(headers, now),
        counts=counts,
    )


def _name(error: BaseException) -> str:
    """The server's own name for the error: its code and type, and none of the words around them."""
    inner = _inner(error)
    return f"{inner.get('code')} {inner.get('type')}" if isinstance(inner, dict) else ""


def _code(error: BaseException) -> str:
    body = getattr(error, "body", None)
    return json.dumps(body, default=str)[:2000] if isinstance(body, dict) else ""


def _words(status: int, detail: str, target: Target, quota: bool) -> tuple[str, str]:
    """What happened, and what to do about it or what the server said."""
    key = target.endpoint.key_env or "its key"
    if quota:
        return (
            f"the account of {key} has no credit left, or has reached its limit ({status})",
            f"mend that, or set another model under [models] ({detail})",
        )
    if status == 404:
        return _not_found(detail, target)
    known = {
        401: (f"the key in {key} was refused (401)", "set a valid one"),
        403: (f"the key in {key} may not do this (403)", detail),
        429: ("the rate limit was reached (429)", f"{_LATER} ({detail})"),
        529: ("the model's servers are overloaded (529)", _LATER),
    }
    failed = (f"the model's server failed ({status})", f"{_LATER} ({detail})")
    return known.get(status) or (failed if status >= 500 else (f"the request was refused ({status})", detail))


def _not_found(detail: str, target: Target) -> tuple[str, str]:
    """A server that knows the address says which model it lacks."""
    place, detail_text = target.endpoint, detail.lower()
    if place.base_url and "model" not in detail_text and target.model.lower() not in detail_text:
        mostly = "ends before /v1" if place.kind == "anthropic" else "mostly ends in /v1"
        return f"the server {_place(target)} does not know this address (404)", f"look at its base_url, which {mostly}"
    brief = f"the model {target.model!r} is not known at {place.name} (404)"
    return brief, f"set its id under [models] in lumen.toml ({detail})"


def retry_after(headers: Any, now: float) -> float | None:
    """The seconds that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.

    None where it says nothing, or nothing to go by: what asks for no wait at all would be asked again at once.
    """
    try:
        seconds = _asked(headers, now)
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if 0 < seconds < math.inf else None


def _asked(headers: Any, now: float) -> float:
    if value := headers.get("retry-after-ms"):
        return float(value) / 1000
    value = headers.get("retry-after") or "0"
    return float(value) if _is_number(value) else email.utils.parsedate_to_datetime(value).timestamp() - now


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
