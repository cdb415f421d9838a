"""The chat without a model: what playbooks can find out, what the program itself knows, and else what is missing."""

from __future__ import annotations

import re

from lumen_tui.providers.base import Conversation, ConversationOutcome, Job, ProviderError
from lumen_tui.providers.offline.playbook_router import CAN_ANSWER
from lumen_tui.providers.offline.provider import OfflineProvider

_STATE = re.compile(
    r"\b(?:status|going on|happening|happened|up to|doing|running|runs|waits?|waiting|queued?|open tasks?|budget"
    r"|spent|last loop|wake-state|news)\b",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^</?data\b[^\n]*\n?", re.MULTILINE)
_OFFLINE = "I am offline: no model is configured."
_CANNOT = (
    "Without a model I can say what is going on here, and answer questions such as these: {}. I cannot plan, write, "
    "weigh something up or give out work. Set ANTHROPIC_API_KEY (or [models] provider) and say it again; for one piece "
    "of work there is `lumen-tui task new`."
)


class OfflineChat(OfflineProvider):
    """Answers one turn of the chat. The job's context is the state of the agent as its engine knows it."""

    def converse(self, job: Job) -> Conversation:
        try:
            return (yield from super().converse(job))
        except ProviderError as error:
            reason = str(error).partition(". ")[0]
        if _STATE.search(job.objective) and job.context.strip():
            self.brain = "offline: state"
            state = _MARKS.sub("", job.context).strip()
            return ConversationOutcome(ok=True, text=f"{_OFFLINE} This is what the program itself knows.\n\n{state}")
        text = f"{_OFFLINE} {reason}. {_CANNOT.format('; '.join(CAN_ANSWER))}"
        return ConversationOutcome(ok=False, text=text, reason="no model is configured, and no playbook answers this")
