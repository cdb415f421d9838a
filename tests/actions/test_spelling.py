"""Each request as a command line: what the command line makes of the words is the request again."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.registry import HANDLERS, named, request_types
from lumen_tui.cli.parser import COMMANDS, TWO_WORDS, UsageError, build_parser
from lumen_tui.cli.session import Session
from lumen_tui.model.requests import spelling
from lumen_tui.model.requests.base import Request, declared_fields
from lumen_tui.model.requests.spelling import command_line, words_of
from lumen_tui.storage.rewriting import Watch, unwatched
from tests.actions.conftest import ActionsFolder
from tests.actions.random_acts import VERBS, Stage

# Verbs without a command of their own: what they hold is no text of a line, or they are part of another command.
ROOM_ONLY = {
    "role.hire": "the whole role file",
    "role.adjust": "the whole role file",
    "block.patch": "a diff",
    "af.import": "a plan",
    "changes.write": "an edited file",
    "chat.fresh": "a conversation that goes on",
    "handoff.take": "part of `ready --take`",
}
PARTLY = ("setting.change", "wu.split")  # the decay rule; parts that are only titles
ADDED = {  # what the command itself fills in: where it ran, and which call it looked up
    "session.start": ("folder", "started_below"), "checkpoint.save": ("folder",), "approval.allow_always": ("hash",),
}  # fmt: skip
ANSWERED_BY_STATE = {  # what such a command is about is looked up first, and may not be there
    *("attention.dismiss", "attention.snooze", "attention.back", "approval.allow_always", "node.promote"),
    *("memory.index", "node.delete", "role.fire", "summary.make"),
}


class Asked(Exception):
    """A command asked for this."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.verb)
        self.request = request


class Asking(Session):
    """A session that carries nothing out."""

    def perform(self, request: Request, *, by: str = "", watch: Watch = unwatched) -> Done:
        raise Asked(request)


def asked_by(root: Path, words: Sequence[str]) -> Request:
    """Return what a command line would have carried out."""
    line = ["-".join(words[:2]), *words[2:]] if "-".join(words[:2]) in TWO_WORDS else list(words)
    args = build_parser(line[0]).parse_args(line)
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), pytest.raises(Asked) as asked:
        args.run(Asking(root, "ana"), args)
    return asked.value.request


def plain(request: Request) -> dict[str, Any]:
    """Return what a request says; one name is a list of one, and what the command fills in is left out."""
    given = request.given()
    for name, field in declared_fields(type(request)).items():
        if name in given and field.hint == str | Sequence[str] and isinstance(given[name], str):
            given[name] = [given[name]]
    added = ADDED.get(request.verb, ())
    return {name: value for name, value in given.items() if value not in ([], {}) and name not in added}


@pytest.mark.parametrize("seed", range(3))
def test_the_words_of_a_request_make_the_same_request(desk: ActionsFolder, tmp_path: Path, seed: int) -> None:
    stage = Stage(desk, tmp_path / "beside", seed)
    refused = set()
    for verb, arguments in VERBS.items():
        request = named(verb, arguments(stage))
        words = words_of(request)
        if not words:
            assert verb in (*ROOM_ONLY, *PARTLY), verb
            continue
        assert tuple(shlex.split(command_line(request)))[1:] == words
        try:
            found = asked_by(desk.root, words)
        except ActionError:
            refused.add(verb)
            continue
        assert (found.verb, plain(found)) == (verb, plain(request)), words
    assert refused <= ANSWERED_BY_STATE


def test_every_verb_has_a_command_or_is_of_the_room_alone() -> None:
    assert set(spelling.COMMANDS) | set(ROOM_ONLY) == set(HANDLERS)
    assert not set(spelling.COMMANDS) & set(ROOM_ONLY)
    for command in spelling.COMMANDS.values():
        assert command.split()[0] in COMMANDS or "-".join(command.split()) in COMMANDS


HARD = ("", "-x", "--json", "- -", "a b", "it's", '"q"', "$HOME `ls`", "line\nline", "ünïcode", "a=b", "*", "#7", "x,y")


@pytest.mark.parametrize("text", HARD)
def test_words_that_look_like_options_or_need_quotes_come_back(desk: ActionsFolder, text: str) -> None:
    for request in (
        named("signal.send", {"message": text, "to": text, "key": "k"}),
        named("task.tell", {"task_id": "tsk-1", "text": text}),
        named("wu.new", {"title": text, "body": text, "acceptance": [text, "b"]}),
        named("task.new", {"objective": text or "x", "constraints": [text], "context": text}),
        named("question.answer", {"question_id": "apr-1", "answer": text, "hash": "f5"}),
        named("engine.pause", {"reason": text, "target": "role:builder", "seconds": 90.0}),
    ):
        words = shlex.split(command_line(request))[1:]
        assert plain(asked_by(desk.root, words)) == plain(request)


def test_what_no_line_can_say_has_no_words() -> None:
    kinds = request_types()
    assert words_of(named("setting.change", {"changes": {"agent.name": "Ada"}})) == ()
    assert words_of(named("wu.split", {"wu_id": "WU-1", "parts": [{"title": "a", "body": "b"}]})) == ()
    assert words_of(named("task.tell", {"task_id": "tsk-1", "text": "--"})) == ()  # argparse loses it
    assert words_of(named("node.create", {"content": "x", "tags": ["a,b"]})) == ()
    assert words_of(msgspec.convert({"text": "-", "verb": "chat.send"}, kinds["chat.send"])) == ()


def test_the_decay_rule_titles_and_caps_have_words(desk: ActionsFolder) -> None:
    rule = named("setting.change", {"changes": {"memory.decay.half_life_days": 20.0, "memory.decay.threshold": 0.2}})
    assert words_of(rule) == ("decay", "set", "--half-life", "20", "--threshold", "0.2")
    assert plain(asked_by(desk.root, words_of(rule))) == plain(rule)
    split = named("wu.split", {"wu_id": "WU-1", "parts": [{"title": "-a"}, {"title": "b"}], "in_order": True})
    assert plain(asked_by(desk.root, words_of(split))) == plain(split)
    retry = named("task.retry", {"task_id": "tsk-1", "budget": {"tokens": 5000, "usd": 1.5}})
    assert plain(asked_by(desk.root, words_of(retry))) == plain(retry)


def test_a_wrong_word_is_refused_as_everywhere() -> None:
    with pytest.raises(UsageError):
        build_parser("task").parse_args(["task", "fly"])
