"""A back end's program in the task's sandbox: it may write where the task may, and in its own folder."""

from __future__ import annotations

import os
import subprocess

import msgspec

from lumen_tui.providers.base import Launched, ProviderError
from lumen_tui.providers.claude_code.program import end, not_started
from lumen_tui.storage import directories
from lumen_tui.storage.files import StoreError
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.sandbox import admission, limits, protected_paths, sandboxed_command
from lumen_tui.tools.sandbox.policy import Policy, policy, ready_workspace, sandbox_settings
from lumen_tui.tools.sandbox.protected_paths import report
from lumen_tui.tools.sandbox.tiers import REFUSED

# It brings its own runtime, which sets large pieces of address space aside, and works as long as the task does.
_MEMORY = 1 << 40
_CPU_SECONDS = 86_400
_FILE_SIZE = 1 << 40


class SandboxedProgram:
    """A program that was started, and its end."""

    def __init__(self, context: Context, started: sandboxed_command.SandboxedCommand) -> None:
        self._context = context
        self._started = started
        self._ended = False

    @property
    def child(self) -> subprocess.Popen[bytes]:
        return self._started.child

    def end(self) -> None:
        """Ask, wait, terminate, kill: the program and all that it started."""
        if self._ended:
            return
        self._ended = True
        with self._context.guard():
            below = limits.descendants([self.child.pid])[1:]
            end(self.child)
            limits.end(below)
            self._started.close()
            report(self._context, self._started.quarantined)
            protected_paths.check_afterwards(self._context)


def launch(context: Context, argv: list[str], env: dict[str, str], own: str, reads: tuple[str, ...] = ()) -> Launched:
    """Start a program within the tier that is in force. ProviderError where none may be used, or it does not start."""
    try:
        tier_choice = admission.choose_tier(context)
        cwd = ready_workspace(context) if context.rules.write else str(context.folder)
        directories.make_folder(own)
    except (ToolError, OSError) as error:
        raise ProviderError(str(error)) from error
    if tier_choice.tier == REFUSED:
        raise ProviderError(tier_choice.reason)
    context.progress(f"{os.path.basename(argv[0])} runs {_sandbox_words(tier_choice.tier)}")
    try:
        if context.rules.write:
            context.begins(os.path.basename(argv[0]))
        rules = _program_policy(context, cwd, argv[0], own, reads)
        with context.guard():
            if tier_choice.tier != sandboxed_command.ASK:
                protected_paths.command_begins(context)
            return SandboxedProgram(context, _start(tier_choice.tier, rules, argv, cwd, env))
    except ToolError as error:
        raise ProviderError(str(error)) from error
    except StoreError as error:
        raise ProviderError(str(error)) from error
    except (OSError, ValueError) as error:
        raise not_started(argv[0], error) from error


def _sandbox_words(tier: str) -> str:
    return (
        "without a sandbox; its calls are judged all the same"
        if tier == sandboxed_command.ASK
        else f"in a sandbox: {tier}"
    )


def _start(
    tier: str, rules: Policy, argv: list[str], cwd: str, env: dict[str, str]
) -> sandboxed_command.SandboxedCommand:
    pipe = subprocess.PIPE
    return sandboxed_command.start(tier, rules, argv, cwd, {**env, "PWD": cwd}, stdin=pipe, stdout=pipe, stderr=pipe)


def _program_policy(context: Context, cwd: str, program: str, own: str, reads: tuple[str, ...]) -> Policy:
    """Return the task's policy, widened so that the program reaches its model and its own folder."""
    base = policy(context, sandbox_settings(context), cwd)
    caps = msgspec.structs.replace(base.caps, memory=_MEMORY, cpu_seconds=_CPU_SECONDS, file_size=_FILE_SIZE)
    return msgspec.structs.replace(
        base,
        network=True,
        caps=caps,
        writable=(*base.writable, own),
        protected=(*base.protected, os.path.dirname(os.path.realpath(program))),
        hidden=tuple(
            path for path in base.hidden if path not in reads and not is_below(own, path) and not is_below(path, own)
        ),
    )
