"""`hooks install | uninstall | status`: our hooks in the settings of an agent's program, which run `hook`."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.engine.hooks import settings, sharing
from lumen_tui.engine.hooks.settings import Installed
from lumen_tui.model import times
from lumen_tui.storage import locks
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.sessions.hook_events import HookEvents
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser
    from lumen_tui.model.config import AutoCheckpointConfig

_NOTHING = 3


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    hook = commands.add(
        "hook", run_hook, "Take one event of an agent's program from standard input.", "hook PostToolUse < event.json"
    )
    hook.add_argument("event", metavar="EVENT", help=", ".join(hook_journal.EVENTS))
    group = commands.group("hooks", "Hooks of an agent's program: checkpoints without being asked.", alone="status")
    install = group.add(
        "install", run_install, "Add our hooks to .claude/settings.local.json beside what is there.", "hooks install"
    )
    uninstall = group.add("uninstall", run_uninstall, "Remove our hooks; others stay.", "hooks uninstall")
    status = group.add("status", run_status, "Whether hooks are installed, run, and do their work.", "hooks status")
    for parser in (install, uninstall, status):
        _add_place(parser)
    status.json()
    uninstall.set_defaults(without_state=True)


def _add_place(parser: Parser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", default="", metavar="DIR", help="the folder of the project [this one]")
    where.add_argument("--settings", default="", metavar="FILE", help="another settings file")


def _paths(args: Namespace) -> tuple[Path, Path | None]:
    """Return the settings file that is meant, and of a project the one that everybody shares."""
    if args.settings:
        return Path(args.settings).expanduser().absolute(), None
    project = Path(args.project or ".").expanduser().absolute()
    return sharing.local(project), sharing.shared(project)


def run_hook(session: Session, args: Namespace) -> int:
    from lumen_tui.cli.fast import hook

    return hook.run([args.event], {"state": str(session.root)})


def program() -> list[str]:
    """Return the command with which another program starts this one, from any folder."""
    called = Path(sys.argv[0]).absolute()
    if called.name in ("lumen-tui", "lumen") and called.is_file():
        return [str(called)]
    beside = Path(sys.executable).with_name("lumen-tui")
    executable = str(beside) if beside.is_file() else shutil.which("lumen-tui")
    return [executable] if executable else [sys.executable, "-P", "-m", "lumen_tui"]


def run_install(session: Session, args: Namespace) -> int:
    path, shared = _paths(args)
    if shared is None:
        sharing.check(path)
    changed = settings.install(path, program(), session.root)
    say(f"{path}: {'hooks are installed' if changed else 'hooks were installed already'}")
    if shared and settings.uninstall(shared):
        say(f"{shared}: our hooks are out, as the file is shared and they name paths of this machine")
    if shared and (note := sharing.keep_out_of_git(path)):
        talk(note)
    if changed:
        talk("they count from the next start of the agent's program; `lumen-tui hooks status` shows whether they run")
    return 0


def run_uninstall(session: Session, args: Namespace) -> int:
    path, shared = _paths(args)
    out = [found for found in (path, shared) if found and settings.uninstall(found)]
    for found in out:
        say(f"{found}: our hooks are out")
    if shared:
        sharing.forget(path)
    if out:
        return 0
    say(f"{path}: nothing of ours is there")
    return _NOTHING


def _installed(args: Namespace) -> Installed:
    """Return what is installed; where that is only in the file that everybody shares, what is there."""
    path, shared = _paths(args)
    found = settings.installed(path)
    if shared is None or found.events or found.trouble:
        return found
    other = settings.installed(shared)
    return other if other.events or other.trouble else found


def run_status(session: Session, args: Namespace) -> int:
    installed = _installed(args)
    hooks = HookEvents(session.layout)
    while hooks.refresh():
        pass
    rule = load_config(session.layout)[0].memory.enforcement.auto_checkpoint
    running = locks.is_locked(session.root / hook_journal.LOCK)
    trouble = [*_problems(session, installed), *[problem.what for problem in hooks.problems(session.now)]]
    if args.json:
        facts: dict[str, object] = {"installed": installed, "rule": rule, "hooks": hooks.view, "by_event": hooks.counts}
        document({**msgspec.to_builtins(facts), "since": hooks.since, "working": running, "trouble": trouble})
    else:
        for line in (*_installed_lines(installed), *_run_lines(session, hooks), *_rule_lines(rule, running)):
            say(line)
        for line in trouble:
            say(f"trouble: {line}")
    if trouble:
        return 1
    return 0 if installed.events or hooks.view.events else _NOTHING


def _problems(session: Session, installed: Installed) -> list[str]:
    """Return what keeps the hooks from working."""
    parts = [installed.trouble] if installed.trouble else []
    if installed.events and installed.missing:
        parts.append(f"not installed for {', '.join(installed.missing)}: `hooks install` adds them")
    parts += [f"{name} is missing: run `hooks install` again" for name in installed.programs if not shutil.which(name)]
    others = [name for name in installed.states if Path(name) != session.root]
    parts += [f"the hooks write to another state folder, {name}: `hooks install` brings them here" for name in others]
    return parts


def _installed_lines(installed: Installed) -> list[str]:
    if not installed.events:
        return [f"{installed.path}: no hooks of ours; `lumen-tui hooks install` adds them"]
    lines = [f"{installed.path}: installed for {', '.join(installed.events)}"]
    path = Path(installed.path)
    if path == sharing.shared(path.parent.parent):
        lines.append("this file is shared, and our hooks name paths of this machine: `hooks install` moves them")
    return lines


def _run_lines(session: Session, hooks: HookEvents) -> list[str]:
    view = hooks.view
    now = session.now
    if not view.events:
        return ["no hook has run yet: restart the agent's program in that project"]
    counts = ", ".join(f"{name} {count}" for name, count in sorted(hooks.counts.items()))
    parts = [f"last hook: {view.last_event}, {times.ago(now - view.last)}", f"since {hooks.since[:16]}: {counts}"]
    latest = f", the last {times.ago(now - view.last_checkpoint)} ({view.last_node})" if view.checkpoints else ""
    parts.append(f"checkpoints by hooks: {view.checkpoints}{latest}; failures: {view.failures}")
    if view.outside:
        hint = "`lumen-tui start --wu WU-NNN` starts one"
        parts.append(f"{view.outside} came from outside any work session and led to no checkpoint: {hint}")
    return parts


def _rule_lines(rule: AutoCheckpointConfig, running: bool) -> list[str]:
    every = f"every {rule.interval_tool_calls} tool calls, " if rule.interval_tool_calls > 0 else ""
    occasions = f"{every}at each sub-agent's stop and before a compaction" if rule.enabled else "off (lumen.toml)"
    return [f"checkpoints: {occasions}", *(["a checkpoint is being made"] if running else [])]
