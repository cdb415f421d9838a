"""How a conversation with Claude Code ended, and the errors for the models that it could not ask."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.text import one_line
from lumen_tui.providers.base import ConversationOutcome, JsonObject, ProviderError
from lumen_tui.providers.conversation.history import TokenCounts
from lumen_tui.providers.errors import KEY, ModelCallError, map_error
from lumen_tui.providers.resets import UNIFIED, moment
from lumen_tui.providers.vendors.endpoints import Endpoint, Target

REFUSED = 401
_ENDPOINT = Endpoint("claude", "claude", key_env="ANTHROPIC_API_KEY")
_WINDOW = "the conversation no longer fits the model: give a narrower objective or less context"


class _Headers(Struct, frozen=True):
    headers: dict[str, str]


class _ApiError(Exception):
    """An error of the API as the program tells it, in the form in which SDKs do."""

    def __init__(self, status: int, words: str, limit: float = 0.0) -> None:
        super().__init__(words)
        self.status_code, self.message = status, words
        self.response = _Headers({f"{UNIFIED}-status": "rejected", f"{UNIFIED}-reset": f"{limit}"} if limit else {})


def used_up(info: JsonObject) -> float:
    """Return when a limit ends that is used up, in seconds since 1970; 0 for one that is not."""
    rejected = info.get("status") == "rejected" and info.get("isUsingOverage") is not True
    return moment(info.get("resetsAt")) if rejected else 0.0


def outcome(
    message: JsonObject, model: str, now: float, limit: float = 0.0, *, reached: bool = True
) -> ConversationOutcome:
    """Return how the conversation ended; `reached` says whether the last call got an answer from any server.

    Raises ProviderError where the model could not be asked.
    """
    if message.get("is_error") and not reached and not message.get("api_error_status"):
        raise not_reached(message)
    text = message.get("result")
    words = text if isinstance(text, str) else ""
    if not message.get("is_error") and message.get("subtype") == "success":
        return ConversationOutcome(ok=True, text=words)
    if message.get("subtype") == "error_max_turns":
        return ConversationOutcome(
            ok=False, reason="it used all the turns that its role may take: raise max_steps, or ask for less"
        )
    if message.get("stop_reason") == "refusal":
        return ConversationOutcome(ok=False, reason="the model declined to do this")
    if message.get("terminal_reason") == "prompt_too_long":
        return ConversationOutcome(ok=False, reason=_WINDOW)
    raise _error(message, words or _errors(message), model, now, limit)


def key_refused(detail: str) -> ModelCallError:
    """Return the error for a key or a login that does not count: no call would get an answer."""
    return ModelCallError(
        f"Claude Code may not use its model ({detail})",
        "set a valid ANTHROPIC_API_KEY, or log in with `claude` once",
        closed=KEY,
        endpoint=_ENDPOINT.name,
    )


def not_reached(message: JsonObject) -> ModelCallError:
    """Return the error for a server of which nothing came."""
    return ModelCallError(
        f"Claude Code did not reach its model's server ({one_line(str(message.get('result')), 200)})",
        "look at the network, at ANTHROPIC_BASE_URL and at HTTPS_PROXY, then `lumen-tui task retry`",
    )


def _errors(message: JsonObject) -> str:
    errors = message.get("errors")
    return "; ".join(map(str, errors)) if isinstance(errors, list) else ""


def _error(message: JsonObject, words: str, model: str, now: float, limit: float) -> ProviderError:
    detail = one_line(words, 300) or one_line(str(message.get("subtype")), 60)
    status = message.get("api_error_status")
    if status == REFUSED or "/login" in words:
        return key_refused(detail)
    if isinstance(status, int) or limit:
        known = status if isinstance(status, int) else 429
        return map_error(_ApiError(known, detail, limit), Target(_ENDPOINT, model), TokenCounts(), now)
    return ProviderError(f"Claude Code ended with an error: {detail}")
