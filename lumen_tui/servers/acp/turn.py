"""One prompt: its task followed to its end, with its calls and questions put before the client's user."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from lumen_tui.actions import engine
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import TaskDetail
from lumen_tui.model.changelist import is_open
from lumen_tui.model.tasks import DECLINED, STEP_LIMIT, Spec, Status, TaskView
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.documents import waiting
from lumen_tui.servers import reads
from lumen_tui.servers.acp.asking import OpenQuestions
from lumen_tui.servers.acp.commands import FOLLOW
from lumen_tui.servers.acp.narration import Narrator
from lumen_tui.servers.acp.peer import Peer
from lumen_tui.servers.acp.records import TaskRecords
from lumen_tui.servers.acp.shapes import (
    PlanEntry,
    PlanPriority,
    PlanStatus,
    PlanUpdate,
    StopReason,
    TextContent,
    Update,
    UserChunk,
)
from lumen_tui.servers.catalogue import Counter, OperationError
from lumen_tui.servers.desk import Desk
from lumen_tui.servers.jsonrpc import IncomingCall
from lumen_tui.storage.files import StoreError
from lumen_tui.store.tasks import change_records, task_files
from lumen_tui.tools.isolation import records

_POLL = 0.1  # seconds between two looks for news
_LOOK = 1.0  # seconds between two looks at the task itself where there is no news
_PATIENCE = 10.0  # seconds for a cancelled task to end
_SETTLING = 5.0  # seconds for the engine to put on file what a task changed apart
_MOST_RESULT = 200_000  # characters
_LOOKED_AT = 200  # tasks among which those are that it has ordered
_PRIORITIES: dict[str, PlanPriority] = {"P0": "high", "P1": "high", "P3": "low"}
_FILES = "files"  # in a task's folder: from where the names count of what it writes
_NO_ENGINE = (
    "No engine runs on this state folder, so the task waits for one. Open the room, or run `lumen-tui --engine-only`."
)


class TaskTurn:
    """The task of one prompt, told in its session. `call` is cancelled where the client cancels the prompt."""

    def __init__(
        self,
        counter: Counter,
        peer: Peer,
        call: IncomingCall,
        session_id: str,
        spec: Spec,
        *,
        known: int = 0,
        spent: float = 0.0,
    ) -> None:
        self._counter, self._desk = counter, counter.desk
        self._call = call
        self._spec = spec
        self._tell = partial(peer.update, session_id)
        self.narrator = _narrator(self._desk, spec, self._tell, known, spent)
        self._records = TaskRecords(self._desk.layout, spec, self.narrator)
        self._questions = OpenQuestions(counter, peer, call.who, session_id, spec.id, self.narrator.say)
        self._ended = 0.0  # when its end was seen
        self._held = ""  # why it had not begun, as it was told last
        self._plan: tuple[PlanEntry, ...] = ()  # as it was told last

    def follow(self) -> StopReason:
        """Tell of the task until it is over, asks for words, or is cancelled."""
        try:
            return self._follow()
        finally:
            self._questions.close()
            self._records.close()

    def _follow(self) -> StopReason:
        if not engine.runs(self._desk.store):
            self.narrator.say(_NO_ENGINE)
        looked = 0.0
        while True:
            is_news = self._records.tell()
            if is_news or self._questions.has_answers or time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                detail = self._look()
                if detail is None:
                    self.narrator.say("The task was taken back.")
                    return "end_turn"
                if reads.is_over(detail.view) and self._is_settled():
                    return self._end(detail)
                if self._asks(detail.view):
                    return "end_turn"
            if self._call.cancelled.wait(_POLL):
                return self._cancel()

    def _is_settled(self) -> bool:
        """Return whether what the task changed apart is on file, which the engine sees to; after a while give it up."""
        folder = task_files.folder_of(self._desk.layout, self._spec.id)
        try:
            isolation = records.read_isolation(folder) if folder else None
        except OSError:
            return True  # it is damaged: nothing comes of it any more
        self._ended = self._ended or time.monotonic()
        return isolation is None or isolation.state == "settled" or time.monotonic() - self._ended > _SETTLING

    def _look(self) -> TaskDetail | None:
        """Return the task as it is now; None where it was taken back."""
        try:
            return self._desk.task(self._spec.id)
        except ActionError:
            return None

    def _asks(self, view: TaskView) -> bool:
        """Put before the user what waits for a person; return whether the next prompt is to answer it."""
        held = waiting(view, self._desk.snapshot().standing).reason if view.status is Status.QUEUED else ""
        if held and held != self._held:
            self.narrator.think(f"waits: {held}")
        self._held = held
        self._tell_plan()
        return self._questions.look(reads.questions_below(self._desk, view.id), self.narrator.open_call)

    def _tell_plan(self) -> None:
        """Tell of the tasks that this one has ordered, where that is another picture than before."""
        ordered = [view for view in self._desk.snapshot().tasks[:_LOOKED_AT] if view.spec.parent == self._spec.id]
        plan = tuple(_planned(view) for view in sorted(ordered, key=lambda view: view.spec.created_at))
        if plan != self._plan:
            self._plan = plan
            self._tell(PlanUpdate(entries=plan))

    def _cancel(self) -> StopReason:
        """Cancel the task, and tell what it still does until it ends."""
        self._questions.close()
        arguments = {"task_id": self._spec.id, "reason": f"cancelled in {self._call.who.name}"}
        try:
            self._counter.invoke(self._call.who, "cancel_task", arguments)
        except OperationError as error:
            self.narrator.think(f"not cancelled: {error}")
        until = time.monotonic() + (_PATIENCE if engine.runs(self._desk.store) else 0.0)
        while time.monotonic() < until and (detail := self._look()) is not None and not reads.is_over(detail.view):
            self._records.tell()
            time.sleep(_POLL)
        self._records.tell()
        self.narrator.close()
        return "cancelled"

    def _end(self, detail: TaskDetail) -> StopReason:
        self._records.tell()
        self.narrator.close()
        _tell_end(self._desk, self.narrator, detail)
        return stop_reason(detail.view)


def _planned(view: TaskView) -> PlanEntry:
    """Return a task that another has ordered as an entry of that one's plan."""
    status: PlanStatus = (
        "completed" if reads.is_over(view) else "pending" if view.status is Status.QUEUED else "in_progress"
    )
    priority = _PRIORITIES.get(view.spec.priority, "medium")
    return PlanEntry(content=one_line(view.spec.objective, 200), priority=priority, status=status)


