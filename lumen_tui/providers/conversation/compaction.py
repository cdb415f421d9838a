"""Keeping a conversation inside its model's window: old tool results are cut to a pointer where it no longer fits."""

from __future__ import annotations

from collections.abc import Callable, Generator

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.providers.base import Reply, Step, TextUpdate
from lumen_tui.providers.conversation.calling import ModelCaller
from lumen_tui.providers.conversation.history import AssistantMessage, Entry, Prompt, ResultMessage, ResultMessages

_COUNT_FROM = 0.6  # of the window: from here on the tokens are counted exactly where the API can
_CUT_FROM = 0.85
_CUT_TO = 0.5  # far below, as each cut makes the prompt cache worthless once
_KEPT_CHARACTERS = 300  # characters of a result that was cut
_KEPT_OF_NEWEST = 2_000  # of one of the newest results, where nothing else is left to cut
_RECENT = 4  # entries at the end that stay as they are as long as possible


class Compaction(Struct, frozen=True):
    """What is left of a conversation, and what was taken out."""

    entries: tuple[Entry, ...]
    pieces: int = 0
    characters: int = 0

    @property
    def summary(self) -> str:
        """What was cut, for the record."""
        return (
            f"the conversation came near the model's window: {self.pieces} old tool "
            f"{'result' if self.pieces == 1 else 'results'} cut, {self.characters:,} characters"
        )


def compact(entries: tuple[Entry, ...], target: int) -> Compaction:
    """Cut at least `target` characters, the oldest first; less where there is no more to cut."""
    compaction = Compaction(entries)
    for cut, newest in ((_cut_results, _RECENT), (_cut_arguments, _RECENT), (_cut_results, 1), (_cut_newest, 0)):
        compaction = _pass(compaction, cut, newest, target)
    return replace(compaction, entries=without_native(compaction.entries)) if compaction.pieces else compaction


def without_native(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return the entries without the vendors' own blocks: thinking is signed for all before it, and is refused now."""
    return tuple(replace(entry, native=None) if isinstance(entry, AssistantMessage) else entry for entry in entries)


_Cut = Callable[[Entry], Entry]


def _pass(compaction: Compaction, cut: _Cut, spared: int, target: int) -> Compaction:
    entries, pieces, removed = list(compaction.entries), compaction.pieces, compaction.characters
    for place in range(max(0, len(entries) - spared)):
        if removed >= target:
            break
        smaller = cut(entries[place])
        if smaller is not entries[place]:
            pieces, removed = pieces + 1, removed + _size(entries[place]) - _size(smaller)
            entries[place] = smaller
    return Compaction(tuple(entries), pieces, removed)


def _size(entry: Entry) -> int:
    if isinstance(entry, ResultMessages):
        return sum(len(result.text) for result in entry.results)
    if isinstance(entry, AssistantMessage):
        return len(entry.text) + len(entry.reasoning or "") + sum(len(str(call.arguments)) for call in entry.calls)
    return len(entry.text)


def _cut_results(entry: Entry, limit: int = _KEPT_CHARACTERS) -> Entry:
    if not isinstance(entry, ResultMessages):
        return entry
    cut = tuple(_cut_result(result, limit) for result in entry.results)
    return entry if cut == entry.results else ResultMessages(cut)


def _cut_newest(entry: Entry) -> Entry:
    return _cut_results(entry, _KEPT_OF_NEWEST)


def _cut_result(result: ResultMessage, limit: int) -> ResultMessage:
    """Return the head of a result, its last line where that points to the whole, and a word on what is missing."""
    if len(result.text) <= 2 * limit:
        return result
    last = result.text.rstrip().rpartition("\n")[2]
    pointer = f"\n{last}" if last.startswith("[") and len(last) <= limit else ""
    removed = len(result.text) - limit - len(pointer)
    note = f"[cut to make room: {removed:,} characters of this result; make the call again where they are needed]"
    return replace(result, text=f"{result.text[:limit]}\n{note}{pointer}")


def _cut_arguments(entry: Entry) -> Entry:
    """Cut long texts that the model once wrote into a call (a file, a report), and what it thought before."""
    if not isinstance(entry, AssistantMessage):
        return entry
    if len(entry.reasoning or "") <= 2 * _KEPT_CHARACTERS and not any(
        len(str(call.arguments)) > 2 * _KEPT_CHARACTERS for call in entry.calls
    ):
        return entry
    calls = tuple(replace(call, arguments=_short(call.arguments)) for call in entry.calls)
    return replace(entry, calls=calls, reasoning=_short(entry.reasoning))


def _short(value: object) -> object:
    if isinstance(value, str) and len(value) > _KEPT_CHARACTERS:
        return f"{value[:_KEPT_CHARACTERS]} [cut to make room: {len(value) - _KEPT_CHARACTERS:,} characters]"
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    return [_short(inner) for inner in value] if isinstance(value, list) else value


class ContextWindow:
    """Looks at each prompt before it is sent."""

    def __init__(self, caller: ModelCaller) -> None:
        self._caller = caller

    def fit(self, prompt: Prompt) -> Generator[Step, Reply | None, tuple[Entry, ...]]:
        """Return the entries of `prompt`, cut where they come near the window; a cut is reported."""
        limit = self._prompt_limit
        tokens = self._tokens(prompt, limit)
        if not limit or tokens < _CUT_FROM * limit:
            return prompt.entries
        size = self._caller.wire.size(prompt)
        compaction = compact(prompt.entries, round(size * (1 - _CUT_TO * limit / tokens)))
        if compaction.pieces:
            yield TextUpdate(compaction.summary, kind="note")
        return compaction.entries

    def halve(self, prompt: Prompt) -> Compaction:
        """Cut a conversation that the model refused as too long down to half."""
        return compact(prompt.entries, self._caller.wire.size(prompt) // 2)

    @property
    def _prompt_limit(self) -> int:
        """Tokens for a prompt; 0 where the window is not known."""
        wire = self._caller.wire
        return max(0, wire.target.endpoint.window - wire.max_output)

    def _tokens(self, prompt: Prompt, limit: int) -> int:
        expected = self._caller.estimator.expected(self._caller.wire.size(prompt))
        if not limit or expected < _COUNT_FROM * limit:
            return expected
        return self._caller.wire.count(prompt) or expected
