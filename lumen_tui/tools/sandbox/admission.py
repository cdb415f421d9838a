"""Decides in which sandbox a task's command runs, and asks a person where there is none."""

from __future__ import annotations

import os

from msgspec import Struct

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import ApprovalRequest, Context, ToolError
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.sandbox import protected_paths, sandboxed_command, tiers
from lumen_tui.tools.sandbox.policy import Policy, policy, ready_workspace, sandbox_settings, skill_folders

UNSANDBOXED_RISK = (
    "No sandbox holds on this machine: the command runs with all your rights, and nothing keeps it to a folder."
)
READING_RISK = "It reads what it likes, keys and other secrets excepted; it can change no file and reach no network."


class Admission(Struct, frozen=True):
    """The tier and the policy under which a command may run."""

    tier: str
    policy: Policy


def choose_tier(context: Context) -> tiers.TierChoice:
    """Return the tier in force for this task's commands."""
    sandbox = sandbox_settings(context)
    path = context.environ.get("PATH", os.defpath)
    return tiers.choose(sandbox, tiers.current_results(context.store.layout.index, path, sandbox))


def tier_in_force(context: Context, shell: str) -> str:
    """Return the tier for a task's first event; empty where it runs no commands, or nothing was tested yet.

    ToolError where the task needs commands of all kinds and none is run.
    """
    sandbox = sandbox_settings(context)
    path = context.environ.get("PATH", os.defpath)
    if shell == "any":
        choice = choose_tier(context)
        if choice.tier == tiers.REFUSED:
            raise ToolError(choice.reason)
        return choice.tier
    results = tiers.stored_results(context.store.layout.index, path, sandbox) if shell == "read" else None
    return tiers.choose(sandbox, results).tier if results else ""


def admit(context: Context, command: str, cwd: str, *, reading: bool = False, trusted: bool = False) -> Admission:
    """Return the admission of one command; blocks while a person is asked. ToolError where it may not run.

    A `reading` command changes no file and reaches no network, whatever the role grants: the sandbox sees to that. A
    `trusted` one is a program of the operator's that changes nothing by his own word: without a sandbox it needs no
    approval, and every other command does.
    """
    choice = choose_tier(context)
    if choice.tier == tiers.REFUSED:
        raise ToolError(choice.reason)
    if context.rules.write and not reading:
        ready_workspace(context)
    if choice.tier == sandboxed_command.ASK and not trusted:
        ask_person(context, command, cwd, choice.reason)
    sandbox_policy = policy(context, sandbox_settings(context), os.path.realpath(cwd), reading=reading)
    if choice.tier != sandboxed_command.ASK and not reading:
        protected_paths.command_begins(context)
    return Admission(choice.tier, sandbox_policy)


def _check_scripts(context: Context, command: str, cwd: str) -> None:
    """Raise ToolError for a command that names a skill's folder or starts in it: no sandbox is around its scripts."""
    place = os.path.realpath(cwd)
    for folder in skill_folders(context):
        if is_below(place, folder) or folder in command or os.path.relpath(folder, place) in command:
            raise ToolError(
                "scripts of skills are run in a sandbox alone, and none holds here: read their text instead"
            )


def ask_person(context: Context, command: str, cwd: str, reason: str) -> None:
    """Ask whether a command may run without a sandbox, of which there is none for this reason. ToolError for a no."""
    _check_scripts(context, command, cwd)
    detail = f" ({reason})" if reason else ""
    request = ApprovalRequest(
        tool="shell",
        summary=one_line(command, 300),
        arguments={"command": command, "cwd": cwd},
        risk=UNSANDBOXED_RISK,
        unsandboxed=True,
        reason=f"without a sandbox every command asks{detail}",
    )
    reply = context.ask(request)
    if not reply.allowed:
        raise ToolError(f"not run: {reply.reason or 'it was refused'}")
