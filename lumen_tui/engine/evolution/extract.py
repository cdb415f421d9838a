"""From the entries of a session to candidates: offline, the same every time, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.engine.evolution import outcomes
from lumen_tui.engine.evolution.found import LearningCandidate
from lumen_tui.engine.evolution.phrases import learn_said, statement
from lumen_tui.model.evolution import DOMAIN, Kind, Trust
from lumen_tui.model.sessionlog import Entry, Open
from lumen_tui.store.sessions.transcripts import is_question

_ANSWER = re.compile(r'"(?P<question>[^"\n]{4,300})"="(?P<answer>[^"\n]{1,200})"')
_NO_CHOICE = re.compile(r"^(?:other|skip|none|n/?a|i don't know|not sure)\W*$", re.I)


class Extractor:
    """Takes the entries of one session in their order; `held` is what it must not forget between two calls."""

    def __init__(self, held: Open) -> None:
        self.held = held

    def take(self, entry: Entry) -> Iterator[LearningCandidate]:
        """Yield what can be learnt from one entry."""
        if entry.kind == "said":
            yield from learn_said(entry)
        elif entry.kind == "call":
            outcomes.note_call(entry, self.held)
        else:
            yield from self._result(entry)

    def _result(self, entry: Entry) -> Iterator[LearningCandidate]:
        call = self.held.calls.pop(entry.call_id, None)
        if call is None:
            return
        if not is_question(call.tool):
            yield from outcomes.learn_from_result(entry, call, self.held)
        elif call.trust is Trust.AGENT and entry.ok:
            yield from _answers(entry)


def _answers(entry: Entry) -> Iterator[LearningCandidate]:
    """Yield what the person chose when the agent asked."""
    for hit in _ANSWER.finditer(entry.text):
        if _NO_CHOICE.match(hit["answer"]):
            continue
        text = statement(f"{hit['question'].rstrip('? ')}? {hit['answer']}")
        yield LearningCandidate(
            Kind.DECISION,
            text,
            DOMAIN,
            hit.group(),
            entry.text,
            entry.source,
            Trust.PERSON,
            0.9,
            f"question:{' '.join(hit['question'].lower().split())[:120]}",
            hit["answer"].lower(),
        )
