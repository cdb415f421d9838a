"""What goes from one attempt of a task to the next: its steps, what its calls remember, the time that it has used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from lumen_tui.model.digests import openssl_sha256
from lumen_tui.model.tasks import Parked, Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.providers.base import Job, ToolCall
from lumen_tui.providers.conversation.history import ModelCall
from lumen_tui.providers.conversation.steps import Answer, CallBegun, CallEnded, CallWaits, Record, Summary
from lumen_tui.store.tasks import task_records
from lumen_tui.tools.base import TaskMemo, ToolResult
from lumen_tui.tools.outputs import OUTPUTS
from lumen_tui.tools.toolbox import Toolbox
from lumen_tui.worker.asking import ApprovalClient
from lumen_tui.worker.limits import TaskLimits
from lumen_tui.worker.questions import QuestionClient
from lumen_tui.worker.record import Recorder, Transcript
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.steps import StepJournal, hash_of, with_time
from lumen_tui.worker.world import TaskTally, World

_MAY_HAVE = (
    "The process that made this call ended before the end of the call was known. It may have happened, wholly, in part "
    "or not at all, and was not made again. {seen}Look at what is there before you decide whether to make it once more."
)
_RUNNING = (
    "The process that worked on this task has ended and another one goes on. Commands in the background ended with it, "
    "and how is not known: {names}. Start again what is still needed."
)
_LOST = (
    "The end of the record of your work was damaged, and what you did then is lost. Calls that may have happened then "
    "and were not made again: {calls}. Look at what is there before you make one of them once more."
)


class Handover:
    """Takes over from the attempt before, if that left something, and leaves to the next one."""

    def __init__(self, world: World, spec: Spec, tally: TaskTally) -> None:
        self._world, self._spec = world, spec
        self._tally = tally
        self.steps = StepJournal(world.folder, spec, tally.attempt, world.redact, world.stopper.guard)
        self.memo = TaskMemo()
        self._limits: TaskLimits | None = None
        self._spending: Spending | None = None
        self.granted: Callable[[], str] = str  # the approval that allowed the call which is made now
        self._call = ToolCall("", {})  # the one that is made now, ...
        self._what = ""  # ... and that in words
        self._parked = self.steps.parked
        state = self.steps.state
        tally.usage, tally.seconds = state.usage, state.seconds
        self.memo.web.update(state.web)
        self.memo.hosts = state.hosts
        self.memo.known = {path: bytes.fromhex(known) for path, known in state.known.items()}
        self.memo.contents = _contents(self.steps.earlier)
        self.memo.outputs, self.memo.output_bytes = _stored(world.folder)
        self._known = dict(self.memo.known)

    def counts(self, limits: TaskLimits, spending: Spending) -> None:
        """Have steps kept with the time that they took, and with the calls of the ledger that paid for them."""
        self._limits, self._spending = limits, spending

    def keep(self, *records: Any) -> None:
        """Keep steps of the conversation."""
        used = self._limits.used() if self._limits else 0.0
        self.steps.keep(*(with_time(self._completed(record), used) for record in records))

    def _completed(self, record: Any) -> Any:
        """Return an answer with the call that paid for it, the end of a call with what is known after it."""
        if isinstance(record, Answer | Summary) and self._spending and (held := self._spending.account.held):
            return replace(record, key=held.id, day=held.day)
        if not isinstance(record, CallEnded):
            return record
        self._call = ToolCall("", {})
        known, self._known = self._known, dict(self.memo.known)
        files = {path: value.hex() for path, value in self._known.items() if known.get(path) != value}
        files |= {path: "" for path in known if path not in self._known}
        running = tuple(name for name, job in self.memo.running.items() if job.exit_code is None)
        web = tuple(sorted(self.memo.web))
        return replace(record, web=web, hosts=self.memo.hosts, running=running, files=files)

    def calls(self, call: ToolCall, description: str) -> None:
        """Note that a call is made now; `description` is that in words."""
        self._call, self._what = call, description
        self.granted()  # a yes to the call before, which then did not begin, is none to this one

    def begins(self, tool: str) -> None:
        """Note that what must not be made twice begins now: the next attempt does not repeat it."""
        with self._world.stopper.guard():
            task_records.note_unrepeatable_call(self._world.folder, self._tally.attempt, tool, self._world.now())
        if self._call.id:
            self.keep(CallBegun(self._call.id, self._call.name, self._what, self.granted()))

    def approvals(self, events: Recorder, stays: Callable[[], bool]) -> ApprovalClient:
        """Return who asks a person about calls. Where `stays` holds the process has to stay while it waits."""
        client = ApprovalClient(
            self._world, self._spec, events, self._tally.attempt, park=self.park, stays=stays, unused=self.unused
        )
        self.granted = client.granted
        return client

    def unused(self, approval: str) -> bool:
        """Return whether the steps of the attempts before are known, and no call was begun with this yes."""
        known = bool(self.steps.earlier) and not self.steps.found.damaged
        return known and approval not in self.steps.state.used

    def cut_off(self, call: ToolCall, toolbox: Toolbox, events: Recorder) -> ToolResult:
        """Record a call that may have happened in the attempt before; return what the model is told of it."""
        seen = toolbox.traces(call.name, call.arguments)
        words = f"may have happened, as the worker ended meanwhile: {toolbox.describe(call.name, call.arguments)}"
        words = f"{words}; {seen}" if seen else words
        events.event("uncertain", words, tool=one_line(call.name, 60), ok=False)
        return ToolResult(_MAY_HAVE.format(seen=f"What can be seen of it: {seen}. " if seen else ""), ok=False)

    def park(self, question: str) -> None:
        """Note that the task waits for a person, or for tasks that it ordered, under this id."""
        if self._call.id:
            self.keep(CallWaits(self._call.id, question))
        self.steps.park(Parked(attempt=self._tally.attempt, question=question, at=iso(self._world.now())))

    def begin(self, provider: str, job: Job, events: Recorder) -> Job:
        """Begin the conversation, or go on with it, and say which. What was paid is booked if it was not.

        Return the job with the steps from which it goes on. Raises ProviderError where nothing can be booked.
        """
        tools = [[tool.name, tool.description, tool.schema] for tool in job.tools]
        if words := self.steps.begin(provider, hash_of([job.system, tools])):
            more: dict[str, Any] = {"goes_on": len(self.steps.state.calls)} if self.steps.earlier else {}
            events.event("note", words, **more)
        if self._spending and (paid := self.steps.state.paid) and paid.key:
            self._spending.book(paid.key, paid.day, paid.usage)
        return replace(job, earlier=self.steps.earlier)

    def go_on(self, questions: QuestionClient, hear: Callable[[str], None], transcript: Transcript) -> None:
        """Have the model hear what ended with the attempt before, and an answer that this one took and lost."""
        state, conversation = self.steps.state, self.steps.said()
        if not self.steps.earlier:
            return
        transcript.remark("goes on from the attempt before; the conversation so far is in the transcript of that")
        texts = [_RUNNING.format(names=", ".join(state.running))] if state.running else []
        if lost := self.steps.found.lost:
            texts.append(_LOST.format(calls="; ".join(one_line(call.what or call.name, 200) for call in lost)))
        for text in texts:
            if text not in conversation:
                hear(text)
        if self._parked is not None and state.turn is None:  # the call has its result: a request may have held it
            questions.again(self._parked.question, conversation)


def _stored(folder: Path) -> tuple[int, int]:
    """Return the highest number of an output that was stored whole, and the bytes of all."""
    try:
        with os.scandir(folder / OUTPUTS) as entries:
            sizes = {entry.name.partition(".")[0]: entry.stat().st_size for entry in entries}
    except OSError:
        return 0, 0
    return max((int(name) for name in sizes if name.isdigit()), default=0), sum(sizes.values())


def _contents(records: Iterable[Record]) -> dict[str, bytes]:
    """Return path -> content of the files as a task last read or wrote them, where the records of its steps hold it.

    A step keeps the hash of each file. The content itself is in what the call was given or gave, as far as nothing in
    it was cut or masked; the hash says whether it is.
    """
    calls: dict[str, ModelCall] = {}
    by_path: dict[str, bytes] = {}
    for record in records:
        if isinstance(record, Answer):
            calls |= {call.id: call for call in record.turn.calls}
        elif isinstance(record, CallEnded):
            for path, known in record.files.items():
                before = by_path.pop(path, None)
                for data in _candidates(calls.get(record.result.call_id), record.result.text, before):
                    if openssl_sha256(data).hexdigest() == known:
                        by_path[path] = data
    return by_path


def _candidates(call: ModelCall | None, result: str, before: bytes | None) -> Iterator[bytes]:
    """Yield what a file may hold after a call: what it was before is `before`, where that is known."""
    yield from (b"", result.encode("utf-8", "replace"), f"{result}\n".encode("utf-8", "replace"))
    given = call.arguments if call else {}
    content, old, new = (given.get(name) for name in ("content", "old_string", "new_string"))
    if isinstance(content, str):
        yield content.encode("utf-8", "replace")
    if before is not None and isinstance(old, str) and isinstance(new, str) and old:
        yield before.replace(old.encode("utf-8", "replace"), new.encode("utf-8", "replace"))
