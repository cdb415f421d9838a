"""Tool calls that wait for a person: what is asked, what was answered, and what "always" means."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct, field

from lumen_tui.model import ids, times
from lumen_tui.model.digests import sha256
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.runners import runs_files

BY_TIME = "nobody"  # who decided where the time ran out
BY_END = "engine"  # who decided where the task ended first
EXPIRED = "expired"  # as `ended` of a decision
ASK = "ask_operator"  # the tool whose calls are questions
MOST_QUESTIONS = 5  # of one task
SEND_MAIL = "send_mail"  # the tool whose calls are messages; they wait without the loop that made them
COMMANDS = ("shell", "shell_start")  # tools that run a command line
ROLE, TASK = "role", "task"  # how far a rule that "allow always" saves goes
SCOPES = (ROLE, TASK)
BROUGHT = "claude:"  # what tools begin with that Claude Code has of the operator's own set-up
_WHOLE = {"shell": "command", "shell_start": "command", "web_fetch": "url"}  # tool -> the argument that says it all
_JOINS = lazy_re(r"[;&|`$<>(){}\n\r\\]")  # what makes another command of the rest of a line


class Approval(Struct, frozen=True, omit_defaults=True):
    """approvals/<id>.json: one call that waits, written by the worker that wants to make it. Never changed."""

    id: str
    task_id: str
    tool: str
    hash: str  # of the tool and its arguments; an answer counts for this call and no other
    asked_at: str
    expires_at: str
    arguments: dict[str, object] = field(default_factory=dict)  # secrets masked; the hash is of the real ones
    summary: str = ""
    risk: str = ""
    why: str = ""
    said: str = ""  # by the worker, in the answer in which it makes the call: its word, checked by nobody
    diff: str = ""
    rule: str = ""  # the pattern that "allow always" would save; empty where there is none
    folder: str = ""  # a command's own folder, part of that rule
    unwalled: bool = False  # no sandbox would be around it
    files: dict[str, str] = field(default_factory=dict)  # what a command runs or goes by, and a hash of each
    role: str = ""
    attempt: int = 1
    host: str = ""
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    question: str = ""  # where it is no call that waits but a question to the operator
    options: tuple[str, ...] = ()  # answers that are offered; any other text may be given
    default: str = ""  # what the worker goes on with if nobody answers in time
    lasting: bool = False  # it outlives its task: the answer comes as a signal to the main agent
    schema: int = 1

    @property
    def asked(self) -> float:
        """Seconds since 1970."""
        return times.epoch(self.asked_at)

    @property
    def expires(self) -> float:
        """Seconds since 1970; 0 where that cannot be read, which counts as over."""
        return times.epoch(self.expires_at)


class Decision(Struct, frozen=True, omit_defaults=True):
    """approvals/<id>.decision.json: the one answer. `ended` says what decided where no person did."""

    allowed: bool
    hash: str
    at: str
    by: str
    reason: str = ""
    always: bool = False
    ended: str = ""  # expired | withdrawn
    answer: str = ""  # to a question
    order: bool = False  # the operator's own: the process that answered was seen to be theirs
    via: str = ""  # by which way it came from elsewhere: ntfy, mail
    schema: int = 1

    @property
    def who(self) -> str:
        """Who decided, and by which way that came."""
        return f"{self.by} via {self.via}" if self.via else self.by


class Acted(Struct, frozen=True, omit_defaults=True):
    """approvals/<id>.acted.json: a worker took the answer, so that it can no longer be undone."""

    at: str
    attempt: int = 1
    schema: int = 1


class Overdue(Struct, frozen=True):
    """A question that nobody answered in time, as the engine told of it. Texts are safe."""

    id: str
    text: str
    since: float  # seconds since 1970


class AllowRule(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One `[[allow]]` of operator.toml: calls that need nobody's word any more."""

    tool: str
    role: str
    pattern: str
    folder: str = ""
    unwalled: bool = False  # also where no sandbox is around the command
    task: str = ""  # the id of the task with which it ends; empty: it holds for every task of the role
    by: str = ""
    at: str = ""


def canonical(tool: str, arguments: dict[str, object]) -> bytes:
    """Return the call as JSON with sorted keys: what the hash is taken of, and what a person is shown."""
    return msgspec.json.encode({"tool": tool, "arguments": arguments}, order="deterministic")


def whole_call(request: Approval) -> str:
    """Return the command, the address or the message, every character of it; of other tools the call as JSON."""
    if request.tool == SEND_MAIL:
        return _message(request.arguments)
    argument = request.arguments.get(_WHOLE.get(request.tool, ""))
    if isinstance(argument, str) and argument:
        return argument
    return canonical(request.tool, request.arguments).decode()


