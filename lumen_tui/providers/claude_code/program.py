"""The `claude` program: where it is, how it is called, and how it is ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from typing import IO

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import Launched, ProviderError, Tuning
from lumen_tui.storage.origin import WORKER

OLDEST = (2, 1, 197)  # the oldest one that was tried; what is written over its pipes may differ before it
MAX_OUTPUT = 16_000  # tokens of one answer
SERVER = "lumen"  # under which our tools are its MCP server
# Its own tools that are used, and the one of ours each replaces: a rule of ours can be asked about the one file, and
# nothing is changed. All others run commands, change files, search whole folders or talk to the network. Ours do that:
# in their sandbox, past links, and without what is hidden.
OWN = {"Read": "read_file"}
# What it may have of the operator's own set-up, and its tool for that. The settings of a project are never read: they
# could send the key elsewhere, and run hooks outside of every rule.
CLAUDE_MD, SKILLS, MCP = "claude_md", "skills", "mcp"
SKILL, SERVER_TOOLS = "Skill", "mcp__"
_SAFE = {"disableAllHooks": True, "disableSkillShellExecution": True}  # beside the operator's own settings file
_ASK_SECONDS, _TERM_SECONDS, _LOOK = 3.0, 2.0, 0.02
_SET_PDEATHSIG = 1  # prctl(2)
_PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
_DAY = "86400000"  # milliseconds: a call may wait for a person


def find(config: ModelsConfig, environ: Mapping[str, str]) -> str:
    """Return the path of the program. ProviderError where there is none."""
    program = os.path.expanduser(config.claude.program)
    folders = [part for part in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]
    path = shutil.which(program, path=os.pathsep.join(folders)) if program else None
    if path and os.path.isabs(path):
        return path
    raise ProviderError(
        f"the Claude Code program {one_line(config.claude.program, 100)!r} is not there: install it "
        "(npm install -g @anthropic-ai/claude-code), name its path as program under [models.claude] in lumen.toml, or "
        "set another provider under [models]"
    )


def check_version(version: str) -> None:
    """Raise ProviderError where the program is too old. A version that cannot be read is accepted."""
    parts = version.split("-")[0].split(".")
    if all(part.isdigit() for part in parts) and tuple(map(int, parts)) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ProviderError(
            f"Claude Code {one_line(version, 40)} is too old: {oldest} or newer is needed (claude update)"
        )


def config_folder(environ: Mapping[str, str]) -> str:
    """Return the folder in which the program keeps its settings, its login and its sessions."""
    named = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".claude")
    return os.path.realpath(named)


def is_foreign(tuning: Tuning, tool: str) -> bool:
    """Return whether a tool, as it names it, belongs to what it has of the operator's own set-up."""
    ours = tool.startswith(f"{SERVER_TOOLS}{SERVER}__")
    return (SKILLS in tuning.own and tool == SKILL) or (
        MCP in tuning.own and tool.startswith(SERVER_TOOLS) and not ours
    )


def own_files(environ: Mapping[str, str], tuning: Tuning) -> tuple[str, ...]:
    """Return the files beside its folder that it reads: where the operator's servers are named, if it has them."""
    if MCP not in tuning.own or environ.get("CLAUDE_CONFIG_DIR"):
        return ()
    return (f"{config_folder(environ)}.json",)


