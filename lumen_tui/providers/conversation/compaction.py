"""Old tool results cut to a pointer: what keeps a conversation inside a window where it cannot be summed up."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.providers.conversation.attachments import left_out
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    Entry,
    ResultMessage,
    ResultMessages,
    characters,
    without_native,
)

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


_Cut = Callable[[Entry], Entry]


def _pass(compaction: Compaction, cut: _Cut, spared: int, target: int) -> Compaction:
    entries, pieces, removed = list(compaction.entries), compaction.pieces, compaction.characters
    for place in range(max(0, len(entries) - spared)):
        if removed >= target:
            break
        smaller = cut(entries[place])
        if smaller is not entries[place]:
            pieces, removed = pieces + 1, removed + characters(entries[place]) - characters(smaller)
            entries[place] = smaller
    return Compaction(tuple(entries), pieces, removed)


def _cut_results(entry: Entry, limit: int = _KEPT_CHARACTERS) -> Entry:
    if not isinstance(entry, ResultMessages):
        return entry
    cut = tuple(_cut_result(result, limit) for result in entry.results)
    return entry if cut == entry.results else ResultMessages(cut)


def _cut_newest(entry: Entry) -> Entry:
    return _cut_results(entry, _KEPT_OF_NEWEST)


def _cut_result(result: ResultMessage, limit: int) -> ResultMessage:
    """Return the head of a result, its last line where that points to the whole, and a word on what is missing."""
    if result.media:
        result = left_out(result, "cut to make room; read it again where it is needed")
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
