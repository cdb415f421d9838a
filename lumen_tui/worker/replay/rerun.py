"""Makes recorded calls again in the shadow of a task, and compares what they give.

Made again are the tools of files, commands (in the sandbox, without a network) and the result. What reaches out (the
web, memory, other tasks, the operator, programs of the operator's own) is never called: the recorded result counts.
"""

from __future__ import annotations

import os

import msgspec

from lumen_tui.model.replay import ResultKind, ShadowBase
from lumen_tui.model.roles import BACKGROUND_TOOLS, READ_TOOLS, WRITE_TOOLS
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.files import StoreError
from lumen_tui.tools.agent.report import WRITE_RESULT
from lumen_tui.tools.base import Context, Stopped, TaskMemo, ToolError, ToolResult
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.policy.verdict import RequestedCall, convert
from lumen_tui.tools.sandbox.admission import choose_tier
from lumen_tui.tools.sandbox.sandboxed_command import ASK
from lumen_tui.tools.sandbox.tiers import REFUSED
from lumen_tui.tools.shell import background
from lumen_tui.tools.shell.tool import SHELL
from lumen_tui.worker.replay.gate import Rerun
from lumen_tui.worker.replay.recorded import RecordedCall
from lumen_tui.worker.replay.shadow import PathMap, Shadow

_COMMANDS = (SHELL.name, *BACKGROUND_TOOLS)
_AGAIN = (*READ_TOOLS, *WRITE_TOOLS, *_COMMANDS, WRITE_RESULT.name)
_SAME_TEXT = ("read_file", "grep", *WRITE_TOOLS, WRITE_RESULT.name)  # the others tell times and sizes on disk, too
_MOST_COMPARED = 50_000  # characters: what was cut has a note at its end
_RECORDED = Rerun(ResultKind.RECORDED)


class ShadowRunner:
    """Makes the calls of one task, in order. Without a shadow nothing is run."""

    def __init__(self, shadow: Shadow | None, gate: Context) -> None:
        self._shadow = shadow
        self._gate = gate
        self._context = shadow.context if shadow is not None else gate
        self._tier = choose_tier(self._context).tier if shadow is not None else REFUSED
        self._as_then = shadow is not None and shadow.base is ShadowBase.COMMIT
        self.time_is_up = False
        self.unsandboxed = 0  # commands that were not run, as there is no sandbox

    @property
    def exact(self) -> bool:
        """Whether the shadow is what the task had at this point."""
        return self._as_then

    @property
    def inside(self) -> Context | None:
        """The context of tools in the shadow, if there is one."""
        return self._shadow.context if self._shadow is not None else None

    def begin(self) -> None:
        """Begin an attempt, which knows nothing of the files any more."""
        if self._shadow is not None:
            self._context = msgspec.structs.replace(self._shadow.context, memo=TaskMemo())

    def end(self) -> None:
        """End the commands in the background."""
        if self._shadow is not None:
            background.stop_all(self._context)

    def run(self, requested: RequestedCall, recorded: RecordedCall) -> Rerun:
        """Make an admitted call again; say whether it gave what is on record."""
        name = requested.tool.name
        if self._shadow is None or name not in _AGAIN or self.time_is_up or self._is_state(recorded):
            return _RECORDED
        is_command = name in _COMMANDS
        if recorded.call.text is None or not recorded.whole or (is_command and not self._may_run()):
            self._as_then = False
            return _RECORDED
        try:
            result = self._made(self._shadow, requested, recorded)
        except Stopped:
            self._gate.check()
            self.time_is_up, self._as_then = True, False
            return _RECORDED
        return self._compared(self._shadow.paths, result, requested, recorded)

    def preview(self, requested: RequestedCall) -> str:
        """Return the change that a call would make in the shadow. ToolError, in the words of outside, where none."""
        if self._shadow is None:
            return ""
        arguments = self._shadow.paths.arguments(requested.canonical)
        try:
            return requested.tool.preview(self._context, convert(requested.tool, arguments))
        except ToolError as error:
            raise ToolError(self._shadow.paths.back(str(error))) from error

    def _may_run(self) -> bool:
        if self._tier in (ASK, REFUSED):
            self.unsandboxed += 1
            return False
        return True

    def _is_state(self, recorded: RecordedCall) -> bool:
        """Return whether a call looks at the state folder beyond the task's own, which has no shadow."""
        path = recorded.arguments.get("path")
        if not isinstance(path, str) or not path.startswith(("/", "~")):
            return False
        real = os.path.realpath(os.path.expanduser(path))
        root, own = os.path.realpath(self._gate.store.root), os.path.realpath(self._gate.folder)
        return is_below(real, root) and not is_below(real, own)

    def _made(self, shadow: Shadow, requested: RequestedCall, recorded: RecordedCall) -> ToolResult:
        arguments = shadow.paths.arguments(recorded.call.arguments)
        try:
            return requested.tool.run(self._context, convert(requested.tool, arguments))
        except (ToolError, StoreError, OSError) as error:
            return ToolResult(str(error), ok=False)

    def _compared(self, paths: PathMap, result: ToolResult, requested: RequestedCall, recorded: RecordedCall) -> Rerun:
        name, was = requested.tool.name, recorded.call
        text = self._gate.redact(safe(paths.back(result.text)))
        before = was.text or ""
        most = _MOST_COMPARED if recorded.marks.cut or len(text) > _MOST_COMPARED else len(text) + len(before)
        if result.ok is was.ok and text[:most] == before[:most]:
            return Rerun(ResultKind.SAME)
        strict = self._as_then and (
            (name in _SAME_TEXT) or (name in _COMMANDS and result.ok is not was.ok and not self._gate.rules.network)
        )
        words = f"{'ok' if result.ok else 'failed'}: {_first_difference(text, before)}"
        return Rerun(ResultKind.DIFFERS, words, strict)


def _first_difference(text: str, before: str) -> str:
    """Return the first line of `text` that is not in its place in `before`."""
    lines, known = text.split("\n"), before.split("\n")
    for number, line in enumerate(lines):
        if number >= len(known) or known[number] != line:
            return f"line {number + 1}: {one_line(line, 160)}"
    return f"{len(lines):,} lines of {len(known):,}"
