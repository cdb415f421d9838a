"""Answering approval requests: which calls are risky, what is asked before a yes, the rule behind "always", sending."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from textual.app import App
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.approvals import (
    BROUGHT,
    AllowRule,
    Approval,
    Decision,
    also_covered,
    no_rule,
    preview_rule,
    whole_call,
)
from lumen_tui.model.requests.attention import AllowAlways, AllowCalls, DenyCalls, SnoozeItems
from lumen_tui.model.requests.base import Request
from lumen_tui.model.roles import REQUEST_HOST
from lumen_tui.model.snapshot import Attention, Snapshot
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.toolservers import BETWEEN, ToolServer, parts_of
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tui import words
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.keys import key_of
from lumen_tui.tui.kit.questions import ConfirmKey
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row

_SHELL = frozenset({"shell", "shell_start"})
_NAMES = {"bubblewrap": "bubblewrap", "landlock": "Landlock"}
_NONE = {
    "": "unknown: no engine has reported its sandbox",
    "ask": "none: the command can do anything you can",
    "refused": "none that is strong enough, so no command runs",
}
_CONTENT = frozenset(
    {"text", "content", "old_string", "new_string", "new_memory", "patch"}
)  # arguments that are never a path
_WORD = r"(?:^|[\s;&|(`'\"/])(?:{})(?=$|[\s;&|)`'\"])"
_REMOVES = re.compile(
    _WORD.format("rm|rmdir|unlink|shred|truncate|mkfs[.\\w]*|dd|wipefs|killall|pkill|kill|shutdown|reboot")
    + r"|\s-delete\b|\bgit\s+(?:clean|reset)\b|\bdrop\s+(?:table|database)\b|\s--(?:force|hard|purge)\b",
    re.I,
)
_NETWORK = re.compile(
    _WORD.format(
        "curl|wget|ssh|scp|sftp|rsync|ftp|nc|ncat|netcat|telnet|socat|pip3?|pipx|uv|npm|npx|yarn|pnpm|cargo|apt|apt-get"
        "|dnf|apk|docker|podman|kubectl|gh|aws|gcloud|terraform"
    )
    + r"|\bgit\s+(?:push|pull|fetch|clone|remote)\b|[a-z]+://|/dev/(?:tcp|udp)/",
    re.I,
)
_RIGHTS = re.compile(_WORD.format("sudo|su|doas|chmod|chown|crontab|systemctl|mount|umount|setfacl"), re.I)
_OUTSIDE = re.compile(r"(?:^|[\s=<>'\"(`:])(?:/(?!dev/null\b)|~|\$\{?HOME|\.\.(?:/|$|\s))")
_RISKS = (
    (_REMOVES, "it may remove something or end a process"),
    (_NETWORK, "it may reach the network"),
    (_RIGHTS, "it may change permissions or the system"),
)
_OUT = "it reaches outside the task's own files, and outside the folders that its role may change"
_FILE_GONE = re.compile(r"^(?:\+\+\+ /dev/null|deleted file mode)", re.M)


class SandboxView(NamedTuple):
    """The sandbox around a worker's commands: the tier in force, empty where it is unknown, and its role's network.

    `roots` are the folders that the operator gave the role to change. `program` says that the tool is a program of the
    operator's own, `server` whose tool it is.
    """

    tier: str = ""
    network: bool = True
    roots: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # that its commands reach where they have no network
    program: bool = False
    server: ToolServer | None = None

    @property
    def active(self) -> bool:
        """Whether there is one."""
        return self.tier in _NAMES

    def words(self, tool: str) -> str:
        """Return one line for the page of a question."""
        if tool.startswith(BROUGHT):
            return "that of Claude Code, with the network open: its server is a program of your own set-up"
        if self.server and self.server.url:
            return "none: the call goes over the network, and its server does with it what it likes"
        if tool not in _SHELL and not self.program and not self.server:
            return "no command runs: the tool keeps to what its role may read and change"
        if not self.active:
            return _NONE.get(self.tier, _NONE[""])
        inside = f"{_NAMES[self.tier]}, {self._network_words()}"
        return f"its server runs in {inside}" if self.server else inside

    def _network_words(self) -> str:
        if self.hosts and not self.network and self.tier == "bubblewrap":
            return f"reaching {one_line(', '.join(self.hosts), 120)} alone"
        return "with the network open to this role" if self.network else "without network"


def sandbox_of(request: Approval, snapshot: Snapshot) -> SandboxView:
    """Return the sandbox as the engine and the role have it; a role that is not known may have the network."""
    beat = snapshot.engine.heartbeat
    role = next((role for role in snapshot.roles if role.name == request.role), None)
    roots = snapshot.config.sandbox.granted(role.writable) if role and role.changes_files else ()
    server = snapshot.config.mcp.servers.get(parts_of(request.tool)[0]) if BETWEEN in request.tool else None
    network = (role.network if role else True) and (server is None or server.network)
    hosts = role.command_hosts if role and server is None else ()
    own = role is not None and request.tool in role.custom_tools
    return SandboxView(beat.sandbox if beat else "", network, roots, hosts, own, server)


NO_SANDBOX = SandboxView()


def high(request: Approval, sandbox: SandboxView = NO_SANDBOX) -> str:
    """Return why a yes to this call wants a second key (network, outside its roots, delete), or the empty string.

    It goes by words, so it may ask once too often. What it misses still needs its one yes.
    """
    if request.tool in _SHELL:
        return _of_command(whole_call(request), request.folder, sandbox)
    if request.tool in ("web_fetch", REQUEST_HOST) or request.tool.startswith(BROUGHT):
        return "it reaches the network"
    if BETWEEN in request.tool:
        return _of_server(sandbox.server)
    if _FILE_GONE.search(request.diff) or _FILE_GONE.search(str(request.arguments.get("patch", ""))):
        return "it removes a file"
    if any(_leaves(value, sandbox.roots) for name, value in request.arguments.items() if name not in _CONTENT):
        return _OUT
    return "its risk is marked as high" if "risky" in request.risk else ""


def _of_server(server: ToolServer | None) -> str:
    """Return the risk of a call of an MCP tool, by what the operator said of its server; paths are up to that."""
    if server is None:
        return "nothing is known of its server"
    risks = ["it reaches the network"] if server.url or server.network else []
    return ", ".join([*risks, *(["it may change something"] if server.writes else [])])


def _of_command(command: str, folder: str, sandbox: SandboxView) -> str:
    """Return the risk of a command: one in a sandbox changes nothing outside its roots, and may have no network."""
    shut = sandbox.active and not (sandbox.network or sandbox.hosts)
    risks = [risk for pattern, risk in _RISKS if pattern.search(command) and not (shut and pattern is _NETWORK)]
    if _OUTSIDE.search(command) or _leaves(folder, sandbox.roots if sandbox.active else ()):
        risks.append("it may reach outside the task's own files")
    return ", ".join(risks)


def _leaves(value: object, roots: Sequence[str]) -> bool:
    """Return whether an argument is a path neither within the task's own files nor below one of the roots."""
    if not isinstance(value, str) or len(value) >= 4096 or not re.match(r"/|~|(?:.*/)?\.\.(?:/|$)", value):
        return False
    return not any(_below(value, root) for root in roots)


