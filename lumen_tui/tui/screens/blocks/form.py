"""A new memory block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from textual.widget import Widget

from lumen_tui.model.blocks import LIMIT, BadEdit, Fields, check_fields
from lumen_tui.model.ids import BadId, check_name
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.screen import FormScreen, Invalid, row
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.words import sentence


class BlockForm(FormScreen[dict[str, Any]]):
    """Answers with the arguments of `block.new`. `taken` gives the names that blocks have by then."""

    DEFAULT_CLASSES = "long"
    SEND = "make"

    def __init__(self, taken: Callable[[], Collection[str]]) -> None:
        super().__init__("New memory block")
        self._taken = taken

    def rows(self) -> Iterable[Widget]:
        yield row("name", Line(placeholder="such as projects", id="name"))
        yield row("for", Line(placeholder="what it is for, in a line", id="description"))
        yield row("limit", Line(placeholder=f"characters; {LIMIT:,} where nothing is said", id="limit"))
        yield row("text", Prose(placeholder="may be empty; e edits it later", sends=True, id="text"))

    def read(self) -> dict[str, Any]:
        name = self.query_one("#name", Line).text
        try:
            check_name(name, "name")
        except BadId as error:
            raise Invalid(f"The {error}.", "name") from error
        if name in self._taken():
            raise Invalid(f"There is a block {name} already: e edits it.", "name")
        limit, text = self._limit(), self.query_one("#text", Prose).typed
        description = self.query_one("#description", Line).text
        for field, words in (("description", ""), ("text", text)):
            try:
                check_fields(name, words, Fields(description=description, limit=limit or LIMIT))
            except BadEdit as error:
                raise Invalid(f"{sentence(str(error))}.", field) from error
        return {"name": name, "description": description, "limit": limit, "text": text}

    def _limit(self) -> int:
        digits = self.query_one("#limit", Line).text.replace(",", "").replace(" ", "")
        if not digits:
            return 0
        try:
            limit = int(digits)
            check_fields("", "", Fields(limit=limit))
        except BadEdit as error:
            raise Invalid(f"{sentence(str(error))}.", "limit") from error
        except ValueError as error:
            raise Invalid("A limit is a number of characters.", "limit") from error
        return limit
