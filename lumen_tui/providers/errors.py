"""What can go wrong with a model call: plain sentences, and whether trying again or elsewhere can help."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.conversation.history import TokenCounts
from lumen_tui.providers.resets import LONGEST, reset_time
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
_RETRYABLE = (408, 409, 425, 429)  # and everything from 500
_OF_FORM = (400, 415, 422)
KEY, CREDIT, LIMIT = "key", "credit", "limit"  # why an endpoint is closed
_SHORT = 600.0  # seconds until a limit ends that a call waits for where it is
_TRY_LATER = "try again later"
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
_THINKING_REFUSED = (
    "bound to a different conversation",
    "invalid `signature` in `thinking`",
    "`redacted_thinking` blocks in",
)


class ModelCallError(ProviderError):
    """A call that gave no answer: `brief` is what happened, `advice` what to do, and what the server said.

    The flags say what can help: the same call again (`retryable`, after the seconds that the server asks for), another
    model, a shorter conversation (`too_long`), one without the model's earlier thinking (`thinking_refused`), or one
    without images and PDF files, where the server refused what the request is made of (`form_refused`). Where
    no call of the `endpoint` would get an answer it is `closed`: for its key, its credit, or a limit until `resets_at`.
    """

    def __init__(
        self,
        brief: str,
        advice: str = "",
        *,
        retryable: bool = False,
        other_model_helps: bool = False,
        too_long: bool = False,
        thinking_refused: bool = False,
        form_refused: bool = False,
        retry_after_seconds: float | None = None,
        counts: TokenCounts | None = None,
        closed: str = "",
        resets_at: float = 0.0,
        endpoint: str = "",
    ) -> None:
        super().__init__(f"{brief}: {advice}" if advice else brief)
        self.brief = brief
        self.advice = advice
        self.retryable = retryable
        self.other_model_helps = other_model_helps
        self.too_long = too_long
        self.retry_after_seconds = retry_after_seconds
        self.thinking_refused = thinking_refused
        self.form_refused = form_refused
        self.closed = closed
        self.resets_at = resets_at
        self.endpoint = endpoint
        self.counts = counts or TokenCounts()  # what is known of its cost

    def count(self, tries: int) -> None:
        """Add to the message how often the call was made, where it was made again."""
        if tries > 1:
            self.brief = f"{self.brief}, after {tries} tries"
            self.args = (f"{self.brief}: {self.advice}" if self.advice else self.brief,)


def map_error(error: BaseException, target: Target, counts: TokenCounts, now: float, guess: int = 0) -> ModelCallError:
    """Return an SDK's error as one that says what happened and what can help.

    `counts` is what the call is known to have cost. A server that was reached and then fell silent is taken to have
    read the prompt: `guess` tokens.
    """
    if isinstance(error, ModelCallError):
        error.counts = counts
        return error
    status, detail = _status(error), _detail(error)
    if status:
        return _status_error(status, detail, error, target, counts, now)
    names = {kind.__name__ for kind in type(error).__mro__}
    server = f"the model's server {_place(target)}"
    reached = not _causes(error) & _NOT_REACHED
    counts = counts if counts.prompt or not reached else TokenCounts(fresh=guess)
    if any("Timeout" in name for name in names) and reached:
        return _transient(
            f"{server} was silent for too long", f"{_TRY_LATER} or give it more time under [models]", counts
        )
    if names & {"APIConnectionError", "TransportError"} and reached:
        return _transient(f"{server} cut the connection in the middle of its answer", _TRY_LATER, counts)
    if names & {"APIConnectionError", "TransportError"}:
        setting = (
            "ANTHROPIC_BASE_URL" if target.endpoint.name == "anthropic" else "base_url of the endpoint in lumen.toml"
        )
        return _transient(f"{server} cannot be reached ({detail})", f"look at the network and {setting}", counts)
    brief = f"{server} sent no usable answer ({type(error).__name__}: {detail})"
    return _transient(brief, f"look at the endpoint's base_url and kind, or {_TRY_LATER}", counts)


def unusable_answer(target: Target, reason: str) -> ModelCallError:
    """Return the error for an answer that makes no sense."""
    return _transient(
        f"the model's server {_place(target)} sent no usable answer ({reason})", _TRY_LATER, TokenCounts()
    )


def _transient(brief: str, advice: str, counts: TokenCounts) -> ModelCallError:
    return ModelCallError(brief, advice, retryable=True, other_model_helps=True, counts=counts)


def _place(target: Target) -> str:
    url = target.endpoint.base_url
    return f"({target.endpoint.name}, {url})" if url else f"({target.endpoint.name})"


def _causes(error: BaseException | None) -> set[str]:
    """Return the class names of an error and of its causes."""
    names: set[str] = set()
    while error is not None and len(names) < 100:
        names |= {kind.__name__ for kind in type(error).__mro__}
        error = error.__cause__
    return names


def _status(error: BaseException) -> int:
    """Return the HTTP status; of an error inside a stream, the one that belongs to its type; 0 where there is none."""
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
    """Return the server's own message on one line."""
    inner = _inner(error)
    words = (inner.get("message") or inner.get("detail")) if isinstance(inner, dict) else inner
    return one_line(str(words or getattr(error, "message", "") or error), 300)


