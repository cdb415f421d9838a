"""The command line that makes a request: the inverse of the parser. The room shows and copies it.

Most words follow from what the fields say of themselves; the tables here hold the rest.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from lumen_tui.model.requests.base import Arg, DeclaredField, Request, declared_fields
from lumen_tui.model.requests.tasks import NewTask

PROGRAM = "lumen-tui"

# The command of each verb. A verb that is not here has none: it is done in the room, or by another command on the way.
COMMANDS: Mapping[str, str] = {
    "task.new": "task new",
    "task.cancel": "task cancel",
    "task.retry": "task retry",
    "task.edit": "task edit",
    "task.tell": "task tell",
    "task.limit": "task limit",
    "question.answer": "question answer",
    "signal.send": "signal",
    "signal.read": "inbox",
    "signal.read_all": "inbox",
    "node.create": "create",
    "node.archive": "archive",
    "node.unarchive": "unarchive",
    "triage.promote": "triage",
    "triage.archive": "triage",
    "triage.keep": "triage",
    "triage.merge": "triage",
    "triage.edit": "triage",
    "decay.pin": "pin",
    "decay.touch": "touch",
    "decay.apply": "decay",
    "setting.change": "decay set",
    "summary.make": "summarize",
    "summary.rewrite": "rewrite",
    "cleanup.nodes": "cleanup",
    "cleanup.signals": "signal cleanup",
    "node.promote": "promote",
    "node.delete": "delete",
    "memory.index": "index",
    "archive.insert": "archive insert",
    "archive.withdraw": "archive withdraw",
    "fact.add": "fact add",
    "fact.check": "fact check",
    "fact.confirm": "fact confirm",
    "fact.probe": "fact probe",
    "fact.retire": "fact retire",
    "role.fire": "role fire",
    "role.rehire": "role rehire",
    "host.cordon": "hosts cordon",
    "host.uncordon": "hosts uncordon",
    "host.drain": "hosts drain",
    "host.remove": "hosts remove",
    "wu.new": "wu new",
    "wu.split": "wu split",
    "wu.claim": "wu claim",
    "wu.block": "wu block",
    "wu.unblock": "wu unblock",
    "wu.release": "wu release",
    "wu.done": "wu done",
    "import.lumenflow": "import lumenflow",
    "import.beads": "import beads",
    "relation.add": "link",
    "relation.remove": "link",
    "session.start": "start",
    "session.end": "session end",
    "decision.note": "decide",
    "decision.answer": "decide",
    "checkpoint.save": "checkpoint",
    "handoff.give": "handoff",
    "budget.raise": "budget raise",
    "kill": "kill",
    "unkill": "unkill",
    "engine.beat": "beat",
    "engine.pause": "pause",
    "engine.resume": "resume",
    "engine.stop": "stop",
    "attention.dismiss": "attention aside",
    "attention.snooze": "attention snooze",
    "attention.back": "attention back",
    "approval.allow": "approve",
    "approval.deny": "deny",
    "approval.allow_always": "approve",
    "approval.forget": "approvals forget",
    "evolution.accept": "evolve",
    "evolution.reject": "evolve",
    "evolution.edit": "evolve",
    "evolution.restore": "evolve",
    "evolution.mark": "evolve mark",
    "evolution.propose": "evolve propose",
    "evolution.withdraw": "evolve withdraw",
    "evolution.promote": "evolve promote",
    "evolution.take": "evolve take",
    "evolution.split": "evolve split",
    "evolution.rollback": "evolve rollback",
    "constitution.approve": "constitution approve",
    "block.new": "blocks new",
    "block.append": "blocks append",
    "block.replace": "blocks replace",
    "block.rethink": "blocks rethink",
    "block.adjust": "blocks set",
    "block.lock": "blocks lock",
    "block.unlock": "blocks unlock",
    "block.restore": "blocks restore",
    "relay.submit": "relay submit",
    "relay.release": "relay release",
    "relay.drop": "relay drop",
    "changes.accept": "changes accept",
    "changes.drop": "changes drop",
    "changes.commit": "changes commit",
    "changes.push": "changes push",
    "changes.give": "changes give",
    "schedule.add": "schedule add",
    "schedule.remove": "schedule remove",
    "schedule.pause": "schedule pause",
    "schedule.resume": "schedule resume",
    "schedule.run": "schedule run",
    "chat.send": "chat",
    "chat.stop": "chat",
    "tool.accept": "tool accept",
    "tool.withdraw": "tool withdraw",
    "operator.claim": "operator claim",
    "operator.release": "operator release",
    "operator.note": "operator note",
    "undo": "undo",
    "redo": "redo",
}

# Options that a command always needs to mean its verb.
_FLAGS: Mapping[str, tuple[str, ...]] = {
    "approval.allow_always": ("--always",),
    "relation.remove": ("--remove",),
    "signal.read_all": ("--read-all",),
    "chat.stop": ("--stop",),
}
_DECAY_RULE = {"memory.decay.half_life_days": "--half-life", "memory.decay.threshold": "--threshold"}


class Unspellable(Exception):
    """No command line says this."""


class _Words:
    """Words of a command line while it is made: those with a place, and options."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.options: list[str] = []

    def option(self, name: str, *values: object) -> None:
        """Add an option with its values."""
        texts = [_text(value) for value in values]
        if len(texts) == 1 and texts[0].startswith("-"):
            self.options.append(f"{name}={texts[0]}")
        elif any(text.startswith("-") for text in texts):
            raise Unspellable
        else:
            self.options += [name, *texts]

    def after(self, command: str) -> tuple[str, ...]:
        """Return all words; options come first where a word with a place could be taken for one."""
        if any(text.startswith("-") for text in self.places):
            return (*command.split(), *self.options, "--", *self.places)
        return (*command.split(), *self.places, *self.options)


