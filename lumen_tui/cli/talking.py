"""The chat in a terminal: what the operator types is said to the agent, and its answer is printed as it comes.

Answers go to standard output, everything else to standard error. Where no engine drives the folder, the command drives
it as long as it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import threading
from collections.abc import Iterator

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, talk
from lumen_tui.engine.driving import Driver, StopSignals, driving
from lumen_tui.model import agent, ids
from lumen_tui.model.approvals import Approval
from lumen_tui.model.chat import ChatLine, Turn, TurnEnd, call_words, end_words, segments
from lumen_tui.model.requests.attention import AllowCalls, DenyCalls
from lumen_tui.model.requests.chat import FreshChat, SendChat, StopChat
from lumen_tui.model.tasks import Usage
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.chat_views import ChatLook, ChatView, made_tasks

_LOOK = 0.1  # seconds between two looks
_PATIENCE = 150  # looks at a turn that was stopped and does not end
_HELP = "Say something, and the agent answers. /new begins a new conversation, ctrl-c stops an answer, ctrl-d leaves."


def once(session: Session, text: str, *, as_json: bool) -> int:
    """Say one thing and print the answer. Exit code 0 answered, 1 not, 130 or 143 stopped."""
    return asyncio.run(_once(session, text, as_json=as_json))


async def _once(session: Session, text: str, *, as_json: bool) -> int:
    stop = StopSignals()
    stop.listen()
    message = session.perform(SendChat(text=text)).target
    async with driving(session.root, chat=True) as driver:
        turn = await _FollowedTurn(session, stop, driver, quiet=as_json).answered(message)
    if as_json and turn is not None:
        document(facts(session, turn))
    if stop.number:
        return stop.code
    return 0 if turn is not None and turn.end is not None and turn.end.status == TurnEnd.DONE else 1


def facts(session: Session, turn: Turn) -> dict[str, object]:
    """Return a turn as a program reads it."""
    end = turn.end or ChatLine("end")
    usage = end.usage or Usage()
    return {
        "turn": turn.number,
        "id": agent.turn_id(turn.number),
        "messages": [{"id": said.id, "at": said.at, "by": said.by, "text": said.text} for said in turn.messages],
        "status": end.status,
        "reason": end.reason,
        "answer": turn.answer,
        "calls": [{"tool": step.name, "arguments": step.arguments} for step in turn.steps if step.kind == "call"],
        "tasks": list(made_tasks(session.layout, turn.number)),
        "usage": {"tokens": usage.tokens, "usd": usage.usd},
        "brain": end.brain,
    }


class _FollowedTurn:
    """Follows the turn that answers a message, and prints what comes."""

    def __init__(self, session: Session, stop: StopSignals, driver: Driver, *, quiet: bool = False) -> None:
        self._session, self._stop, self._driver, self._quiet = session, stop, driver, quiet
        self._look = ChatLook(session.layout)
        self._places: list[int] = []  # how much of each part was printed
        self._told = ""  # the last thing that was said on standard error
        self._waited = 0
        self._at_start = True  # of a line
        self.view = ChatView()

    async def answered(self, message: str, ask: _Asks | None = None) -> Turn | None:
        """Wait for the end of the turn that takes up this message; None where there is none any more."""
        while True:
            self.view = await asyncio.to_thread(self._look.look)
            turn = self._turn_of(message)
            if turn is not None:
                self._show(turn)
            if turn is not None and turn.end is not None:
                return self._end(turn)
            if self._lost(message, turn):
                return turn
            if ask is not None and self.view.asks is not None:
                await ask.answer(self.view.asks)
            await asyncio.sleep(_LOOK)

    def _turn_of(self, message: str) -> Turn | None:
        turns = reversed(self.view.conversation.turns)
        return next((turn for turn in turns if message in turn.begun.answers), None)

    def _lost(self, message: str, turn: Turn | None) -> bool:
        """Return whether nothing more can come; asks for the end where the operator wants it."""
        if turn is None and message not in [one.id for one in self.view.conversation.waiting]:
            talk("lumen-tui: the message was taken back")
            return True
        if self._driver.look():
            self._say("lumen-tui: the engine is gone; this command drives the agent from here on")
        if self._driver.running is not None and self._driver.running.done():
            talk("lumen-tui: the engine of this command has ended; say it again")
            return True
        if self._stop.number:
            self._waited += 1
            if self._waited == 1:
                self._ask_to_stop()
            if self._stop.times > 1 or self._waited > _PATIENCE:
                talk("lumen-tui: left before the turn had ended; its engine ends it")
                return True
        return False

    def _ask_to_stop(self) -> None:
        self._break()
        talk("lumen-tui: stopping the answer; the agent goes on (once more leaves at once)")
        with contextlib.suppress(ActionError):  # it has just ended by itself
            self._session.perform(StopChat())

    def _show(self, turn: Turn) -> None:
        live = self.view.live
        for place, part in enumerate(segments(turn, live)):
            if place == len(self._places):
                self._places.append(0)
                if isinstance(part, ChatLine):
                    self._say(f"  {call_words(part)}")
            if isinstance(part, str):
                self._print(safe(part)[self._places[place] :])
                self._places[place] = len(safe(part))
        if live.waits:
            how = f" (lumen-tui approve {ids.short(live.approval)})" if live.approval else ""
            self._say(f"  {one_line(live.waits, 300)}{how}")

    def _print(self, text: str) -> None:
        if text and not self._quiet:
            self._at_start = text.endswith("\n")
            sys.stdout.write(text)
            sys.stdout.flush()

    def _break(self) -> None:
        if not self._at_start:
            self._print("\n")

    def _say(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._break()
            talk(text)

    def _end(self, turn: Turn) -> Turn:
        self._break()
        if words := end_words(turn):
            talk(f"lumen-tui: {words}")
        return turn


class _Asks:
    """Asks the operator, at the terminal, for what a call of the turn needs."""

    def __init__(self, session: Session, lines: _Lines) -> None:
        self._session, self._lines = session, lines
        self._seen: set[str] = set()

    async def answer(self, asked: Approval) -> None:
        """Ask once; whatever is no clear yes or no leaves it open for the room and `lumen-tui approve`."""
        if asked.id in self._seen:
            return
        self._seen.add(asked.id)
        for words in (asked.why, asked.risk, f"allow {asked.summary}?"):
            if words:
                talk(f"  {one_line(words, 300)}")
        word = (await self._lines.next("  [y]es, [n]o, enter: later ") or "").strip()
        request = {"y": AllowCalls, "yes": AllowCalls, "n": DenyCalls, "no": DenyCalls}.get(word.lower())
        if request is None:
            talk(f"  left open: lumen-tui approve {ids.short(asked.id)}")
            return
        try:
            talk(f"  {self._session.perform(request(approval_ids=asked.id, hash=asked.hash)).summary}")
        except ActionError as error:
            talk(f"  {error}")


class _Lines:
    """Lines that are typed. They are read in a thread, which a signal cannot hold up, nor the end of the program."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def next(self, prompt: str) -> str | None:
        """Return the next line; None at the end of the input."""
        reply: asyncio.Future[str | None] = self._loop.create_future()

        def read() -> None:
            try:
                line: str | None = input(prompt)
            except (EOFError, OSError, UnicodeDecodeError):
                line = None
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(_settle, reply, line)

        threading.Thread(target=read, daemon=True).start()
        return await reply