def _inner(error: BaseException) -> Any:
    """Return what a server says is wrong: mostly an object, sometimes plain text."""
    body = getattr(error, "body", None)
    body = body[0] if isinstance(body, list) and body else body  # Google
    return body.get("error", body) if isinstance(body, dict) else body


_UNKNOWN = lazy_re(
    r"unsupported|not (?:supported|permitted|allowed)|does ?n[o']t support|unrecognized|unknown|extra_forbidden"
    r"|unexpected|extra inputs",
    re.IGNORECASE,
)


def is_unknown_part(refusal: str) -> bool:
    """Return whether a server refused a request for a part that it does not know."""
    return bool(_UNKNOWN.search(refusal))


def refusal_text(error: BaseException) -> str:
    """Return all that a server said when it refused the form of a request, in lower case; empty for other errors."""
    return f"{_detail(error)} {_code(error)}".lower() if getattr(error, "status_code", 0) in (400, 422) else ""


def _status_error(
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
        return ModelCallError(f"{brief} ({status})", advice, too_long=True, counts=counts)
    quota, garbled = status == 402 or any(word in text for word in _QUOTA), _GARBLED in name
    transient = status in _RETRYABLE or status >= 500 or garbled
    unread = f"the model's tool call could not be read ({status})", detail
    resets_at = reset_time(headers, detail, now) if status == 429 or quota else 0.0
    if not resets_at and status == 429 and (seconds := retry_after(headers, now) or 0.0) <= LONGEST:
        resets_at = now + seconds
    closed = _closed(status, quota=quota, long=resets_at - now > _SHORT)
    brief, advice = unread if garbled else _status_text(status, detail, target, quota)
    return ModelCallError(
        brief,
        advice,
        retryable=transient and not quota and should_retry != "false",
        other_model_helps=transient or quota,
        thinking_refused=status == 400 and any(words in text for words in _THINKING_REFUSED),
        form_refused=status in _OF_FORM and not quota and not garbled,
        retry_after_seconds=resets_at - now if closed == LIMIT else retry_after(headers, now),
        counts=counts,
        closed=closed,
        resets_at=resets_at if closed == LIMIT else 0.0,
        endpoint=target.endpoint.name,
    )


def _closed(status: int, *, quota: bool, long: bool) -> str:
    """Return why no further call of an endpoint would get an answer; empty where one may."""
    if status in (401, 403):
        return KEY
    if long:
        return LIMIT
    return CREDIT if quota else ""


def _name(error: BaseException) -> str:
    """Return the server's own name for the error: its code and type, without the message."""
    inner = _inner(error)
    return f"{inner.get('code')} {inner.get('type')}" if isinstance(inner, dict) else ""


def _code(error: BaseException) -> str:
    body = getattr(error, "body", None)
    return json.dumps(body, default=str)[:2000] if isinstance(body, dict) else ""


def _status_text(status: int, detail: str, target: Target, quota: bool) -> tuple[str, str]:
    """Return what happened, and what to do about it or what the server said."""
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
        429: ("the rate limit was reached (429)", f"{_TRY_LATER} ({detail})"),
        529: ("the model's servers are overloaded (529)", _TRY_LATER),
    }
    failed = (f"the model's server failed ({status})", f"{_TRY_LATER} ({detail})")
    return known.get(status) or (failed if status >= 500 else (f"the request was refused ({status})", detail))


