"""Where an action is done from, and which actions belong together: known to every verb without being handed through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from lumen_tui.model.records import Action
from lumen_tui.storage import process

CLI = "cli"  # all command lines of one operator, but those of an agent in a session, which are that session's
ENGINE = "engine"  # what the engine does in an agent's name, or in its own
LEARNING = "evolution"  # in whose name the engine learns by itself
_ROOM = "room-"


class Word(NamedTuple):
    """Whose word is being carried out, from where, and when; and the ids of the actions that came of it so far."""

    by: str = "undo"
    client: str = ""
    now: float = 0.0  # seconds since 1970
    actions: list[str] | None = None  # None: what is done is no one's word, and each action stands by itself


_NOBODY = Word()
_word: ContextVar[Word] = ContextVar("word", default=_NOBODY)


@contextmanager
def on_the_word_of(by: str, client: str, now: float) -> Iterator[None]:
    """Let the actions of the block be those of this operator in this client, and be undone as one."""
    token = _word.set(Word(by, client, now, []))
    try:
        yield
    finally:
        _word.reset(token)


def word() -> Word:
    """Whose word is being carried out."""
    return _word.get()


def group_of(action_id: str) -> str:
    """The group of an action that is made now: the id of the first one of the same word, or nothing without one."""
    ids = _word.get().actions
    if ids is None:
        return ""
    ids.append(action_id)
    return ids[0]


def mine(by: str, client: str, since: float = 0.0) -> Callable[[Action], bool]:
    """Whether undo acts on it: done by this operator and in this client.

    A room goes on with what rooms did that have ended; records of earlier versions name no client and belong to all.
    """

    def test(action: Action) -> bool:
        return action.by == by and (action.client in ("", client) or not client or _left_behind(action.client, client))

    return test


def is_by_id(who: str, client: str, by: str) -> bool:
    """Whether an operator undoes by its id what was done by `who`: all of their own, and what the engine learnt."""
    return who == by or (who == LEARNING and client == ENGINE)


def _left_behind(origin: str, client: str) -> bool:
    return client.startswith(_ROOM) and origin.startswith(_ROOM) and not process.lives(origin.removeprefix(_ROOM))


def words(origin: str, client: str) -> str:
    """Where something was done, for people."""
    if origin == client:
        return "here"
    if origin.startswith(_ROOM):
        name = origin.removeprefix(_ROOM)
        pid = name.partition("-")[0]
        return f"in another room (process {pid})" if process.lives(name) else "in a room that has ended"
    return "on the command line" if origin in ("", CLI) else f"in {origin}"
