"""The earlier entries of a conversation: which of them can be summed up, and how they read as a text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import Struct

from lumen_tui.model.text import one_line
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    Entry,
    ResultMessage,
    ResultMessages,
    Said,
    UserMessage,
    characters,
)

_RECENT = 8  # entries at the end that stay as they are, where they have room
_SHORTEST = 200  # characters to which a text is cut at most
_SHOWN = 60  # paths of one tool that are named


class Parting(Struct, frozen=True):
    """A conversation in two: the first `upto` entries can be summed up, all but `words`."""

    upto: int
    words: tuple[UserMessage, ...]  # of these entries: what is never taken out
    gone: tuple[Entry, ...]  # the others

    @property
    def size(self) -> int:
        """Characters that a summary would take the place of."""
        return sum(map(characters, self.gone))

    @property
    def calls(self) -> int:
        """How many tool calls are in them."""
        return sum(len(entry.calls) for entry in self.gone if isinstance(entry, AssistantMessage))


def part(entries: tuple[Entry, ...], room: int) -> Parting:
    """Leave the newest entries whole: at least the last answer with all behind it, more where `room` characters allow.

    A call and its result are never parted.
    """
    places = [place for place, entry in enumerate(entries) if not isinstance(entry, ResultMessages)]
    answers = [place for place in places if isinstance(entries[place], AssistantMessage)]
    first = answers[-1] if answers else len(entries)
    for place in reversed([place for place in places if place < first]):
        if len(entries) - place > _RECENT or sum(map(characters, entries[place:])) > room:
            break
        first = place
    before = entries[:first]
    words = tuple(entry for entry in before if _is_kept(entry) and isinstance(entry, UserMessage))
    return Parting(first, words, tuple(entry for entry in before if not _is_kept(entry)))


def _is_kept(entry: Entry) -> bool:
    return isinstance(entry, UserMessage) and entry.kind is Said.WORDS


def touched(gone: Iterable[Entry], before: tuple[tuple[str, str], ...] = ()) -> tuple[tuple[str, str], ...]:
    """Return which tool had which path, each once, in calls that went well; after those of `before`."""
    touches = dict.fromkeys(before)
    paths: dict[str, str] = {}
    for entry in gone:
        if isinstance(entry, AssistantMessage):
            paths |= {call.id: path for call in entry.calls if isinstance(path := call.arguments.get("path"), str)}
        elif isinstance(entry, ResultMessages):
            touches |= {
                (result.name, one_line(paths[result.call_id], 300)): None
                for result in entry.results
                if result.ok and result.call_id in paths
            }
    return tuple(touches)


def touched_words(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a line for each tool with the paths it had, the newest last."""
    paths: dict[str, list[str]] = {}
    for tool, path in pairs:
        paths.setdefault(tool, []).append(path)
    return "\n".join(f"- {one_line(tool, 60)}: {_listed(those)}" for tool, those in paths.items())


def _listed(paths: list[str]) -> str:
    more = f"{len(paths) - _SHOWN:,} more, then " if len(paths) > _SHOWN else ""
    return more + ", ".join(paths[-_SHOWN:])


def told(gone: Iterable[Entry], number: int = 0) -> list[tuple[str, str]]:
    """Return the entries as pairs of a heading and a text; `number` calls came before them."""
    numbers: dict[str, int] = {}
    pairs: list[tuple[str, str]] = []
    for entry in gone:
        if isinstance(entry, ResultMessages):
            pairs += [(_result_head(result, numbers), result.text) for result in entry.results]
        elif isinstance(entry, AssistantMessage):
            pairs += [("the agent wrote", entry.text)] if entry.text.strip() else []
            for call in entry.calls:
                number += 1
                numbers[call.id] = number
                pairs.append((f"step {number}: call of {call.name}", json.dumps(call.arguments, ensure_ascii=False)))
        elif entry.kind is Said.SUMMARY:
            pairs.append(("what stands for the steps before these", entry.text))
    return pairs


def _result_head(result: ResultMessage, numbers: dict[str, int]) -> str:
    return f"step {numbers.get(result.call_id, 0)}: {'result' if result.ok else 'it failed'}"


def as_text(pairs: Iterable[tuple[str, str]], most: int = 0) -> str:
    """Return headings and texts as one text; the longest are shortened where it has more than `most` characters."""
    pairs = list(pairs)
    limit = _fitting([len(text) for _, text in pairs], most) if most else 0
    return "\n\n".join(f"[{head}]\n{_short(text, limit)}" for head, text in pairs)


def _fitting(lengths: list[int], most: int) -> int:
    """Return to how many characters each text must be cut so that all have `most` together; 0 where none has to be."""
    remaining = most
    for place, length in enumerate(ordered := sorted(lengths)):
        share = remaining // (len(ordered) - place)
        if length > share:
            return max(_SHORTEST, share)
        remaining -= length
    return 0


def _short(text: str, limit: int) -> str:
    """Return a text with what is in its middle left out."""
    if not limit or len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n… ({len(text) - limit:,} characters left out)\n{text[len(text) - (limit - head) :]}"