def _not_found(detail: str, target: Target) -> tuple[str, str]:
    """Tell an unknown address from an unknown model: a server that knows the address names the model."""
    place, detail_text = target.endpoint, detail.lower()
    if place.base_url and "model" not in detail_text and target.model.lower() not in detail_text:
        mostly = "ends before /v1" if place.kind == "anthropic" else "mostly ends in /v1"
        return f"the server {_place(target)} does not know this address (404)", f"look at its base_url, which {mostly}"
    brief = f"the model {target.model!r} is not known at {place.name} (404)"
    return brief, f"set its id under [models] in lumen.toml ({detail})"


def retry_after(headers: Any, now: float) -> float | None:
    """Return the seconds that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.

    None where it says nothing usable, or asks for no wait at all: the call would be made again at once.
    """
    try:
        seconds = _requested_wait(headers, now)
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if 0 < seconds < math.inf else None


def _requested_wait(headers: Any, now: float) -> float:
    if value := headers.get("retry-after-ms"):
        return float(value) / 1000
    value = headers.get("retry-after") or "0"
    if _is_number(value):
        return float(value)
    from email.utils import parsedate_to_datetime  # 3 ms, which few answers need

    return parsedate_to_datetime(value).timestamp() - now


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


# Servers have no error type for a conversation that does not fit the model's window, only words.
# Each says that the prompt as a whole has too many tokens. A bare "too long" or "too large" does not: a name, an image,
# a list of tools and `max_tokens` are refused in these words too, and cutting old results would fix none of them.
_OVERFLOW_TEXTS = (
    r"prompt (?:is )?too long",  # Anthropic; Ollama
    r"exceed (?:the )?context (?:limit|window)",  # Anthropic, where the room for the answer is what is missing
    r"input is too long for (?:the )?requested model",  # Anthropic's models at Amazon
    r"context_length_exceeded|context length exceeded",  # OpenAI, Groq and many others: the code
    r"maximum (?:context|prompt) length",  # OpenAI, vLLM, Mistral, xAI
    r"reduce the length of the (?:messages|input|prompt)",  # Groq, vLLM
    r"exceeds the (?:model's )?(?:maximum )?context (?:window|length|size)",  # OpenAI
    r"exceeds the available context size|exceed_context_size_error",  # llama.cpp
    r"longer than the (?:maximum model length|model's context length)",  # vLLM, SGLang
    r"input length exceeds (?:the )?(?:maximum )?context length",  # Ollama
    r"input token count .{0,40}exceeds the maximum",  # Google
    r"keep (?:the first \d+ tokens|from the initial prompt is greater than the context length)",  # LM Studio
    r"tokens \+ `max_new_tokens` must be <=",  # Hugging Face
    r"request too large for .{0,200}tokens per min",  # OpenAI, Groq: no wait makes it fit the limit of a minute
)
_OVERFLOW = lazy_re("|".join(_OVERFLOW_TEXTS))


def is_context_overflow(words: str) -> bool:
    """Return whether a refusal (the message, or the code) is one of the conversation's length."""
    return _OVERFLOW.search(words.lower()) is not None
