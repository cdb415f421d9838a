"""One memory node in full: what it says, where it comes from, how old it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from lumen_tui.model import ids, times
from lumen_tui.model.humanize import humanize
from lumen_tui.model.records import Node
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.timestamps import moment

_SHOWN_ABOVE = ("status", "priority", "pinned")
_DATES = ("_at", "_until")  # how the names of dates in the metadata end


class NodeDetail(ReadingScreen[str]):
    """Answers the name of the command that was chosen: promote, archive, archive_node, later or pin."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "choose('promote')", show=False),
        Binding("a", "choose('archive')", show=False),
        Binding("l", "choose('later')", show=False),
        Binding("x", "choose('pin')", show=False),
    ]

    def __init__(self, node: Node, now: float, chain: Sequence[str] = ()) -> None:
        text = node_text(node, chain)
        super().__init__(f"{node.type.capitalize()} {ids.short(node.id)}", text, list(_facts(node, now)))
        self._node = node

    @property
    def _open_discovery(self) -> bool:
        return self._node.type == "discovery" and self._node.status in ("open", "snoozed")

    def keys(self) -> Keys:
        triage = (("p", "promote"), ("l", "later")) if self._open_discovery else ()
        return (*triage, ("a", "archive"), ("x", "unpin" if self._node.pinned else "pin"), *super().keys())

    def action_choose(self, name: str) -> None:
        if name in ("promote", "later") and not self._open_discovery:
            return
        self.dismiss("archive_node" if name == "archive" and not self._open_discovery else name)


def node_text(node: Node, chain: Sequence[str] = ()) -> str:
    """What a node says, and the chain it stands in; a summary was put together by the program."""
    content = humanize(node.content) if node.type == "summary" else node.content
    return "\n".join([content, *(("", *map(humanize, chain)) if chain else ())])


def _facts(node: Node, now: float) -> Iterator[Fact]:
    yield "status", f"{node.status}{' · pinned' if node.pinned else ''}"
    yield "priority", node.priority or "none"
    yield "type", f"{node.type} · {node.lifecycle}"
    yield "tags", " ".join(node.tags) or "–"
    yield "created", moment(node.created, now)
    if node.updated_at:
        yield "changed", moment(times.epoch(node.updated_at), now)
    yield "by", node.created_by or "–"
    yield "work unit", node.wu_id or "–"
    yield "session", node.session_id or "–"
    yield "id", node.id
    for name, value in sorted(node.metadata.items()):
        if name not in _SHOWN_ABOVE:
            yield name[:24].replace("_", " "), _plain(name, value, now)


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _plain(name: str, value: Any, now: float) -> str:
    if not isinstance(value, str):
        return humanize(", ".join(value) if _is_words(value) else json.dumps(value, ensure_ascii=False, default=str))
    when = times.epoch(value) if name.endswith(_DATES) else 0.0
    return moment(when, now) if when else humanize(value)
