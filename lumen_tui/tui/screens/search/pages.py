"""What opens behind a hit of the search."""

from __future__ import annotations

from typing import Any

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model import ids
from lumen_tui.model.searching import Hit
from lumen_tui.queries.search.search import Searcher
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.screen import DetailScreen
from lumen_tui.tui.screens.memory.node_detail import node_text
from lumen_tui.tui.screens.search.view import facts, told


async def show_hit(
    screen: DetailScreen[Any], port: Port, searcher: Searcher, hit: Hit, now: float, refusal: str
) -> None:
    """Open the task's own screen, or the text of what was found with all that is known of it."""
    if hit.type == "task":
        from lumen_tui.tui.screens.tasks.detail_screen import TaskDetailScreen

        screen.app.push_screen(TaskDetailScreen(port, hit.ref, now, refusal=refusal))
        return
    text = await looked(screen, _text, port, searcher, hit)
    heading = f"{hit.type.capitalize()} {ids.short(hit.ref)}"
    screen.app.push_screen(ReadingScreen(heading, text, list(facts(hit, now))))


def _text(port: Port, searcher: Searcher, hit: Hit) -> str:
    """All of it, or as much as is indexed."""
    if hit.type == "conversation":
        return told(searcher.surroundings(hit.ref), hit.ref)
    text = searcher.text(hit.ref)
    if not hit.ref.startswith("mem-"):
        return text
    try:
        chain = port.provenance(hit.ref)
        return node_text(port.node(hit.ref), chain)
    except (ActionError, StoreError):
        return text