def _narrator(desk: Desk, spec: Spec, tell: Callable[[Update], None], known: int, spent: float) -> Narrator:
    return Narrator(spec.id, spec.folder, str(desk.layout.task(spec.id) / _FILES), tell, known, spent)


def retell(desk: Desk, tell: Callable[[Update], None], spec: Spec, spent: float) -> int:
    """Tell a prompt of before and what became of it; return how many events of its task that was."""
    tell(UserChunk(content=TextContent(text=safe(spec.objective)), message_id=f"{spec.id}-0"))
    narrator = _narrator(desk, spec, tell, 0, spent)
    records = TaskRecords(desk.layout, spec, narrator)
    records.tell()
    records.close()
    with suppress(ActionError):  # it was taken back
        detail = desk.task(spec.id)
        if reads.is_over(detail.view):
            narrator.close()
            _tell_end(desk, narrator, detail)
        else:
            narrator.say(f"This task is {detail.view.outcome}: `/{FOLLOW}` goes on with it.")
    return narrator.heard


def _tell_end(desk: Desk, narrator: Narrator, detail: TaskDetail) -> None:
    """Tell the result, unless its words were just told, what waits for acceptance, and how it ended if not done."""
    view, words = detail.view, detail.result.strip()
    if words and words != narrator.last_words.strip():
        narrator.say(words[:_MOST_RESULT])
    if waits := _changed(desk, view):
        narrator.say(waits)
    if view.status is not Status.DONE:
        narrator.say(f"{view.outcome}: {one_line(view.reason, 600)}" if view.reason else view.outcome)


def _changed(desk: Desk, view: TaskView) -> str:
    """Return that files which a task changed apart wait for a person; empty where none do."""
    folder = task_files.folder_of(desk.layout, view.id)
    try:
        changes = change_records.read_list(folder) if folder else None
        if folder is None or changes is None or not is_open(changes, change_records.read_decisions(folder)):
            return ""
    except (StoreError, OSError):
        return ""  # the room tells of what is damaged
    return f"Changed apart, waiting to be accepted ({len(changes.files)}): `lumen-tui changes show {view.id}`"


def stop_reason(view: TaskView) -> StopReason:
    """Return why the turn ended, as the protocol has it; a task that failed otherwise has told so."""
    if view.cap:
        return "max_tokens"
    if view.reason.startswith(STEP_LIMIT):
        return "max_turn_requests"
    return "refusal" if DECLINED in view.reason else "end_turn"
