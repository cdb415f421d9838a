"""What other programs may do: verbs of `actions.registry`, with the fields of their requests that are offered.

Each is done in the program's name (`Desk.perform`). What is not named here cannot be done from outside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import getitem
from typing import Annotated, Literal

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.access import Principal
from lumen_tui.model.requests.attention import AllowCalls, AnswerQuestion, DenyCalls
from lumen_tui.model.requests.base import DeclaredField, Request, declared_fields
from lumen_tui.model.requests.memory import InsertPassage
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.queries.documents import Document
from lumen_tui.servers.desk import Desk

_OPEN = 20  # tasks that one program may have open at once
_LONGEST = 20_000  # characters of one text
_OTHERWISE = {"folder": "a whole path, from which relative names in the objective count"}  # said of a field here
_TRUST = "untrusted"  # of what a program leaves in memory: nobody knows what it has read


def arguments_of(kind: type[Request], *names: str) -> type[Struct]:
    """Return the struct of the named fields of a request, with what it says of them, as a JSON Schema is made of."""
    declared = declared_fields(kind)
    fields: list[tuple[str, object] | tuple[str, object, object]] = [
        (name, _type(name, declared[name]))
        if declared[name].default is NODEFAULT
        else (name, _type(name, declared[name]), declared[name].default)
        for name in names
    ]
    return msgspec.defstruct(f"{kind.__name__}Arguments", fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def _type(name: str, field: DeclaredField) -> object:
    """Return the type of a field with its choices, its bound, and what is said of it."""
    hint = field.hint
    if field.arg.choices:
        default = (field.default,) if isinstance(field.default, str) else ()
        hint = getitem(Literal, tuple(dict.fromkeys((*default, *field.arg.choices))))
    elif hint is str:
        hint = Annotated[str, Meta(max_length=_LONGEST)]
    text = _OTHERWISE.get(name, field.arg.help)
    return getitem(Annotated, (hint, Meta(description=text))) if text else hint


def submit(desk: Desk, who: Principal, kind: type[Request], arguments: Struct, more: Mapping[str, object]) -> Document:
    """Carry out the verb whose request the arguments make, with `more` fields of ours."""
    given = {name: getattr(arguments, name) for name in arguments.__struct_fields__}
    return done_document(desk.perform(who, kind(**{**given, **more})))


def done_document(done: Done) -> Document:
    """Return what a verb answers: a sentence, the id of what it made or changed, and how it is undone."""
    document: Document = msgspec.to_builtins(done)
    return document


def create_task(desk: Desk, who: Principal, arguments: Struct) -> Document:
    """Queue a task, at most so many of one program: what it asks for costs the operator's money."""
    folder = getattr(arguments, "folder", "")
    if folder and not os.path.isabs(folder):
        raise ActionError("folder must be a whole path: there is none that relative ones count from")
    own = [view for view in desk.snapshot().tasks[:200] if view.spec.created_by == who.by and not view.finished]
    if len(own) >= _OPEN:
        raise ActionError(f"{who.by} has {len(own)} tasks open, and may have {_OPEN}: wait for one, or cancel one")
    return submit(desk, who, NewTask, arguments, {})


def remember(desk: Desk, who: Principal, arguments: Struct) -> Document:
    return submit(desk, who, InsertPassage, arguments, {"trust": _TRUST, "source": who.by})


class AnswerApproval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(min_length=1, max_length=64, description="the call that waits")]
    hash: Annotated[str, Meta(min_length=64, max_length=64, description="of the call, as read_approval shows it")]
    allow: Annotated[bool, Meta(description="true lets the worker make this very call once")]
    reason: Annotated[str, Meta(max_length=2000, description="goes back to the worker")] = ""


class AnswerWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(min_length=1, max_length=64, description="the question that waits")]
    hash: Annotated[str, Meta(min_length=64, max_length=64, description="of the question, as read_approval shows it")]
    answer: Annotated[str, Meta(min_length=1, max_length=4000, description="a text, or the number of an option")]


def answer_approval(desk: Desk, who: Principal, arguments: AnswerApproval) -> Document:
    kind = AllowCalls if arguments.allow else DenyCalls
    request = kind(approval_ids=arguments.id, hash=arguments.hash, reason=arguments.reason)
    return done_document(desk.perform(who, request))


def answer_question(desk: Desk, who: Principal, arguments: AnswerWords) -> Document:
    request = AnswerQuestion(question_id=arguments.id, hash=arguments.hash, answer=arguments.answer)
    return done_document(desk.perform(who, request))
