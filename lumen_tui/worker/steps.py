"""tasks/<id>/steps.jsonl: the conversation of a task, step by step, so that another process can go on from there.

What must not be lost or done twice is durable before anything else happens: an answer that was paid, a call that must
not be repeated as it begins and as it ends. The rest is written without a wait for the disk: a kill costs nothing of
it, a power cut at most what is done again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from lumen_tui.model import agent
from lumen_tui.model.digests import sha256
from lumen_tui.model.secrets.redaction import redact_value
from lumen_tui.model.tasks import Parked, Spec
from lumen_tui.model.text import inert_json
from lumen_tui.providers.conversation.history import Said, UserMessage
from lumen_tui.providers.conversation.steps import (
    VERSION,
    Answer,
    CallBegun,
    CallEnded,
    ConversationState,
    Decoded,
    GoesOn,
    Head,
    Record,
    Summary,
    decoded,
)
from lumen_tui.storage import directories, files
from lumen_tui.store.tasks import claims, task_records
from lumen_tui.tools.policy.verdict import CallHistory

NAME = "steps.jsonl"
_MOST_BYTES = 256 * 1024 * 1024
_ABOUT = ("objective", "context", "constraints", "accept", "role", "folder", "roots", "isolate", "wu_id")


def hash_of(value: object) -> str:
    """Return a short hash of any value that JSON can hold."""
    return sha256(msgspec.json.encode(value, order="deterministic"))[:24]


def about(spec: Spec) -> str:
    """Return a hash of what a task is to do; limits, which may change at any time, are no part of it."""
    names = (*_ABOUT, "model") if agent.loop_of(spec.id) else _ABOUT  # the models of a loop take over from each other
    return hash_of([getattr(spec, name) for name in names])


class Earlier(msgspec.Struct, frozen=True):
    """What an attempt can go on from: `records` from the last head on, or `why` there are none."""

    records: tuple[Record, ...] = ()
    why: str = ""  # empty, too, where nothing was recorded
    damaged: bool = False
    lost: tuple[CallBegun, ...] = ()  # begun behind the damage


def read(folder: Path, spec: Spec) -> Earlier:
    """Return from where the next attempt at a task can go on."""
    try:
        journal = decoded(files.read(folder / NAME, _MOST_BYTES) or b"")
    except (files.StoreError, OSError) as error:
        return Earlier(why=f"the record of its steps cannot be read: {error}")
    heads = [(at, record) for at, record in enumerate(journal.records) if isinstance(record, Head)]
    if not heads:
        return Earlier(why="the record of its steps is damaged from its beginning" if journal.damaged else "")
    place, head = heads[-1]
    if reason := _unfit(folder, spec, journal, head):
        return Earlier(why=reason)
    records = journal.records[place:]
    return Earlier(records if len(records) > 1 else (), "", journal.damaged, journal.lost)


def _unfit(folder: Path, spec: Spec, journal: Decoded, head: Head) -> str:
    """Return why what stands behind that head is of no use."""
    if head.version != VERSION:
        return f"the record of its steps is of another version ({head.version})"
    if head.task != spec.id:
        return f"the record of its steps is of another task ({head.task})"
    attempts = [record.attempt for record in journal.records if isinstance(record, Head | GoesOn)]
    if any(claim.attempt >= attempts[-1] for claim in claims.refuted(folder)):
        return "the attempt before had ended by itself"
    return "" if head.about == about(spec) else "the task was changed since"


def recorded(folder: Path) -> tuple[Record, ...]:
    """Return the last conversation of a task that is over, whatever can be read of it."""
    try:
        records = decoded(files.read(folder / NAME, _MOST_BYTES) or b"").records
    except (files.StoreError, OSError):
        return ()
    heads = [at for at, record in enumerate(records) if isinstance(record, Head)]
    return records[heads[-1] :] if heads else ()


def goes_on(folder: Path, spec: Spec) -> bool:
    """Return whether the next attempt at a task can go on from what the last one finished."""
    return bool(read(folder, spec).records)


class StepJournal:
    """The steps of one task. `state` is that from which this attempt goes on; empty where it begins."""

    def __init__(
        self,
        folder: Path,
        spec: Spec,
        attempt: int,
        redact: Callable[[str], str],
        guard: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._path = folder / NAME
        self._folder, self._spec, self._attempt = folder, spec, attempt
        self._redact = redact
        self._guard = guard
        self.parked: Parked | None = task_records.read_parked(folder)
        self.found = read(folder, spec)
        self.state = ConversationState(self.found.records)
        self._open: set[str] = set()  # calls that must not be made twice, begun and not ended
        self._began = False

    @property
    def earlier(self) -> tuple[Record, ...]:
        """The records from which this attempt goes on."""
        return self.found.records

    def begin(self, provider: str, prompt: str) -> str:
        """Begin, or go on; return what is to be said of that. A second conversation of one attempt begins anew.

        `provider` is the kind of back end, `prompt` a hash of the system prompt and the tools.
        """
        head = self.earlier[0] if self.earlier else None
        if self._began:
            self.found = Earlier()
        elif isinstance(head, Head) and head.provider != provider:
            self.found = Earlier(why="another kind of back end has it now")
        self._began = True
        with self._guard():
            if self.earlier:
                return self._go_on(prompt)
            reason, self.state = self.found.why, ConversationState()
            if (reason or self.found.damaged) and self._path.exists():
                directories.move(self._path, self._folder / f"steps.{self._attempt - 1}.jsonl")
            directories.remove(self._folder / task_records.PARKED_FILE)
            self.parked = None
            self._append([Head(self._spec.id, about(self._spec), self._attempt, provider, prompt)], durable=False)
        return f"begins from scratch: {reason}" if reason else ""

    def _go_on(self, prompt: str) -> str:
        if self.found.damaged:  # else what follows would stand behind the damage
            lines = [inert_json(msgspec.json.encode(record)) + b"\n" for record in self.earlier]
            files.replace(self._path, b"".join(lines))
        prompts = [record.prompt for record in self.earlier if isinstance(record, Head | GoesOn)]
        self._append([GoesOn(self._attempt, prompt)], durable=False)
        changed = "; its role's prompt or its tools were changed since" if prompts[-1] != prompt else ""
        lost = "; the end of the record of its steps was damaged" if self.found.damaged else ""
        return f"goes on after {len(self.state.calls)} calls of the attempts before{changed}{lost}"

    def keep(self, *records: Any) -> None:
        """Append steps, all or none. With the model's first answer after it was parked the task is so no more."""
        goes_on = self.parked is not None and any(isinstance(record, Answer) for record in records)
        ends = {record.result.call_id for record in records if isinstance(record, CallEnded)}
        durable = any(isinstance(record, Answer | CallBegun | Summary) for record in records) or bool(ends & self._open)
        with self._guard():
            self._append(records, durable=durable)
            self._open |= {record.call_id for record in records if isinstance(record, CallBegun)}
            if goes_on:
                directories.remove(self._folder / task_records.PARKED_FILE)
                self.parked = None

    def _append(self, records: Any, *, durable: bool) -> None:
        clean = [redact_value(msgspec.to_builtins(record), self._redact) for record in records]
        lines = [inert_json(msgspec.json.encode(entry)) + b"\n" for entry in clean]
        files.append(self._path, b"".join(lines), durable=durable)

    def park(self, parked: Parked) -> None:
        """Make all steps durable, then note that the task waits."""
        with self._guard():
            files.append(self._path, b"", durable=True)
            files.replace(self._folder / task_records.PARKED_FILE, msgspec.json.encode(parked))

    def said(self) -> str:
        """Return all that was said to the model beside the results of its calls."""
        messages = [entry for entry in self.state.entries if isinstance(entry, UserMessage)]
        return "\n".join(entry.text for entry in messages if entry.kind is not Said.SUMMARY)

    def history(self, called: tuple[str, ...]) -> CallHistory:
        """Return what the task has called before this attempt goes on; `called` is what all attempts made."""
        ended = self.state.calls
        return CallHistory(called, tuple(result.name for result in ended if result.ok), steps=len(ended))


def with_time(record: Any, seconds: float) -> Any:
    """Return a record with how much of its time the task has used."""
    return replace(record, seconds=seconds) if isinstance(record, Answer | CallBegun | CallEnded) else record
