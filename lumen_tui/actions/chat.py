"""The conversation with the main agent: what the operator says, and what stops or begins one."""

from __future__ import annotations

from lumen_tui.actions import acting, edits, engine
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import agent, ids, times
from lumen_tui.model.chat import MOST_MESSAGE, MOST_WAITING, ChatLine, EntryKind
from lumen_tui.model.requests.chat import FreshChat, SendChat, StopChat
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.sessions import chats

_SAID = "what was said to the agent is not taken back: `chat.stop` stops its answer, and you can correct yourself"
_STOPPED = "a turn that was stopped does not go on: say it again"
_BEGUN = "the conversation before stays in chat.jsonl; say again what the agent should know"


def send(store: Store, request: SendChat, *, by: str, now: float) -> Done:
    """Append a message, on which the engine begins a turn at once; final."""
    if not acting.caller().order:
        raise ActionError(
            "only the operator talks with the agent here, and this was not seen to come from them "
            "(`lumen-tui operator show` says why): send it as a signal, or with a token of `lumen-tui operator token`"
        )
    text = _checked(request.text)
    waiting = len(chats.read(store.layout).waiting)
    if waiting >= MOST_WAITING:
        raise ActionError(f"{waiting} messages wait already: let the agent answer them first")
    message = ChatLine(EntryKind.MESSAGE, at=times.iso(now), id=ids.new_id("msg"), by=by, text=text, order=True)
    later = "" if engine.runs(store) else "; no engine runs yet"
    return _append(store, message, "chat.send", f"said: {one_line(text, 60)}{later}", _SAID, by=by, now=now)


def _checked(text: str) -> str:
    words = safe(text).strip()
    if not words:
        raise ActionError("the message is empty: say it in a few words")
    if (size := len(words.encode("utf-8", "replace"))) > MOST_MESSAGE:
        raise ActionError(
            f"the message has {size:,} bytes, a chat takes {MOST_MESSAGE:,}: put it into a file, and name the file here"
        )
    return words


def stop(store: Store, _request: StopChat, *, by: str, now: float) -> Done:
    """Ask the engine to end the turn that is under way, or take back what waits for one; final."""
    conversation = chats.read(store.layout)
    turn = conversation.open
    if turn is None and conversation.waiting:
        names = tuple(message.id for message in conversation.waiting)
        line = ChatLine(EntryKind.BACK, at=times.iso(now), id=names[-1], by=by, answers=names)
        return _append(store, line, "chat.stop", "taken back before the agent heard it", _STOPPED, by=by, now=now)
    if turn is None:
        raise ActionError("the agent is not answering: there is nothing to stop", missing=True)
    name = agent.turn_id(turn.number)
    summary = f"asked to stop turn {turn.number} of the chat"
    action = edits.new_action("chat.stop", (), summary=summary, by=by, now=now, target=name, final=_STOPPED)
    with journal.carrying_out(store.layout, action):
        engine.ask(store, "cancel", by=by, now=now, target=name, reason="stopped in the chat")
    return Done(summary=summary, target=name, action_id=action.id)


def fresh(store: Store, _request: FreshChat, *, by: str, now: float) -> Done:
    """Append the line with which a new conversation begins; final."""
    conversation = chats.read(store.layout)
    if conversation.open is not None:
        raise ActionError("the agent is answering: let it end, or stop it first")
    if not conversation.current:
        raise ActionError("the conversation is new: nothing was said in it yet", missing=True)
    line = ChatLine(EntryKind.FRESH, at=times.iso(now), id=ids.new_id("msg"), by=by)
    return _append(store, line, "chat.fresh", "a new conversation begins", _BEGUN, by=by, now=now)


def _append(store: Store, line: ChatLine, verb: str, summary: str, final: str, *, by: str, now: float) -> Done:
    action = edits.new_action(verb, (), summary=summary, by=by, now=now, target=line.id, final=final)
    with journal.carrying_out(store.layout, action):
        chats.append(store.layout, line)
    return Done(summary=summary, target=line.id, action_id=action.id)