def words_of(request: Request) -> tuple[str, ...]:
    """Return the words behind `lumen-tui` that make this request; none where no command line does."""
    verb = request.verb
    if verb not in COMMANDS:
        return ()
    words, declared = _Words(), declared_fields(type(request))
    words.options += _FLAGS.get(verb, ())
    try:
        for name in request.__struct_fields__:
            _spell(words, request, name, declared.get(name))
    except Unspellable:
        return ()
    if verb == "fact.add" and "probes" not in request.given():
        words.options.append("--no-suggest")
    return words.after(COMMANDS[verb])


def command_line(request: Request) -> str:
    """Return the whole line as a shell takes it; empty where there is none."""
    words = words_of(request)
    return shlex.join((PROGRAM, *words)) if words else ""


def _spell(words: _Words, request: Request, name: str, field: DeclaredField | None) -> None:
    value = getattr(request, name)
    if own := _OWN.get((request.verb, name)):
        own(words, value)
    elif name in request.given():
        if field is None:
            raise Unspellable
        _spell_field(words, name, field, value)


def _spell_field(words: _Words, name: str, field: DeclaredField, value: object) -> None:
    arg, several = field.arg, isinstance(value, Sequence) and not isinstance(value, str)
    values: list[object] = list(cast("Sequence[object]", value)) if several else [value]
    if arg.place:
        words.places += map(_text, values)
    elif isinstance(value, bool):
        words.options.append(arg.opposite[0] if arg.opposite[0] and not value else option_of(name, arg))
    elif arg.commas:
        words.option(option_of(name, arg), _joined(values))
    elif field.hint == Sequence[str]:
        for each in values:
            words.option(option_of(name, arg), each)
    else:
        words.option(option_of(name, arg), *values)


def option_of(name: str, arg: Arg) -> str:
    """Return the longest option of a field."""
    return next((option for option in arg.names if option.startswith("--")), f"--{name.replace('_', '-')}")


def _joined(values: Sequence[object]) -> str:
    texts = [_text(value) for value in values]
    if any("," in text or text != text.strip() or not text for text in texts):
        raise Unspellable
    return ",".join(texts)


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "--":
        raise Unspellable
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


# What fields are spelled like that declare nothing.


def _caps(words: _Words, value: Mapping[str, object] | None) -> None:
    """`--tokens` and `--usd` of a task's own budget."""
    for name, amount in (value or {}).items():
        if name not in ("tokens", "usd"):
            raise Unspellable
        words.option(f"--{name}", amount)


def _scope(words: _Words, target: str) -> None:
    """What a pause is of: `loop`, `role builder`, `worker tsk-7f2`."""
    noun, colon, name = target.partition(":")
    if colon or target in ("", "loop"):
        words.places += [noun, name] if colon else [target] if target else []
    else:
        words.places += ["worker", target]


def _edits(words: _Words, changes: Mapping[str, object]) -> None:
    """Options of `task edit`, which are those of `task new`."""
    declared = declared_fields(NewTask)
    for name, value in changes.items():
        if name == "budget":
            _caps(words, cast("Mapping[str, object]", value))
        elif name == "objective":
            words.option("--objective", value)
        elif name in declared:
            _spell_field(words, name, declared[name], value)
        else:
            raise Unspellable


def _rule(words: _Words, changes: Mapping[str, object]) -> None:
    """Of all settings only the decay rule has a command."""
    for key, value in changes.items():
        if key not in _DECAY_RULE or not value:
            raise Unspellable
        words.option(_DECAY_RULE[key], value)


def _titles(words: _Words, parts: Sequence[Mapping[str, object]]) -> None:
    """A work unit is split into parts of which a command line gives the titles alone."""
    for part in parts:
        if set(part) != {"title"}:
            raise Unspellable
        words.places.append(_text(part["title"]))


def _say(words: _Words, text: str) -> None:
    if text == "-":  # standard input
        raise Unspellable
    words.option("--once", text)


def _folder(words: _Words, folder: str) -> None:
    """Without a word `task new` takes the folder in which it runs."""
    words.option("--folder", folder)


def _answer(words: _Words, answer: str) -> None:
    """`decide` has the question as its word, and the answer as an option."""
    words.option("--answer", answer)


_OWN: Mapping[tuple[str, str], Callable[..., None]] = {
    ("task.new", "folder"): _folder,
    ("task.new", "budget"): _caps,
    ("task.retry", "budget"): _caps,
    ("task.edit", "changes"): _edits,
    ("engine.pause", "target"): _scope,
    ("engine.resume", "target"): _scope,
    ("setting.change", "changes"): _rule,
    ("wu.split", "parts"): _titles,
    ("chat.send", "text"): _say,
    ("decision.answer", "answer"): _answer,
}