def _message(arguments: dict[str, object]) -> str:
    """Return a message as it is read: each other argument on a line of its own, then the text."""
    heads = [f"{name.replace('_', ' ')}: {value}" for name, value in arguments.items() if name != "text" and value]
    return "\n".join([*heads, "", str(arguments.get("text", ""))])


def call_hash(tool: str, arguments: dict[str, object]) -> str:
    """Return the hexadecimal SHA-256 of the canonical call."""
    return sha256(canonical(tool, arguments))


def allows(
    rule: AllowRule, *, tool: str, role: str, target: str, folder: str = "", unwalled: bool = False, task: str = ""
) -> bool:
    """Return whether the rule covers the call. What was allowed inside a sandbox is not allowed without one.

    A rule of one task covers no call of another, nor one of which the `task` is not known.

    A pattern of a command is the whole command, or its beginning where it ends in ` *`, and then the rest must not
    begin another command. Of anything else it is a pattern with `*` for the path, the address or the arguments.
    """
    if rule.tool != tool or rule.role != role or not rule.pattern or not target:
        return False
    if (unwalled and not rule.unwalled) or (rule.task and rule.task != task):
        return False
    if tool in COMMANDS:
        return rule.folder == folder and _covers_command(rule.pattern, target)
    return rule.pattern == target or fnmatch.fnmatchcase(target, rule.pattern)


def also_covered(rule: AllowRule, waiting: Iterable[Approval]) -> list[Approval]:
    """Return the requests that the rule would have allowed. One without a narrow rule of its own is never among them:
    its text may not be the whole call.
    """
    return [
        request
        for request in waiting
        if allows(
            rule,
            tool=request.tool,
            role=request.role,
            target=request.rule,
            folder=request.folder,
            unwalled=request.unwalled,
            task=request.task_id,
        )
    ]


def _covers_command(pattern: str, command: str) -> bool:
    if not pattern.endswith(" *"):
        return pattern == command
    head = pattern[:-1]
    return command.startswith(head) and not _JOINS.search(command[len(head) :])


def too_wide(pattern: str) -> bool:
    """Return whether a pattern says next to nothing about what it allows."""
    return len(re.sub(r"[*?\[\]!\s/.]", "", pattern)) < 3


def rule_of(request: Approval, pattern: str, scope: str = ROLE) -> AllowRule:
    """Return the rule about a call that goes as far as one of SCOPES; nothing of it is checked."""
    task = "" if scope == ROLE else request.task_id
    return AllowRule(request.tool, request.role, pattern, request.folder, request.unwalled, task)


def preview_rule(request: Approval, pattern: str = "", scope: str = ROLE) -> str:
    """Return what "allow always" would save, as a sentence; empty where such a rule cannot be made."""
    chosen = pattern or request.rule
    if not chosen:
        return ""
    sentence = rule_words(rule_of(request, chosen, scope))
    return f"{sentence}. {warning}" if (warning := moving(request.tool, chosen)) else sentence


def no_rule(request: Approval, pattern: str = "") -> str:
    """Return why "allow always" is not to be had, with what to do instead; empty where it is."""
    command = request.arguments.get("command") if request.tool in COMMANDS else ""
    chosen = pattern or request.rule or (command if isinstance(command, str) else "")
    if request.unwalled and (warning := moving(request.tool, chosen)):
        return f"no rule is made of this call: there is no sandbox around it. {warning}. Allow it once"
    return (
        "" if pattern or request.rule else "no narrow rule can be made of this call: allow it once, or give a pattern"
    )


def rule_words(rule: AllowRule) -> str:
    """Return a rule as a sentence."""
    where = f" in {rule.folder}" if rule.folder else ""
    free = " and without a sandbox" if rule.unwalled else ""
    always, end = ("", f", until task {ids.short(rule.task)} ends") if rule.task else ("always ", "")
    return f"{rule.role} may {always}use {rule.tool} on: {rule.pattern}{where}, without asking{free}{end}"


def reach_words(rule: AllowRule) -> str:
    """Return how long a rule holds, as the start of a reason."""
    return "for this task" if rule.task else "always"


def moving(tool: str, command: str) -> str:
    """That a rule on a command says little, as it runs what a worker may have written; empty where that is not so."""
    if tool not in COMMANDS:
        return ""
    if command.endswith(" *"):
        return "What stands for * is the worker's to choose"
    if not (program := runs_files(command)):
        return ""
    return f"It runs or goes by what is in files ({program}), and the worker may write those"
