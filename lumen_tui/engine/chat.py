"""Turns of the chat: begun as soon as the operator says something, one at a time, also beside a loop.

A turn is a task of the role `main`: budget, approvals, transcript and cancel hold for it as for any session. Its
`turn` line in chat.jsonl comes first, then the spec; its worker writes what is said and the `end` line. Where it could
not, because it was killed or never began, the engine does. A turn writes no wake-state: only loops do, and the next one
is told what was said here.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.loops.briefing import BriefingInputs, chat_state
from lumen_tui.engine.loops.news import News
from lumen_tui.engine.loops.session import left_today
from lumen_tui.engine.supervisor.supervisor import TaskSupervisor
from lumen_tui.model import agent, times
from lumen_tui.model.capsule import Capsule
from lumen_tui.model.chat import ChatLine, Conversation, EntryKind, Turn, TurnEnd, cut_of, live_turn, too_long
from lumen_tui.model.config import Config
from lumen_tui.model.loop import TASK_ENDED
from lumen_tui.model.tasks import Exit, Spec, Status
from lumen_tui.model.text import one_line
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.redaction import clean
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions import chats
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import tail_events

_TITLE = 200  # characters of what was said, in the objective
_EVENT_BYTES = 1024 * 1024
_ENDS = {"cancelled": TurnEnd.STOPPED, "failed": TurnEnd.FAILED, "lost": TurnEnd.CUT_OFF, "done": TurnEnd.DONE}


class ChatTurns:
    """Begins turns and sees to the one that is under way. Nothing is kept in memory alone."""

    def __init__(self, store: Store, log: EventLog, supervisor: TaskSupervisor) -> None:
        self._store = store
        self._log = log
        self._supervisor = supervisor
        self._followed = chats.FollowedChat(store.layout)

    def close(self) -> None:
        """Let go of the file."""
        self._followed.close()

    def poll(self, config: Config, now: float, *, refusal: str, loop: int) -> None:
        """Make one pass: `refusal` says why nothing may begin, `loop` is the one that is at work, 0 for none."""
        self._followed.refresh()
        conversation = self._followed.conversation
        if turn := conversation.open:
            self._see_to(turn, config, now, refusal=refusal, loop=loop)
        elif conversation.waiting:
            self._begin(conversation, config, now, refusal=refusal, loop=loop)

    def _begin(self, conversation: Conversation, config: Config, now: float, *, refusal: str, loop: int) -> None:
        number = conversation.last + 1
        while task_files.folder_of(self._store.layout, agent.turn_id(number)) is not None:
            number += 1
        lines: list[ChatLine] = []
        sent = conversation.sent(number)
        if cut := too_long(sent):
            lines.append(cut_of(conversation, sent, times.iso(now), str(self._store.layout.chat)))
            sent = [turn for turn in sent if turn.number >= lines[0].turn]
        waiting = tuple(message.id for message in conversation.waiting)
        whole = not sent or cut
        begun = ChatLine(EntryKind.TURN, at=times.iso(now), turn=number, answers=waiting, whole=whole)
        refusal = refusal or self._supervisor.dispatcher.held_back(agent.ROLE)
        if refusal:
            chats.append(self._store.layout, begun, _end(number, TurnEnd.REFUSED, refusal, now))
            self._log.add("chat", f"turn {number} was not begun: {refusal}", now, task_id=agent.turn_id(number))
            return
        chats.append(self._store.layout, *lines, begun)
        self._followed.refresh()
        if turn := self._followed.conversation.open:
            self._see_to(turn, config, now, refusal="", loop=loop)

    def _see_to(self, turn: Turn, config: Config, now: float, *, refusal: str, loop: int) -> None:
        name = agent.turn_id(turn.number)
        folder = task_files.folder_of(self._store.layout, name)
        if folder is None:
            refusal = refusal or ("" if turn.messages else "it was taken back")
            if refusal:
                chats.append(self._store.layout, _end(turn.number, TurnEnd.REFUSED, refusal, now))
            else:
                self._start(turn, config, now, loop=loop)
        elif ended := task_files.read_exit(folder):
            self._close(turn, folder, ended, now)
        elif not refusal:
            view = self._supervisor.index.find(name)
            if view is not None and view.status is Status.QUEUED:
                self._supervisor.dispatcher.start_loop(name, now)

    def _start(self, turn: Turn, config: Config, now: float, *, loop: int) -> None:
        """Write the task of a turn that has begun, and have a worker take it."""
        name = agent.turn_id(turn.number)
        spec = Spec(
            id=name,
            objective=turn.asked,
            role=agent.ROLE,
            context=clean(self._state(turn, config, now, loop=loop)),
            priority="P0",
            created_by=one_line(turn.messages[-1].by, 60) if turn.messages else "operator",
            created_at=times.iso(now),
            order=all(message.order for message in turn.messages),
        )
        try:
            task_files.add(self._store.layout, spec)
        except task_files.Taken:
            return
        self._supervisor.notice(now)
        self._supervisor.dispatcher.start_loop(name, now)
        self._log.add("chat", f"turn {turn.number}: {one_line(turn.asked, _TITLE)}", now, task_id=name)

    def _state(self, turn: Turn, config: Config, now: float, *, loop: int) -> str:
        """Return what the agent is told beside the operator's words: everything, or what is new since the last turn."""
        before = self._followed.conversation.sent(turn.number)
        since = times.epoch(before[-1].begun.at) if before else 0.0
        with closing(SnapshotReader(self._store.root, config.agent.name)) as reader:
            snapshot = reader.snapshot(now)
        ended = [
            event
            for event in self._log.newest(TASK_ENDED)
            if since and times.epoch(event.at) >= since and not agent.is_own(event.task_id)
        ]
        inputs = BriefingInputs(
            layout=self._store.layout,
            snapshot=snapshot,
            news=News(ended=ended, signals=[], discoveries=0, cursor={}),
            signals=(),
            loop=loop,
            now=now,
            budget=left_today(snapshot.spend),
            capsule=Capsule(0, "", 0),
        )
        return chat_state(inputs, whole=turn.begun.whole, since=since).text

    def _close(self, turn: Turn, folder: Path, ended: Exit, now: float) -> None:
        """Write the end of a turn whose worker did not: with as much of its answer as there is."""
        name = agent.turn_id(turn.number)
        answer = [] if turn.answer else [*self._partial(turn, folder, now)]
        status = _ENDS.get(ended.status, TurnEnd.FAILED)
        end = _end(turn.number, status, ended.reason, now)
        chats.append(self._store.layout, *answer, end)
        self._log.add("chat", f"turn {turn.number} {status}: {one_line(ended.reason, _TITLE)}", now, task_id=name)

    def _partial(self, turn: Turn, folder: Path, now: float) -> list[ChatLine]:
        live = live_turn(tail_events(folder, count=2000, size=_EVENT_BYTES))
        last = max((step.answer for step in turn.steps), default=0)
        return chats.in_pieces(EntryKind.SAID, live.text, turn.number, now, answer=last + 1)


def _end(turn: int, status: TurnEnd, reason: str, now: float) -> ChatLine:
    return ChatLine(EntryKind.END, at=times.iso(now), turn=turn, status=str(status), reason=clean(reason))
