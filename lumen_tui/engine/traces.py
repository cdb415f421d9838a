"""Sends ended tasks to a collector of OpenTelemetry, over OTLP/HTTP in JSON, from a process beside the engine.

The engine's own numbered event that a task ended is what is followed, and the number of the last one that a collector
took is the cursor. It moves after the answer: killed between the two, the same spans with the same ids are sent again.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui import __version__
from lumen_tui.engine.mouths.http import post
from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import TASK_ENDED, EngineEvent, task_end
from lumen_tui.model.outward_config import TracesConfig
from lumen_tui.model.spendbook import HOLD, SENT, SETTLE, LedgerEntry
from lumen_tui.model.tasks import Exit, TaskEvent
from lumen_tui.model.traces import EndedTask, Json, export_request, spans_of
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger.ledger_pages import pages
from lumen_tui.store.settings import secrets
from lumen_tui.store.tasks.task_records import DamagedTask, archived_folder, read_json, read_spec

MOST = 100  # tasks of one request
_MOST_SPANS = 5000  # of one request: further tasks come with the next one
_DEEPEST = 50  # tasks that ordered one another
_FIRST, _LONGEST = 1.0, 300.0  # seconds between tries


class TraceCursor(Struct, frozen=True, omit_defaults=True):
    """traces.json: how far a collector took what the engine recorded. `gaps` counts events that were gone before."""

    seq: int = 0
    at: str = ""
    sent: int = 0  # spans, ever
    gaps: int = 0
    schema: int = 1


class TraceBatch(Struct, frozen=True):
    """What goes in one request, and where the cursor is once it was taken."""

    spans: Sequence[Json]
    cursor: TraceCursor
    more: bool = False


class TraceExporter:
    """Reads what ended since the cursor, and sends it."""

    def __init__(self, layout: Layout, config: TracesConfig) -> None:
        self._layout, self._config = layout, config
        self._seen = (0, 0)
        self._instance = hashlib.sha256(str(layout.root).encode()).hexdigest()[:16]

    def cursor(self) -> TraceCursor:
        """Return how far it came. Raise StoreError where that cannot be read: nothing is to be sent from the start."""
        data = files.read(self._layout.traces)
        if data is None:
            return TraceCursor()
        try:
            return msgspec.json.decode(data, type=TraceCursor)
        except UNDECODABLE as error:
            raise files.StoreError(f"{self._layout.traces} cannot be read: remove it to send all again") from error

    def changed(self) -> bool:
        """Return whether the engine recorded something since this was asked last. Costs one `stat`."""
        try:
            status = os.stat(self._layout.events)
        except OSError:
            return False
        before, self._seen = self._seen, (status.st_ino, status.st_size)
        return self._seen != before

    def batch(self) -> TraceBatch:
        """Return what comes next; without spans where nothing ended."""
        cursor = self.cursor()
        ended = [event for event in self._events(cursor.seq) if event.kind == TASK_ENDED]
        first = next(self._events(cursor.seq), None)
        gap = max(0, first.seq - cursor.seq - 1) if first is not None and cursor.seq else 0
        tasks = {event.task_id: event for event in ended[:MOST]}
        calls = self._calls(set(tasks), min((task_end(event).made[:7] for event in tasks.values()), default=""))
        spans: list[Json] = []
        last = cursor
        for event in ended[:MOST]:
            if spans and len(spans) > _MOST_SPANS:
                break
            if tasks[event.task_id] is event:  # the last of its attempts here
                spans += self._spans(event.task_id, calls.get(event.task_id, ()))
            last = TraceCursor(event.seq, event.at, cursor.sent + len(spans), cursor.gaps + gap)
        return TraceBatch(spans, last, more=bool(ended) and last.seq < ended[-1].seq)

    def send(self, batch: TraceBatch) -> None:
        """Send a batch and move the cursor. Raise NotSent, StoreError."""
        if batch.spans:
            body = msgspec.json.encode(export_request(batch.spans, __version__, self._instance))
            answer = post(self._config.endpoint, body, self._headers(), self._config.seconds)
            _must_be_taken(answer)
        files.replace(self._layout.traces, msgspec.json.encode(batch.cursor) + b"\n")

    def _headers(self) -> dict[str, str]:
        try:
            named = {
                name: secrets.resolve(f"traces.headers.{name}", value, os.environ)
                for name, value in self._config.headers.items()
            }
        except secrets.SecretMissing as error:
            raise NotSent(str(error), final=True) from error
        return {**named, "Content-Type": "application/json"}

    def _events(self, after: int) -> Iterator[EngineEvent]:
        for path in (self._layout.earlier_events, self._layout.events):
            for event in Journal(path).records(EngineEvent):
                if event.seq > after:
                    yield event

    def _spans(self, task_id: str, calls: Sequence[LedgerEntry]) -> list[Json]:
        folder = self._folder(task_id)
        if folder is None:
            return []
        try:
            spec, ended = read_spec(folder), read_json(folder / "exit.json", Exit)
        except DamagedTask:
            return []
        if ended is None:
            return []  # it was given back to the queue, and ends once more
        events = tuple(Journal(folder / "events.jsonl").records(TaskEvent))
        return spans_of(EndedTask(spec, ended, self._top(task_id, spec.parent), events, calls))

    def _folder(self, task_id: str) -> Path | None:
        live = self._layout.task(task_id)
        return live if live.is_dir() else archived_folder(self._layout.archive, task_id)

    def _top(self, task_id: str, parent: str) -> str:
        """Return the first of the tasks that ordered this one."""
        top = task_id
        for _ in range(_DEEPEST):
            folder = self._folder(parent) if parent else None
            if folder is None:
                return parent or top
            top = parent
            try:
                parent = read_spec(folder).parent
            except DamagedTask:
                return top
        return top

    def _calls(self, tasks: set[str], month: str) -> Mapping[str, Sequence[LedgerEntry]]:
        """Return the lines since a month on calls of these tasks: only the first line of a call names its task."""
        task_of: dict[str, str] = {}
        found: dict[str, list[LedgerEntry]] = {}
        turned = [page for page in pages(self._layout.spend) if page.name.removeprefix("spend-")[:7] >= month]
        for page in (*turned, self._layout.spend) if tasks else ():
            for entry in Journal(page).records(LedgerEntry):
                if entry.kind == HOLD and entry.task in tasks:
                    task_of[entry.id] = entry.task
                if entry.kind in (HOLD, SENT, SETTLE) and (task := task_of.get(entry.id)):
                    found.setdefault(task, []).append(entry)
        return found


def _must_be_taken(answer: bytes) -> None:
    """Raise NotSent where the collector says that it rejected spans: they would be lost in silence."""
    try:
        partial = msgspec.json.decode(answer or b"{}", type=dict[str, dict[str, object]]).get("partialSuccess", {})
    except UNDECODABLE:
        return  # an answer of its own kind, with the status of success
    if str(partial.get("rejectedSpans", "0")) not in ("0", ""):
        raise NotSent(f"the collector rejected {partial['rejectedSpans']} spans: {partial.get('errorMessage', '')}")


def pause(tries: int) -> float:
    """Return how many seconds to wait after so many failures in a row, spread by a quarter."""
    seconds: float = min(_LONGEST, _FIRST * 2 ** min(tries, 20))
    return seconds * random.uniform(0.75, 1.25)  # noqa: S311 - spreads load, guards nothing
