"""A discovery becomes a work unit: in which lane, under which title."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget

from lumen_tui.model import ids
from lumen_tui.model.records import Node
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit.fields import Line, Offers
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row


class PromoteForm(FormScreen[dict[str, str]]):
    """Answers with `lane` and `title`. A lane may be taken from the known ones or typed; `lane` stands there at first.

    With a `count` above 1 the form is for several discoveries, and each keeps its title.
    """

    SEND = "promote"

    def __init__(self, node: Node, lanes: tuple[str, ...], lane: str = "", count: int = 1) -> None:
        super().__init__("Promote to a work unit" if count == 1 else f"Promote {count} discoveries to work units")
        self._node = node
        self._lanes = lanes
        self._lane = lane or (lanes[0] if len(lanes) == 1 else "")
        self._count = count

    def keys(self) -> Keys:
        return (("enter", "or F2"), ("↑↓", "a known lane"), ("tab", "next field"), ("esc", "cancel"))

    def rows(self) -> Iterable[Widget]:
        offers = Offers(self._lanes, id="lane", value=self._lane, placeholder="a stream of work, such as Core")
        yield row("lane", offers)
        if self._count == 1:
            yield row("title", Line(one_line(self._node.title, 200), id="title"))

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#lane", Line).select_all()  # to type another lane is to replace this one

    def preview(self) -> Content:
        node = self._node
        lane = self.query_one("#lane", Line).text
        new = " · a new lane" if lane and lane not in self._lanes else ""
        if self._count > 1:
            return Content(
                f"{self._count} work units{new} · the discoveries are closed and linked; undo takes all back"
            )
        noticed = f" · noticed on {one_line(node.wu_id, 20)}" if node.wu_id else ""
        return Content(
            f"{node.priority or 'P2'}{noticed}{new} · the discovery is closed and linked; undo takes it back"
        )

    def read(self) -> dict[str, str]:
        lane = self.query_one("#lane", Line).text
        title = self.query_one("#title", Line).text if self._count == 1 else self._node.title
        if not lane:
            raise Invalid("Give a lane: take a known one with ↑↓ or type a new one.", "lane")
        if not title:
            raise Invalid("Give a title: the work unit is found by it.", "title")
        try:
            return {"lane": ids.check_label(lane, "lane"), "title": title}
        except ids.BadId as error:
            raise Invalid(f"The {error}.", "lane") from error
