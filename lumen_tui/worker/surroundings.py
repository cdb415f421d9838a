"""Where a task is: the time, the machine, folders and git, the network, the sandbox, and who reads the result."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from lumen_tui.model import agent, times
from lumen_tui.model.budget import dollars
from lumen_tui.model.config import Config
from lumen_tui.model.isolation import Isolation
from lumen_tui.model.roles import REQUEST_HOST
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, TaskRules
from lumen_tui.tools.isolation import records
from lumen_tui.tools.sandbox import policy
from lumen_tui.tools.sandbox.policy import FILES
from lumen_tui.tools.sandbox.sandboxed_command import LANDLOCK_GAPS
from lumen_tui.tools.shell import git_status

_MOST_FOLDERS = 4  # of which git is asked
_GIT_SECONDS = 1.0
_SANDBOXES = {
    "bubblewrap": "Commands run in a sandbox (bubblewrap): they see the disk without keys and secrets, write to the "
    "folders above only, and have a /tmp of their own.",
    "landlock": "Commands run in a sandbox (Landlock): they read the disk without keys and secrets, and write to the "
    "folders above only.",
    "ask": "There is no sandbox here: a person is asked before each command runs.",
}


def surroundings(context: Context, tier: str, config: Config) -> Iterator[str]:
    """Yield a line each. `tier` is the sandbox tier of its commands; empty where none was tested, or it runs none."""
    spec, rules = context.spec, context.rules
    roots = policy.writable_roots(context, config.sandbox)[0] if rules.write else ()
    yield f"Now: {_moment(context.now())}."
    yield f"Machine: {os.uname().sysname} {os.uname().release}, {os.uname().machine}; user {_user(context)}."
    if context.role.name == agent.ROLE:
        yield f"State folder: {context.store.root}. You change no files yourself; your workers do."
        return
    own = context.folder / FILES if rules.write else context.folder
    about, isolation = policy.task_folder(context), _isolation(context)
    if isolation:
        yield apart_words(isolation)
    if about:
        yield f"Folder of the task: {about}. Relative names in the task count from it; glob and grep look there."
    yield f"Your own folder: {own}; commands start there unless they name another as cwd."
    if not isolation:
        yield from _repositories(context, ([about] if about else []) + list(roots))
    yield f"You may change: {', '.join((*roots, str(own)))}." if rules.write else "You may change no files."
    yield from _reach(context, tier)
    yield from _sandbox(context, tier, bool(roots))
    yield f"Your result is read by {_reader(spec)}; it is kept as {context.folder / 'result.md'}."


def _isolation(context: Context) -> Isolation | None:
    return records.read_isolation(context.folder) if context.spec.isolate else None


def apart_words(isolation: Isolation) -> str:
    """Return what a worker is told of a folder of its own."""
    description = (
        f"worktree of {isolation.top} at commit {isolation.commit[:12]}"
        if isolation.commit
        else f"copy of {isolation.top}"
    )
    return " ".join(
        filter(
            None,
            (
                f"This folder is your own {description}: work in it, and not in {isolation.top}.",
                f"What is changed and not committed in {isolation.top} is not in it." if isolation.commit else "",
                "What you change, make and remove in it becomes a change list, which the operator accepts or drops.",
                *(one_line(note, 300) for note in isolation.notes),
            ),
        )
    )


def money(spec: Spec) -> str:
    """Return what the task may spend of its own, in words; empty where it has no limit but those of the day."""
    budget = spec.budget
    parts = [f"{budget.tokens:,} tokens"] if budget.tokens else []
    parts += [dollars(budget.usd)] if budget.usd else []
    parts += [f"{times.span(budget.seconds)} of work"] if budget.seconds else []
    return " and ".join(parts)


def _moment(now: float) -> str:
    local = time.localtime(now)
    return time.strftime(f"%A, %Y-%m-%d %H:%M %Z (UTC%z{_zone()})", local)


def _zone() -> str:
    """Return the IANA name of the zone, where the system says it."""
    name = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    return f", {one_line(name, 60)}" if "/" in name else ""


def _user(context: Context) -> str:
    return one_line(context.environ.get("USER") or context.environ.get("LOGNAME") or f"uid {os.geteuid()}", 60)


def _repositories(context: Context, roots: list[str]) -> Iterator[str]:
    folders = dict.fromkeys([*roots, *(os.path.expanduser(root) for root in context.rules.roots)])
    reported = set()
    for folder in list(folders)[:_MOST_FOLDERS]:
        repository = git_status.changes(folder, environ=context.environ, seconds=_GIT_SECONDS)
        if repository.why == "" and repository.root not in reported:
            reported.add(repository.root)
            state = f"{repository.count:,} changed files" if repository.count else "nothing changed"
            place = f"{repository.branch or 'no branch'} at {repository.head[:12] or 'no commit'}"
            yield f"Git: {repository.root} is on {place}, {state}."


def _reach(context: Context, tier: str) -> Iterator[str]:
    rules = context.rules
    if rules.proxied:
        yield _by_proxy((*rules.command_hosts, *context.memo.hosts), tier)
    elif rules.shell != "none":
        reaches = rules.shell == "any" and rules.network
        yield "Network: commands reach it." if reaches else f"Network: none for commands{_own_network(rules, tier)}."
    if "web_fetch" in rules.tools:
        hosts = ", ".join((*rules.hosts, *context.memo.hosts))
        yield f"web_fetch reaches {hosts} only." if hosts else "web_fetch reaches no host yet."
    if REQUEST_HOST in rules.tools:
        yield f"Where another host is needed, {REQUEST_HOST} asks the operator for it."


def _by_proxy(hosts: tuple[str, ...], tier: str) -> str:
    """Return what commands reach that have an allow-list of hosts."""
    named = f"{', '.join(hosts)} only" if hosts else "no host yet"
    if tier == "bubblewrap":
        return (
            f"Network: commands reach {named}, through the proxy in HTTP_PROXY and HTTPS_PROXY: HTTP and TLS, at ports "
            "80 and 443 where no other is named. They also reach 127.0.0.1 of this task: what shell_start runs there."
        )
    if tier == "landlock":
        return (
            "Network: none for commands, not even 127.0.0.1: the hosts that this role may reach need bubblewrap, and "
            "here commands run under Landlock."
        )
    return f"Network: commands are to reach {named}; nothing here holds them to that but the person who is asked."


def _own_network(rules: TaskRules, tier: str) -> str:
    """Return what there is of 127.0.0.1, where something could run in the background."""
    if "shell_start" not in rules.tools:
        return ""
    if tier == "bubblewrap":
        return " but 127.0.0.1 of this task: what shell_start runs there is reached by later commands"
    return ", not even 127.0.0.1: a server cannot listen here" if tier == "landlock" else ""


def _sandbox(context: Context, tier: str, granted: bool) -> Iterator[str]:
    rules = context.rules
    if rules.shell == "none":
        return
    if tier in _SANDBOXES:
        yield _SANDBOXES[tier]
    if context.spec.isolate:
        yield "git commit does not work here, and is not needed: git status and git diff do."
    elif rules.shell == "read" or not granted:
        yield "git commit does not work here: commands can change nothing outside of your folder."
    elif tier == "landlock":
        yield f"In a repository commands write {LANDLOCK_GAPS}. Leave your changes in the working tree."
    elif tier == "bubblewrap":
        yield "git commit works in repositories above; hooks and the configuration of git cannot be changed."


def _reader(spec: Spec) -> str:
    if agent.is_own(spec.created_by):
        return "the main agent, in its next loop"
    return f"{one_line(spec.created_by, 60) or 'whoever gave the task'} and the main agent"
