"""The conversation as it is now: what is in its file, and what the worker of a turn under way does at this moment."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from lumen_tui.model import agent
from lumen_tui.model.agent import ACTS_FILE, Act
from lumen_tui.model.approvals import Approval
from lumen_tui.model.chat import Conversation, LiveTurn, live_turn
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store import approvals
from lumen_tui.store.sessions.chats import FollowedChat
from lumen_tui.store.tasks import task_files


class ChatView(Struct, frozen=True):
    """One look at the conversation."""

    conversation: Conversation = Conversation()
    live: LiveTurn = LiveTurn()
    asks: Approval | None = None  # what the turn asks a person


class ChatLook:
    """Looks again and again; what did not change is not read again. One thread at a time."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._chat = FollowedChat(layout)
        self._turn = 0
        self._events: Follower | None = None
        self._live = LiveTurn()
        self._view = ChatView()

    def look(self) -> ChatView:
        """Return the conversation as it is now: the very same view where nothing changed. Raise StoreError."""
        changed, live = self._chat.refresh(), self._live
        conversation = self._chat.conversation
        turn = conversation.open
        self._follow(turn.number if turn else 0)
        if changed or self._live is not live:
            asks = approvals.read(self._layout, self._live.approval) if self._live.approval else None
            self._view = ChatView(conversation, self._live, asks)
        return self._view

    def _follow(self, turn: int) -> None:
        """Take in what the worker of this turn did since the last look; 0 where none is under way."""
        if turn != self._turn:
            self.close()
            self._turn, self._live = turn, LiveTurn()
        if not turn:
            return
        if self._events is None:
            folder = task_files.folder_of(self._layout, agent.turn_id(turn))
            if folder is None:
                return
            self._events = Follower(folder / "events.jsonl")
        for _, data in self._events.pieces():
            self._live = live_turn(_decoded(data), self._live)

    def close(self) -> None:
        """Let go of the worker's file."""
        if self._events is not None:
            self._events.close()
            self._events = None


def _decoded(data: bytes) -> list[TaskEvent]:
    events = []
    for _, line in split_lines(data, 0):
        try:
            events.append(decode_safe(line, TaskEvent))
        except UNDECODABLE:
            continue
    return events


def looker(layout: Layout) -> Callable[[], ChatView]:
    """Return what looks at the conversation."""
    return ChatLook(layout).look


def made_tasks(layout: Layout, turn: int) -> tuple[str, ...]:
    """Return the ids of the tasks that a turn gave out."""
    folder = task_files.folder_of(layout, agent.turn_id(turn))
    acts = Journal(folder / ACTS_FILE).records(Act) if folder else ()
    return tuple(act.id for act in acts if act.kind == "task")
