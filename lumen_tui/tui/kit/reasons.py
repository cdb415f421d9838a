"""Why something is decided: the usual reasons of a verb by digit, any other in a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.host import Host, VerdictQuestion

# Verb -> the reasons that a digit gives.
REASONS: Mapping[str, tuple[str, ...]] = {
    "triage.archive": ("duplicate", "won't fix", "stale", "not a bug"),
    "node.archive": ("outdated", "wrong", "duplicate", "not needed"),
    "approval.deny": ("not now", "wrong approach", "not allowed here"),
}


class Reasons:
    """Asks why: a digit gives the usual reasons of a verb, a prompt takes any other and offers those of the journal."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[str, tuple[str, ...]] = {}  # by verb, newest first

    def ask(self, title: str, verb: str, then: Callable[[str], None]) -> None:
        """Ask for a reason; `then` gets it, and is not called where the question was left."""
        if reasons := REASONS.get(verb):
            write = partial(self.write, title, verb, then)
            self._host.verdicts.ask(VerdictQuestion(title, reasons, lambda place: then(reasons[place]), write=write))
        else:
            self.write(title, verb, then)

    def write(self, title: str, verb: str, then: Callable[[str], None]) -> None:
        """Ask for a reason in words of one's own. The prompt opens at once, with what was known before."""
        from lumen_tui.tui.kit.questions import ReasonPrompt

        def answered(reason: str | None) -> None:
            if reason:
                self._used(verb, reason)
                then(reason)

        prompt = ReasonPrompt(title, self._known.get(verb, ()), look=lambda: self._look(verb))
        if verb == "approval.deny":
            prompt.hint = "reason (sent to the worker)"
        self._host.push_screen(prompt, answered)

    def _used(self, verb: str, reason: str) -> None:
        others = (old for old in self._known.get(verb, ()) if old != reason)
        self._known[verb] = (reason, *others)

    def _look(self, verb: str) -> tuple[str, ...]:
        """Read the journal, for this prompt and for the next one."""
        try:
            self._known[verb] = self._host.port.recent_reasons(verb)
        except (ActionError, StoreError, OSError):
            return ()  # a hint less; what is wrong with the folder is shown elsewhere
        return self._known[verb]