def _below(path: str, root: str) -> bool:
    """By words: the tool itself follows links, and refuses what they lead out to."""
    place, top = (os.path.normpath(os.path.expanduser(text)) for text in (path, root))
    return os.path.isabs(place) and os.path.isabs(top) and is_below(place, top)


_COMMAND = "the whole command, or its beginning and ` *`"
_HELP = {"shell": _COMMAND, "shell_start": _COMMAND}


class RuleConfirm(ConfirmKey):
    """Shows the rule; `e` leaves it to `edit` instead."""

    SCOPE = "rule"

    def __init__(
        self, lines: Iterable[str], action: str, rule: str, edit: Callable[[], None], call: tuple[str, str]
    ) -> None:
        super().__init__("Allow always?", lines, action, "save the rule and allow", [("the rule", rule), call])
        self._edit = edit

    def keys(self) -> Keys:
        first, *others = super().keys()
        return (first, *self.offer("rule_pattern"), *others)

    def action_edit(self) -> None:
        self.dismiss(False)
        self._edit()


class PatternForm(FormScreen[str]):
    """Answers with a pattern that is narrow enough and covers the call."""

    SEND = "review the rule"

    def __init__(self, request: Approval, pattern: str) -> None:
        super().__init__("The rule's pattern")
        self._request, self._pattern = request, pattern

    def rows(self) -> Iterable[Widget]:
        help = _HELP.get(self._request.tool, "* matches anything")
        yield row("covers", TextField(value=self._pattern, id="pattern"), note=help)

    def preview(self) -> Content:
        return Content(safe(preview_rule(self._request, self.query_one("#pattern", TextField).text)))

    def read(self) -> str:
        from lumen_tui.actions.approvals import rule_for  # only once a pattern was typed

        text = self.query_one("#pattern", TextField).text.strip()
        try:
            return rule_for(self._request, text, by="", now=0.0).pattern
        except ActionError as error:
            raise Invalid(str(error), "pattern") from error