def _settle(reply: asyncio.Future[str | None], line: str | None) -> None:
    if not reply.done():
        reply.set_result(line)


def converse(session: Session) -> int:
    """Talk in turns until the operator leaves. Exit code 0, or 128 + n after a signal other than ctrl-c."""
    with _own_terminal():
        code = asyncio.run(_converse(session))
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)  # a thread may still wait for a line
    return code


@contextlib.contextmanager
def _own_terminal() -> Iterator[None]:
    """Give the terminal back as it was: whoever edits the line has changed it."""
    before = termios.tcgetattr(0)
    try:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - `input` edits the line with it
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


async def _converse(session: Session) -> int:
    stop = StopSignals()
    stop.listen()
    lines = _Lines()
    talk(_HELP)
    async with driving(session.root, chat=True) as driver:
        while True:
            text = await _typed(lines, stop)
            if text is None:
                break
            await _say(session, stop, driver, lines, text.strip())
            if stop.number and stop.number != signal.SIGINT:
                break
            stop.forget()
    if driver.running is not None:
        talk("lumen-tui: no engine drives the agent any more; `lumen-tui` or `lumen-tui --engine-only` starts one")
    return stop.code if stop.number and stop.number != signal.SIGINT else 0


async def _typed(lines: _Lines, stop: StopSignals) -> str | None:
    """Return what is typed; None at the end, or where the program is to end. Ctrl-c only says how to leave."""
    waiting = asyncio.ensure_future(lines.next("> "))
    while not waiting.done():
        await asyncio.wait([waiting], timeout=_LOOK)
        if stop.number and stop.number != signal.SIGINT:
            waiting.cancel()
            return None
        if stop.number:
            talk("\n(ctrl-d leaves; ctrl-c stops an answer)")
            stop.forget()
    return waiting.result()


async def _say(session: Session, stop: StopSignals, driver: Driver, lines: _Lines, text: str) -> None:
    try:
        if text == "/new":
            talk(f"({session.perform(FreshChat()).summary})")
        elif text in ("/help", "/?", "?"):
            talk(_HELP)
        elif text:
            message = session.perform(SendChat(text=text)).target
            await _FollowedTurn(session, stop, driver).answered(message, _Asks(session, lines))
    except ActionError as error:
        talk(f"lumen-tui: {error}")
