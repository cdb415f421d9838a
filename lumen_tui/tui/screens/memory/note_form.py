"""A note for the archive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.widget import Widget

from lumen_tui.model.archive import passage
from lumen_tui.tui.kit.fields import Choice, Line
from lumen_tui.tui.kit.screen import FormScreen, Invalid, row
from lumen_tui.tui.kit.text_area import Prose

_KINDS = (("semantic", "what is so"), ("procedural", "how it is done"), ("episodic", "what happened"))
_WORTH = (("0.2", "little"), ("0.5", "usual"), ("0.9", "much"))


class NoteForm(FormScreen[dict[str, Any]]):
    """Answers with the arguments of `archive.insert`."""

    DEFAULT_CLASSES = "long"
    SEND = "keep"

    def __init__(self, tags: str = "", wu_id: str = "") -> None:
        super().__init__("Keep a note")
        self._tags, self._wu_id = tags, wu_id

    def rows(self) -> Iterable[Widget]:
        yield row("note", Prose(placeholder="What must not be forgotten? Its title first.", sends=True, id="text"))
        yield row("kind", Choice(_KINDS, id="kind"))
        yield row("worth", Choice(_WORTH, "0.5", id="importance"))
        yield row("tags", Line(self._tags, placeholder="with commas; such as nginx, deploy", id="tags"))
        yield row("work unit", Line(self._wu_id, placeholder="none; such as WU-042", id="wu_id"))
        yield row("source", Line(placeholder="where it is from", id="source"))

    def read(self) -> dict[str, Any]:
        text = self.query_one("#text", Prose).typed
        if not text:
            raise Invalid("Write a note: there is nothing to keep yet.", "text")
        tags = tuple(tag.strip() for tag in self.query_one("#tags", Line).text.split(",") if tag.strip())
        found = {name: self.query_one(f"#{name}", Line).text for name in ("wu_id", "source")}
        kind = self.query_one("#kind", Choice).value
        importance = float(self.query_one("#importance", Choice).value)
        self._check("tags", text, tags=tags)
        self._check("wu_id", text, wu_id=found["wu_id"])
        return {"text": text, "tags": tags, "kind": kind, "importance": importance, **found}

    def _check(self, field: str, text: str, **given: Any) -> None:
        try:
            passage(text, by="operator", now=0.0, **given)
        except ValueError as error:
            raise Invalid(f"The {error}.", field) from error
