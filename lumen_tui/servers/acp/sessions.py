"""What each method does. Loaded with the first request behind the handshake, which does without the state folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from lumen_tui.model import agent
from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import TIERS
from lumen_tui.model.text import one_line
from lumen_tui.servers import wording
from lumen_tui.servers.acp import commands, history
from lumen_tui.servers.acp.history import PastTurn
from lumen_tui.servers.acp.peer import Peer
from lumen_tui.servers.acp.prompting import AcpSession, Prompter, question_of
from lumen_tui.servers.acp.shapes import (
    ListSessions,
    LoadSession,
    ModeUpdate,
    NewSession,
    OfSession,
    OpenedSession,
    OptionsUpdate,
    OptionValue,
    PromptEnd,
    SelectOption,
    SessionMode,
    SessionModes,
    SessionPage,
    SessionPrompt,
    SetMode,
    SetOption,
)
from lumen_tui.servers.acp.turn import retell
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.desk import Desk
from lumen_tui.servers.jsonrpc import IncomingCall, invalid, no_method
from lumen_tui.tools.mcp.messages import JsonRpcError

_ROLE = "researcher"  # of a session that has chosen none: it changes nothing
_MOST_SESSIONS = 200  # of one client at once
_MODE, _MODEL = "mode", "model"
_OWN = "role"  # the value of the model that stands for the role's own
_NOT_FOUND = -32002
_PAGE = 50  # sessions
_S = TypeVar("_S", bound=Struct)


class Sessions:
    """The sessions of one client over one state folder."""

    def __init__(self, counter: Counter, peer: Peer, who: Principal) -> None:
        self._desk = counter.desk
        self.peer = peer
        self._who = who
        self._turn = threading.Lock()
        self._open: dict[str, AcpSession] = {}
        self._prompter = Prompter(counter, peer)

    def answer(self, method: str, call: IncomingCall) -> object:
        """Return the result of a request. JsonRpcError where it is refused."""
        handle = _METHODS.get(method)
        if handle is None:
            raise no_method(method)
        call.must_may(Scope.READ)
        return handle(self, call)

    def new(self, call: IncomingCall) -> OpenedSession:
        asked = _decoded(call, NewSession)
        session = AcpSession(history.new_session(), _folder(self._desk, asked), self._usual_role())
        self._take_in(call, session, asked)
        return replace(self._opened(session), session_id=session.id)

    def load(self, call: IncomingCall) -> OpenedSession:
        """Take a session up again, and tell all of it."""
        session, past = self._again(call)
        spent, tell = 0.0, partial(self.peer.update, session.id)
        for turn in past:
            session.known[turn.spec.id] = retell(self._desk, tell, turn.spec, spent)
            spent += history.spent([turn])
        if past and (question := question_of(self._desk, past[-1].spec)) is not None:
            self.peer.say(session.id, wording.question(question))
        return self._opened(session)

    def resume(self, call: IncomingCall) -> OpenedSession:
        """Take a session up again whose client knows what was said."""
        return self._opened(self._again(call)[0])

    def _again(self, call: IncomingCall) -> tuple[AcpSession, list[PastTurn]]:
        asked = _decoded(call, LoadSession)
        if not history.is_session(asked.session_id):
            raise _no_session(asked.session_id)
        past = list(history.turns(self._desk.layout, asked.session_id))
        session = AcpSession(asked.session_id, _folder(self._desk, asked), self._usual_role())
        if past:
            last = past[-1].spec
            if session.cwd != os.path.realpath(last.folder):
                raise invalid(f"this session belongs to another folder: {one_line(last.folder, 200)}")
            session.role = last.role if last.role in (role.name for role in self._roles()) else session.role
            session.model = last.model if last.model in TIERS else ""
        self._take_in(call, session, asked)
        return session, past

    def listed(self, call: IncomingCall) -> SessionPage:
        asked = _decoded(call, ListSessions)
        folder = None if asked.cwd is None else os.path.realpath(asked.cwd)
        infos = [info for info in history.sessions(self._desk.snapshot().tasks) if folder in (None, info.cwd)]
        if asked.cursor is not None and not (asked.cursor.isascii() and asked.cursor.isdecimal()):
            raise invalid("cursor is none that was given out")
        start = int((asked.cursor or "0")[:9])
        end = start + _PAGE
        more = str(end) if end < len(infos) else UNSET
        return SessionPage(sessions=tuple(infos[start:end]), next_cursor=more)

    def close(self, call: IncomingCall) -> object:
        """Forget a session; a prompt of it that is under way was cancelled as this was read."""
        session = self._session(_decoded(call, OfSession).session_id)
        with self._turn:
            self._open.pop(session.id, None)
        return {}

    def _take_in(self, call: IncomingCall, session: AcpSession, asked: NewSession) -> None:
        """Keep a session; what is not used of what the client offers is noted for its first answer."""
        call.after = partial(self.peer.update, session.id, commands.offered())
        with self._turn:
            if len(self._open) >= _MOST_SESSIONS and session.id not in self._open:
                raise invalid(f"{_MOST_SESSIONS} sessions are open: close some first")
            self._open[session.id] = session
        if count := len(asked.mcp_servers):
            session.notices.append(
                f"MCP servers that {self._who.name} offers ({count}) are not used: `[mcp.servers]` in lumen.toml names "
                "those of workers."
            )

    def _usual_role(self) -> str:
        names = [role.name for role in self._roles()]
        return _ROLE if _ROLE in names or not names else names[0]

    def _roles(self) -> list[Role]:
        return [role for role in self._desk.snapshot().roles if role.name != agent.ROLE]

    def _opened(self, session: AcpSession) -> OpenedSession:
        """Return who can answer in a session and by which model, both as modes and as options."""
        roles = self._roles()
        modes = tuple(SessionMode(id=role.name, name=role.name, description=role.purpose) for role in roles)
        return OpenedSession(
            modes=SessionModes(current_mode_id=session.role, available_modes=modes),
            config_options=_options(session, roles),
        )

    def set_mode(self, call: IncomingCall) -> object:
        asked = _decoded(call, SetMode)
        session = self._session(asked.session_id)
        self._set_role(session, asked.mode_id)
        self.peer.update(session.id, OptionsUpdate(config_options=_options(session, self._roles())))
        return {}

    def set_option(self, call: IncomingCall) -> object:
        asked = _decoded(call, SetOption)
        session = self._session(asked.session_id)
        if asked.config_id == _MODE:
            self._set_role(session, asked.value)
            self.peer.update(session.id, ModeUpdate(current_mode_id=session.role))
        elif asked.config_id == _MODEL and asked.value in (_OWN, *TIERS):
            session.model = "" if asked.value == _OWN else asked.value
        else:
            raise invalid(f"there is no option {asked.config_id[:40]!r} with the value {asked.value[:40]!r}")
        return {"configOptions": _options(session, self._roles())}

    def _set_role(self, session: AcpSession, name: str) -> None:
        if name not in (role.name for role in self._roles()):
            raise invalid(f"there is no role {name[:40]!r}")
        session.role = name

    def _session(self, session_id: str) -> AcpSession:
        with self._turn:
            session = self._open.get(session_id)
        if session is None:
            raise _no_session(session_id)
        return session

    def prompt(self, call: IncomingCall) -> PromptEnd:
        call.must_may(Scope.ACT)
        asked = _decoded(call, SessionPrompt)
        return PromptEnd(stop_reason=self._prompter.take(call, self._session(asked.session_id), asked.prompt))


def _options(session: AcpSession, roles: list[Role]) -> tuple[SelectOption, ...]:
    """Return what a session lets its user choose: role and model."""
    names = tuple(OptionValue(value=role.name, name=role.name, description=role.purpose) for role in roles)
    tiers = (
        OptionValue(value=_OWN, name="as the role has it"),
        *(OptionValue(value=tier, name=tier) for tier in TIERS),
    )
    return (
        SelectOption(id=_MODE, name="Role", category=_MODE, current_value=session.role, options=names),
        SelectOption(id=_MODEL, name="Model", category=_MODEL, current_value=session.model or _OWN, options=tiers),
    )


def _folder(desk: Desk, asked: NewSession) -> str:
    """Return the real folder of a session. It grants nothing: what may be changed there is the operator's to say."""
    if asked.additional_directories:
        raise invalid("additionalDirectories is no capability of this agent: a session has one folder")
    if not os.path.isabs(asked.cwd) or "\0" in asked.cwd:
        raise invalid("cwd must be a whole path")
    folder, state = os.path.realpath(asked.cwd), Path(os.path.realpath(desk.root))
    if not os.path.isdir(folder):
        raise invalid(f"cwd is no folder on this machine: {one_line(asked.cwd, 200)}")
    if Path(folder).is_relative_to(state):
        raise invalid("cwd is in the state folder of the agent: open the folder of a project")
    return folder


def _decoded(call: IncomingCall, kind: type[_S]) -> _S:
    try:
        return msgspec.convert(call.params, kind)
    except msgspec.ValidationError as error:
        raise invalid(one_line(str(error), 300)) from error


def _no_session(session_id: str) -> JsonRpcError:
    return JsonRpcError(_NOT_FOUND, f"there is no session {one_line(session_id, 60)!r}: begin one, or load it")


_METHODS: dict[str, Callable[[Sessions, IncomingCall], object]] = {
    "session/new": Sessions.new,
    "session/load": Sessions.load,
    "session/resume": Sessions.resume,
    "session/list": Sessions.listed,
    "session/close": Sessions.close,
    "session/set_mode": Sessions.set_mode,
    "session/set_config_option": Sessions.set_option,
    "session/prompt": Sessions.prompt,
}
