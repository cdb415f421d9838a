"""A prompt of a session: a slash command, the answer to a worker's question, or a task."""

from __future__ import annotations

import os

from lumen_tui.model import times
from lumen_tui.model.access import Scope
from lumen_tui.model.approvals import Approval
from lumen_tui.model.tasks import Spec
from lumen_tui.servers import reads
from lumen_tui.servers.acp import commands, history, prompts
from lumen_tui.servers.acp.history import PastTurn
from lumen_tui.servers.acp.peer import Peer
from lumen_tui.servers.acp.shapes import ContentBlock, InfoUpdate, StopReason
from lumen_tui.servers.acp.turn import TaskTurn
from lumen_tui.servers.catalogue import Counter, Fault, OperationError
from lumen_tui.servers.desk import Desk
from lumen_tui.servers.jsonrpc import INTERNAL_ERROR, IncomingCall, invalid
from lumen_tui.store.tasks import task_files
from lumen_tui.tools.files.opening import is_below_any
from lumen_tui.tools.mcp.messages import JsonRpcError

_MOST_TRIES = 20  # numbers that others may have taken


class AcpSession:
    """One conversation as this process has it; all that outlives it are the tasks of its prompts."""

    def __init__(self, session_id: str, cwd: str, role: str, model: str = "") -> None:
        self.id = session_id
        self.cwd = cwd
        self.role = role
        self.model = model
        self.notices: list[str] = []  # for its next answer
        self.warned: set[str] = set()  # roles of which was said that they may change nothing here
        self.known: dict[str, int] = {}  # events of each task that the client was told of


class Prompter:
    """Takes the prompts of one client."""

    def __init__(self, counter: Counter, peer: Peer) -> None:
        self._counter, self._desk = counter, counter.desk
        self._peer = peer

    def take(self, call: IncomingCall, session: AcpSession, prompt: tuple[ContentBlock, ...]) -> StopReason:
        """Give a worker what is asked, and tell of it until it is over; or hand on the answer to its question."""
        name, behind = commands.command_of(prompts.typed(prompt))
        if name in commands.LOOKS:
            self._peer.say(session.id, commands.answer(self._counter, call, name, behind))
            return "end_turn"
        past = list(history.turns(self._desk.layout, session.id))
        if name and not past:
            raise invalid("nothing was asked in this session yet")
        while session.notices:
            self._peer.say(session.id, session.notices.pop())
        spec = past[-1].spec if name else self._answered(call, past, prompt)
        spec = spec or self._ordered(call, session, past, prompt)
        return self._follow(call, session, spec, history.spent(turn for turn in past if turn.spec.id != spec.id))

    def _follow(self, call: IncomingCall, session: AcpSession, spec: Spec, spent: float) -> StopReason:
        known = session.known.get(spec.id, 0)
        turn = TaskTurn(self._counter, self._peer, call, session.id, spec, known=known, spent=spent)
        try:
            return turn.follow()
        finally:
            session.known[spec.id] = turn.narrator.heard

    def _answered(self, call: IncomingCall, past: list[PastTurn], prompt: tuple[ContentBlock, ...]) -> Spec | None:
        """Take the prompt as the answer to the question of the task before; return that task, None where none waits."""
        if not past or not call.who.may(Scope.APPROVE):
            return None
        spec = past[-1].spec
        question = question_of(self._desk, spec)
        if question is None:
            return None
        answer: dict[str, object] = {"id": question.id, "hash": question.hash, "answer": prompts.typed(prompt)}
        self._invoke(call, "answer_question", answer)
        return spec

    def _ordered(
        self, call: IncomingCall, session: AcpSession, past: list[PastTurn], prompt: tuple[ContentBlock, ...]
    ) -> Spec:
        """Queue the task of a prompt and return it."""
        words = prompts.words_of(prompt, history.told(past))
        if session.role not in session.warned and (reason := self._no_changes(session)):
            session.warned.add(session.role)
            self._peer.say(session.id, reason)
        fields = {
            "objective": words.objective,
            "context": words.context,
            "role": session.role,
            "model": session.model,
            "folder": session.cwd,
        }
        number = past[-1].number + 1 if past else 1
        if number == 1:
            now = times.iso(self._desk.now)
            self._peer.update(session.id, InfoUpdate(title=history.title_of(words.objective), updated_at=now))
        for tried in range(number, number + _MOST_TRIES):
            done = self._invoke(call, "create_task", {**fields, "key": history.key_of(session.id, tried)})
            if done.get("action_id"):  # else there was a task under this key, which is not of this prompt
                spec = task_files.read_spec(self._desk.layout, str(done["target"]))
                if spec is not None:
                    return spec
        raise JsonRpcError(INTERNAL_ERROR, "the task was taken back, or others order tasks in this session")

    def _no_changes(self, session: AcpSession) -> str:
        """Return that the role may change nothing in the session's folder; empty where it may, or changes no files."""
        snapshot = self._desk.snapshot()
        role = next((role for role in snapshot.roles if role.name == session.role), None)
        if role is None or not role.changes_files or role.isolate:
            return ""
        granted = [
            os.path.realpath(os.path.expanduser(name)) for name in snapshot.config.sandbox.granted(role.writable)
        ]
        if is_below_any(session.cwd, granted):
            return ""
        return (
            f"{role.name} may not change {session.cwd}: name it in `[sandbox] writable` of lumen.toml where it shall."
        )

    def _invoke(self, call: IncomingCall, name: str, arguments: dict[str, object]) -> dict[str, object]:
        try:
            return dict(self._counter.invoke(call.who, name, arguments))
        except OperationError as error:
            if error.fault is Fault.FAILED:
                raise JsonRpcError(INTERNAL_ERROR, str(error)) from error
            raise invalid(str(error)) from error


def question_of(desk: Desk, spec: Spec) -> Approval | None:
    """Return the question of a task, or of one that it ordered, that waits for words."""
    return next((asked for asked in reads.questions_below(desk, spec.id) if asked.question), None)
