"""Relays: what is held, and why; below it what went in. A person releases or drops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.segment import Segment

from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.relay import Box, Submission, SubmissionStatus
from lumen_tui.model.requests.blocks import DropTexts, ReleaseTexts
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.text import humanize
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.questions import ReasonPrompt
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, act, fill

Row = tuple[str, Submission]  # relay and submission
_NAMED = 5  # texts that a question names
_MOST_SHOWN = 400  # entries of one relay that went in, the newest first


class RelayRows(Rows[Row]):
    """Place, who, age, text; below the selected one why it is held."""

    def key(self, row: Row) -> str:
        return row[1].id

    def line(self, row: Row, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, (relay, submission) = self.look.ink, row
        held = submission.status is SubmissionStatus.HELD
        place = "held" if held else f"#{submission.position}" if submission.position else str(submission.status)
        return line(
            width,
            [
                Cell(place, ink.loud if held else ink.muted, 9),
                Cell(relay, ink.muted, min(16, width // 5)),
                Cell(submission.by, ink.muted, min(16, width // 5)),
                Cell(submission.title, ink.strong if selected else ink.text if held else ink.muted),
                Cell(words.age(self.now - submission.since), ink.muted, 6, right=True),
            ],
        )

    def more(self, row: Row, width: int) -> list[Segment]:
        submission, ink = row[1], self.look.ink
        if submission.status is SubmissionStatus.HELD:
            text = humanize("; ".join(submission.reasons))
        else:
            text = submission.note or f"id {ids.short(submission.id)}"
        return line(width, [Cell("", ink.muted, 9), Cell(text, ink.muted)])

    def words(self, row: Row) -> str:
        return f"{row[0]} {row[1].by} {row[1].text} {row[1].id}"

    def fields(self, row: Row) -> dict[str, str]:
        relay, submission = row
        return {"relay": relay, "by": submission.by, "status": str(submission.status), "id": submission.id}


class RelayScreen(LoadedSheet[Row, Sequence[Box]]):
    """What is held first, the oldest before the others; then what went in, the newest first."""

    SCOPE = "relays"
    OF_ROWS = frozenset({"relays_release", "relays_drop"})
    EMPTY = "No relays yet: `lumen-tui relay submit NAME TEXT --base 0` starts one."
    TWO_LINES = True

    def __init__(
        self, port: Port, now: float, read: Callable[[], Sequence[Box]], refusal: str = "", at: str = ""
    ) -> None:
        super().__init__("Relays", now, read)
        self._port, self._refusal, self._at = port, refusal, at
        self._titles: dict[str, str] = {}  # of what is held, by id

    def rows_view(self) -> RelayRows:
        return RelayRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        acts = () if self._refusal else self.offer("relays_release", "relays_drop", "undo", "mark")
        return (*acts, *super().keys())

    def _loaded(self, boxes: Sequence[Box]) -> None:
        held = [(box.name, submission) for box in boxes for submission in box.held]
        held.sort(key=lambda row: row[1].since)
        sent = [(box.name, submission) for box in boxes for submission in reversed(box.entries[-_MOST_SHOWN:])]
        self._titles = {submission.id: submission.title for _, submission in held}
        fill(self, [*held, *sent], "Relays", f"{len(held)} held · {words.plural(len(boxes), 'relay')}")
        if self._at and self.rows.select_key(self._at):
            self._at = ""

    def _chosen(self) -> list[str]:
        """Return the ids that a key is about; none, with a sentence, where nothing can be done."""
        if self._refused():
            return []
        chosen = list(self.rows.targets())
        if not chosen:
            self.say("nothing is held", bad=True)
        if any(id not in self._titles for id in chosen):
            self.say("only what is held can be released or dropped: this is in the relay already", bad=True)
            return []
        return chosen

    def _refused(self) -> bool:
        if self._refusal:
            self.say(self._refusal, bad=True)
        return bool(self._refusal)

    def action_release(self) -> None:
        if chosen := self._chosen():
            self.run_worker(act(self, self._port, ReleaseTexts(ids=chosen)), group="act")

    def action_drop(self) -> None:
        if chosen := self._chosen():
            self.run_worker(self._drop(chosen), group="act")

    async def _drop(self, chosen: list[str]) -> None:
        titles = [self._titles.get(id, id) for id in chosen[:_NAMED]]
        reason = await self.app.push_screen_wait(ReasonPrompt("Drop", (), titles))
        if reason is not None:
            await act(self, self._port, DropTexts(ids=chosen, reason=reason))

    def action_undo(self) -> None:
        if not self._refused():
            self.run_worker(act(self, self._port, Undo()), group="act")

    def opened(self, row: Row) -> None:
        heading = f"{row[0]}: {ids.short(row[1].id)}"
        self.app.push_screen(ReadingScreen(heading, row[1].text, list(_facts(row, self._now))))


def _facts(row: Row, now: float) -> Iterable[Fact]:
    relay, submission = row
    yield "relay", relay
    yield "status", f"{submission.status}" + (f" at position {submission.position}" if submission.position else "")
    yield "by", submission.by
    yield "came", times.dated(submission.since, now)
    yield "based on", f"position {submission.base}"
    for reason in submission.reasons:
        yield "held because", humanize(reason)
    if submission.updated_by:
        yield "decided", f"{times.dated(times.epoch(submission.updated_at), now)} by {submission.updated_by}"
    if submission.note:
        yield "note", submission.note
    yield "id", submission.id