_REST = 0.3  # seconds in which a key that is held down answers nothing more

_YES = "confirm_allow"  # the command that confirms

Report = Callable[[str, bool], None]  # a sentence, and whether it is bad news


class Send(Protocol):
    """Carries out one action after the other, in the order in which they were asked for."""

    def __call__(self, request: Request, report: Report) -> None: ...


@dataclass(frozen=True)
class NeedsHost:
    """What a screen about needs may ask of the room."""

    send: Send
    ask_reason: Callable[[str, str, Callable[[str], None]], None]  # title, verb, what gets the reason
    refusal: Callable[[], str]  # why nothing can be written, or empty
    open_task: Callable[[str], None]
    snooze: Callable[[Attention], tuple[str, str]]  # what to dismiss under which name, or why not
    hour: Callable[[Attention], tuple[float, str]]  # for how many seconds it can be put off, or why it cannot
    sandbox: Callable[[Approval], SandboxView]  # around the worker that asks
    answer: Callable[[str], Decision | None]  # the answer on file; touches the disk
    waiting: Callable[[], Sequence[Approval]]  # every question that is open
    reply: Callable[[Attention], None]  # to a question or a signal
    tell: Callable[[str], None]  # something to a task


class AnswerPlace(Protocol):
    """Where somebody answers."""

    @property
    def app(self) -> App[Any]:
        """The application, as Textual has it."""

    @property
    def there(self) -> bool:
        """Whether it is open."""

    def say(self, text: str, bad: bool = False) -> None:
        """Show a sentence."""