def arguments(program: str, model: str, turns: int, tools: list[str], tuning: Tuning) -> list[str]:
    """How it is called: nobody's settings, hooks, servers or commands but what we give, and every call is asked.

    `tools` are those of its own that it has. Of the operator's set-up it has what `tuning` says.
    """
    servers = {"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}}
    sources = ["--setting-sources=user", "--settings", json.dumps(_SAFE)] if tuning.own else ["--setting-sources="]
    sources += [] if SKILLS in tuning.own else ["--disable-slash-commands"]
    sources += [] if MCP in tuning.own else ["--strict-mcp-config"]
    tools = [*tools, SKILL] if SKILLS in tuning.own else tools
    return [
        program, "-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json",
        "--include-partial-messages", "--permission-prompt-tool", "stdio", "--permission-mode", "default",
        *sources, "--mcp-config", json.dumps(servers), "--tools", ",".join(tools), f"--max-turns={turns}",
        *([f"--model={model}"] if model else []), *([f"--effort={tuning.effort}"] if tuning.effort else []),
    ]  # fmt: skip


def environment(environ: Mapping[str, str], config: ModelsConfig, tuning: Tuning) -> dict[str, str]:
    """Return its environment: the keys that it needs, no other, and nothing that it does unasked.

    It thinks as its model does by itself, or not at all where that is off.
    """
    passed_on = {name: environ[name] for name in _PASSED_ON if name in environ} | {WORKER: "claude"}
    passed_on |= {"CLAUDE_CODE_DISABLE_THINKING": "1"} if tuning.thinking == "off" else {}
    passed_on |= {} if CLAUDE_MD in tuning.own else {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}
    return passed_on | {
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(MAX_OUTPUT),
        "CLAUDE_CODE_MAX_RETRIES": str(config.tries - 1), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_MCP_TASK_BACKGROUND": "1", "CLAUDE_CODE_SDK_MCP_TOOL_IDLE_TIMEOUT": _DAY,
        "MCP_TOOL_TIMEOUT": _DAY, "MAX_MCP_OUTPUT_TOKENS": "200000", "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1", "NO_COLOR": "1", "TERM": "dumb",
        "TMPDIR": config_folder(environ),
    }  # fmt: skip


class UnsandboxedProgram:
    """The program without a sandbox. It ends with the process that started it."""

    def __init__(self, argv: list[str], env: dict[str, str], own: str) -> None:
        try:
            self.child = subprocess.Popen(
                argv,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
                preexec_fn=_die_with_parent,
            )
        except (OSError, ValueError) as error:
            raise not_started(argv[0], error) from error

    def end(self) -> None:
        end(self.child)


def not_started(program: str, error: Exception) -> ProviderError:
    """Return the error for a program that is there and cannot be started."""
    reason = getattr(error, "strerror", "") or error
    return ProviderError(f"{program} could not be started: {reason}. See [models.claude] in lumen.toml")


def _die_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def launch(argv: list[str], env: dict[str, str], own: str, reads: tuple[str, ...] = ()) -> Launched:
    """Start it without a sandbox. Raises ProviderError."""
    return UnsandboxedProgram(argv, env, own)


def end(child: subprocess.Popen[bytes]) -> None:
    """Close its input, wait, terminate, wait, kill its whole group. What it still writes is thrown away."""
    group = _group(child)
    _close(child)
    if not _waited(child, _ASK_SECONDS):
        _signal(group, signal.SIGTERM)
        _waited(child, _TERM_SECONDS)
    _signal(group, signal.SIGKILL)
    child.wait()
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()


def _close(child: subprocess.Popen[bytes]) -> None:
    try:
        if child.stdin:
            child.stdin.close()
    except OSError:
        pass  # it does not read any more


def _waited(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Return whether it ended in time. Its output is read meanwhile, so that it does not wait for a reader."""
    for _ in range(round(seconds / _LOOK)):
        for stream in (child.stdout, child.stderr):
            _drain(stream)
        try:
            child.wait(_LOOK)
        except subprocess.TimeoutExpired:
            continue
        return True
    return False


def _drain(stream: IO[bytes] | None) -> None:
    try:
        if stream and not stream.closed:
            os.set_blocking(stream.fileno(), False)
            while os.read(stream.fileno(), 1 << 16):
                pass
    except OSError:
        pass  # nothing is there now


def _group(child: subprocess.Popen[bytes]) -> int:
    """Return its process group, which the sandbox may have given it."""
    try:
        return os.getpgid(child.pid) if child.returncode is None else child.pid
    except ProcessLookupError:
        return child.pid


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # all gone
