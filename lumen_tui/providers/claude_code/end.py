"""How a conversation with Claude Code ended, from its last message."""

from __future__ import annotations

from typing import Any

from lumen_tui.model.text import one_line
from lumen_tui.providers.base import Outcome, ProviderError
from lumen_tui.providers.conversation.history import TokenCounts
from lumen_tui.providers.errors import map_error
from lumen_tui.providers.vendors.endpoints import Endpoint, Target

_ENDPOINT = Endpoint("claude", "claude", key_env="ANTHROPIC_API_KEY")
_WINDOW = "the conversation no longer fits the model: give a narrower objective or less context"


class _ApiError(Exception):
    """An error of the API as the program tells it, in the form in which SDKs do."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status_code, self.message = status, words


def outcome(message: dict[str, Any], model: str, now: float) -> Outcome:
    """What came of it. Raises ProviderError where the model could not be asked."""
    text = message.get("result")
    words = text if isinstance(text, str) else ""
    if not message.get("is_error") and message.get("subtype") == "success":
        return Outcome(ok=True, text=words)
    if message.get("subtype") == "error_max_turns":
        return Outcome(
            ok=False, reason="it used all the turns that its role may take: raise max_steps, or ask for less"
        )
    if message.get("stop_reason") == "refusal":
        return Outcome(ok=False, reason="the model declined to do this")
    if message.get("terminal_reason") == "prompt_too_long":
        return Outcome(ok=False, reason=_WINDOW)
    raise _error(message, words or _errors(message), model, now)


def _errors(message: dict[str, Any]) -> str:
    errors = message.get("errors")
    return "; ".join(map(str, errors)) if isinstance(errors, list) else ""


def _error(message: dict[str, Any], words: str, model: str, now: float) -> ProviderError:
    detail = one_line(words, 300) or one_line(str(message.get("subtype")), 60)
    status = message.get("api_error_status")
    if status == 401 or "/login" in words:
        return ProviderError(
            f"Claude Code may not use its model ({detail}): set a valid ANTHROPIC_API_KEY, or log in with `claude` once"
        )
    if isinstance(status, int):
        target = Target(_ENDPOINT, model)
        return map_error(_ApiError(status, detail), target, TokenCounts(), now)
    return ProviderError(f"Claude Code ended with an error: {detail}")