class Answers:
    """One for a screen. `going` holds the ids whose answer is on its way.

    `moved` is called when that changed: with True where an answer was sent, with False where one failed.
    """

    def __init__(self, screen: AnswerPlace, needs_host: NeedsHost, moved: Callable[[bool], None]) -> None:
        self._screen, self._app, self._needs_host, self._moved = screen, screen.app, needs_host, moved
        self.going: set[str] = set()
        self._rests = False
        self._timer: Timer | None = None

    def allow(self, requests: Sequence[Approval], *, seen: bool) -> None:
        """Yes, once. `seen` means that the whole call stood on the screen; else it is shown first."""
        if not self._may("allow", requests):
            return
        risks = [risk for request in requests if (risk := self._risk(request))]
        if seen and len(requests) == 1 and not risks:
            self._allow(requests)
            return
        lines = [words.plural(len(requests), "call"), *(f"Risk is high: {risk}." for risk in dict.fromkeys(risks))]
        quoted = [_quoted(request) for request in requests]
        dialog = ConfirmKey("Allow this?", lines, _YES, "allow it" if len(requests) == 1 else "allow all", quoted)
        self._app.push_screen(dialog, lambda sure: self._allow(requests) if sure else None)

    def _allow(self, requests: Sequence[Approval]) -> None:
        self._answer(AllowCalls, requests)

    def deny(self, requests: Sequence[Approval]) -> None:
        """No, with a reason that goes back to the worker."""
        if not self._may("deny", requests):
            return
        title = f"{requests[0].role}'s call" if len(requests) == 1 else words.plural(len(requests), "call")
        self._needs_host.ask_reason(
            f"Deny {title}", "approval.deny", lambda reason: self._answer(DenyCalls, requests, reason)
        )

    def always(self, request: Approval | None) -> None:
        """Yes for good: the rule is shown before it is saved."""
        requests = [request] if request else []
        if not self._may("allow always", requests) or request is None:
            return
        if obstacle := no_rule(request):
            self._screen.say(f"allow always: {obstacle}", True)
            return
        self._show_rule(request, request.rule)

    def _show_rule(self, request: Approval, pattern: str) -> None:
        reason = self._risk(request)
        risk = [f"Risk is high: {reason}."] if reason else []
        others = [other for other in self._needs_host.waiting() if other.id != request.id]
        saved = AllowRule(request.tool, request.role, pattern, request.folder, request.unwalled)
        count = len(also_covered(saved, others))
        also = [f"It also allows {words.plural(count, 'other call')} that wait{'s' if count == 1 else ''} now."]
        undo = key_of(self._app.screen, "undo")
        lines = [f"This rule will be saved in operator.toml; {undo} removes it again.", *(also if count else ()), *risk]
        rule = preview_rule(request, pattern)
        dialog = RuleConfirm(lines, _YES, rule, lambda: self._edit_rule(request, pattern), _quoted(request))
        self._app.push_screen(dialog, lambda sure: self._always(request, pattern) if sure else None)

    def _edit_rule(self, request: Approval, pattern: str) -> None:
        form = PatternForm(request, pattern)
        self._app.push_screen(form, lambda typed: self._show_rule(request, typed or pattern))

    def _always(self, request: Approval, pattern: str) -> None:
        own = pattern if pattern != request.rule else ""
        self.send([request.id], AllowAlways(approval_id=request.id, hash=request.hash, pattern=own))

    def _risk(self, request: Approval) -> str:
        return high(request, self._needs_host.sandbox(request))

    def snooze(self, needs: Sequence[Attention], done: Callable[[str], None]) -> None:
        """Put needs off for an hour; `done` gets the target of each once that is on file."""
        refusal = self._needs_host.refusal() or ("" if needs else "nothing is selected")
        for need in needs if not refusal else ():
            seconds, need_refusal = self._needs_host.hour(need)
            if need_refusal:
                self._screen.say(need_refusal, True)
                continue
            report = partial(self._snoozed, need.target, done)
            self._needs_host.send(SnoozeItems(targets=[need.target], seconds=seconds), report)
        if refusal:
            self._screen.say(f"snooze: {refusal}", True)

    def _snoozed(self, target: str, done: Callable[[str], None], text: str, bad: bool) -> None:
        if not bad and self._screen.there:
            done(target)
        self._screen.say(text, bad)

    def _may(self, label: str, requests: Sequence[Approval]) -> bool:
        refusal = self._needs_host.refusal()
        if not refusal and not requests:
            refusal = "no approval is pending here"
        if not refusal and all(request.id in self.going for request in requests):
            refusal = "its answer is being sent"
        if not refusal and self._rests:
            refusal = "this is the next one; press the key again"
            self._rest()
        if refusal:
            self._screen.say(f"{label}: {refusal}", True)
        return not refusal

    def _answer(self, kind: type[AllowCalls | DenyCalls], approvals: Sequence[Approval], reason: str = "") -> None:
        shown = approvals[0].hash if len(approvals) == 1 else ""
        approval_ids = [approval.id for approval in approvals]
        self.send(approval_ids, kind(approval_ids=approval_ids, reason=reason, hash=shown))

    def send(self, keys: Sequence[str], request: Request) -> None:
        """Carry out one action. `keys` are on their way until it failed or they are gone from the snapshot."""

        def report(text: str, bad: bool) -> None:
            if bad and self._screen.there:
                self.going.difference_update(keys)
                self._moved(False)
            self._screen.say(text, bad)

        self.going.update(keys)
        self._needs_host.send(request, report)
        self._rest()
        self._moved(True)

    def _rest(self) -> None:
        """Answer nothing for a moment, again for each key that comes meanwhile."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._app.set_timer(_REST, self._ready)
        self._rests = True

    def _ready(self) -> None:
        self._rests = False


def _quoted(request: Approval) -> tuple[str, str]:
    """Who asks, and every character of what for."""
    return _who(request), "\n\n".join(part for part in (request.diff, whole_call(request)) if part)


def _who(request: Approval) -> str:
    where = f", in {request.folder}" if request.folder else ""
    return f"{request.role} wants to use {request.tool}{where}."
