"""The command that searches everything the agent knows, did and said."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.tui.handlers.base import Handler

_TALK_BYTES = 16 * 1024 * 1024  # of new conversations between two answers


class SearchHandler(Handler):
    """The search screen."""

    def do_search(self) -> None:
        from lumen_tui.queries.search.search import Searcher
        from lumen_tui.storage.layout import Layout
        from lumen_tui.tui.screens.search.screen import SearchScreen

        lumen = self.room.lumen
        searcher = Searcher(Layout(Path(self.snapshot.root)), conversation_bytes=_TALK_BYTES)
        lumen.push_screen(SearchScreen(lumen.port, searcher, self.snapshot, self.refusal))
