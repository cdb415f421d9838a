"""The checks of a task, run by a process of its own once the worker has ended, with the rights that the worker had.

Commands go through the worker's tool gate: the same rules, the same sandbox, the same questions to a person. What is
refused there was not checked, and so proves nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from lumen_tui.model import acceptance, times
from lumen_tui.model.acceptance import COMMAND, FILE, Acceptance, BadCheck, Check, CheckResult, Finding
from lumen_tui.model.facts import COMMANDS, Outcome, Probe
from lumen_tui.model.globs import path_pattern
from lumen_tui.model.runners import files_of
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.files import StoreError
from lumen_tui.store.tasks.task_records import read_run
from lumen_tui.tools import web_fetch
from lumen_tui.tools.base import Context, ToolError, plural, size_text
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.files.paths import TreeWalk, forbidden
from lumen_tui.tools.probes import batch
from lumen_tui.tools.sandbox import tiers
from lumen_tui.tools.sandbox.admission import choose_tier
from lumen_tui.tools.sandbox.limits import denials
from lumen_tui.tools.sandbox.policy import workspace
from lumen_tui.tools.sandbox.sandboxed_command import ASK
from lumen_tui.tools.shell.tool import SHELL, home
from lumen_tui.tools.toolbox import StepLimit, Toolbox
from lumen_tui.worker.record import Recorder

_LINES, _WIDTH = 12, 200  # of what a command wrote last
_LONGEST = 600.0  # seconds that the shell gives one command
_LEAST = 1.0
_PROBE = 10.0  # seconds for one probe
_WILD = frozenset("*?[{")


class Checker:
    """Runs checks one after the other, within `seconds` for all of them together."""

    def __init__(self, context: Context, toolbox: Toolbox, events: Recorder, seconds: float) -> None:
        self._context = context
        self._toolbox = toolbox
        self._events = events
        self._ends = context.monotonic() + seconds
        first = read_run(context.folder, 1)
        self._began = times.epoch(first.started_at) if first else 0.0
        named = context.spec.folder
        self.folder = named if named and os.path.isdir(named) else home(context)

    def run(self, texts: Sequence[str]) -> Acceptance:
        """Return what became of these checks. Raises Stopped."""
        results = []
        for text in texts:
            self._events.event("check", text)
            began = self._context.monotonic()
            raw = self._one(text)
            took = round(self._context.monotonic() - began, 3)
            result = self._made_safe(raw, took)
            event_text = "\n".join([result.text, *result.lines])
            self._events.event("checked", event_text, ok=result.finding is Finding.HOLDS)
            results.append(result)
        return acceptance.judge(tuple(results), times.iso(self._context.now()))

    def _one(self, text: str) -> CheckResult:
        remaining = self._ends - self._context.monotonic()
        try:
            check = acceptance.parse(text)
            if remaining < _LEAST:
                return _unknown(text, "no time was left for it: [workers] check_minutes in lumen.toml")
            if check.kind == COMMAND:
                return self._command(check, remaining)
            return self._file(check, remaining) if check.kind == FILE else self._fact(check, remaining)
        except (BadCheck, ToolError, StepLimit, StoreError, OSError) as error:
            return _unknown(text, str(error))

    def _made_safe(self, result: CheckResult, seconds: float) -> CheckResult:
        clean = self._context.clean
        return CheckResult(
            check=clean(result.check),
            finding=result.finding,
            evidence=one_line(clean(result.evidence), 300),
            lines=tuple(one_line(line, _WIDTH) for line in result.lines),
            exit_code=result.exit_code,
            seconds=seconds,
            changed=tuple(one_line(clean(name), _WIDTH) for name in result.changed),
        )

    def _command(self, check: Check, remaining: float) -> CheckResult:
        """Run a command as the worker would have run it; it holds where it ends with 0."""
        limit = round(min(remaining, _LONGEST), 1)
        result = self._toolbox.call(SHELL.name, {"command": check.what, "cwd": self.folder, "timeout": limit})
        code = result.data.get("exit_code")
        if not isinstance(code, int):
            return _unknown(str(check), result.text) if result.refused or self._asks() else _fails(check, result.text)
        output = str(result.data.get("output", ""))
        if not result.ok and self._toolbox.rules.shell == "read" and denials(output.encode()):
            return _unknown(str(check), "this role only reads, and the sandbox refused what the command wanted to do")
        return CheckResult(
            check=str(check),
            finding=Finding.HOLDS if result.ok else Finding.FAILS,
            evidence="exit code 0" if result.ok else result.summary,
            lines=tuple(self._context.clean(output).strip("\n").split("\n")[-_LINES:]) if output.strip() else (),
            exit_code=code,
            changed=tuple(self._changed(check.what)),
        )

    def _asks(self) -> bool:
        """Return whether no sandbox holds commands here: then a person may have said no, or nothing is run at all."""
        return choose_tier(self._context).tier in (tiers.REFUSED, ASK)

    def _changed(self, command: str) -> Iterator[str]:
        """Yield the files that the command goes by, such as the Makefile, that changed since the task began."""
        for name in files_of(command):
            path = os.path.join(self.folder, name)
            try:
                status = os.stat(path)
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(status.st_mode) and self._is_new(status):
                yield name

    def _is_new(self, status: os.stat_result) -> bool:
        return max(status.st_ctime, status.st_mtime) >= self._began

    def _file(self, check: Check, remaining: float) -> CheckResult:
        """Look for files below the task's folder, or among those that its worker may always write."""
        cut = ""
        for base in dict.fromkeys((os.path.realpath(self.folder), workspace(self._context))):
            try:
                matches, reason = self._matches(base, check.what, remaining)
            except (ToolError, OSError) as error:
                matches, reason = [], str(error)
            cut = cut or reason
            if matches:
                new = "" if any(self._is_new(status) for _, status in matches) else ", there before the task began"
                path, status = matches[0]
                more = f" and {plural(len(matches) - 1, 'other')}" if matches[1:] else ""
                words = f"{os.path.relpath(path, base)}, {size_text(status.st_size)}{more}{new}"
                return CheckResult(check=str(check), finding=Finding.HOLDS, evidence=words)
        return _fails(check, f"no such file below {self.folder}" + (f"; {cut}" if cut else ""))

    def _matches(self, base: str, pattern: str, seconds: float) -> tuple[list[tuple[str, os.stat_result]], str]:
        """Return the files below `base` that fit, links out of it left aside, and why not all were looked at."""
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        fixed = next((at for at, part in enumerate(parts) if _WILD & set(part)), len(parts) - 1)
        top = os.path.realpath(os.path.join(base, *parts[:fixed]))
        if not is_below(top, base) or not os.path.isdir(top) or forbidden(self._context, top):
            return [], ""
        remaining = "/".join(parts[fixed:])
        deep = 0 if "**" in remaining else len(parts) - fixed
        walk = TreeWalk(self._context, top, seconds=seconds, max_depth=deep)
        wanted = path_pattern(remaining)
        matches = [
            (path, status)
            for path, entry in walk
            if wanted.fullmatch(os.path.relpath(path, top)) and (status := self._regular(path, entry, base))
        ]
        return matches, walk.cut

    def _regular(self, path: str, status: os.stat_result, base: str) -> os.stat_result | None:
        """Return the status of the file, or of the one a link leads to; None for what is none, or out of bounds."""
        real = os.path.realpath(path)
        if not is_below(real, base) or forbidden(self._context, real):
            return None
        if stat.S_ISLNK(status.st_mode):
            try:
                status = os.stat(real)
            except OSError:
                return None
        return status if stat.S_ISREG(status.st_mode) else None

    def _fact(self, check: Check, remaining: float) -> CheckResult:
        """Make the probe as those of facts are made, with the rules of the task."""
        probe = acceptance.probe(check, self.folder)
        if refusal := self._refusal(probe):
            return _unknown(str(check), refusal)
        each = min(remaining, _PROBE)
        job = batch.ProbeJob("accept", probe)
        readings = batch.run(
            self._context.store.root,
            [job],
            seconds=2 * each,
            each=each,
            task_id=self._context.spec.id,
            folder=self.folder,
        )
        if not readings:
            return _unknown(str(check), "the probe crashed")
        reading = readings[0][1]
        finding = Finding.HOLDS if reading.outcome is Outcome.HOLDS else Finding.FAILS
        return CheckResult(check=str(check), finding=finding, evidence=reading.evidence)

    def _refusal(self, probe: Probe) -> str:
        """Return why the task may not make a probe, or empty. Whatever else is in its way may be its worker's doing."""
        if probe.kind in COMMANDS:
            none = self._toolbox.rules.shell == "none"
            return "this role has no shell" if none else "no sandbox holds commands here" if self._asks() else ""
        if probe.kind == "http":
            return web_fetch.why_not(self._context, probe.target)
        if probe.kind == "port":
            return ""
        return forbidden(self._context, os.path.realpath(os.path.expanduser(probe.target)))


def _fails(check: Check, evidence: str) -> CheckResult:
    return CheckResult(check=str(check), finding=Finding.FAILS, evidence=evidence)


def _unknown(text: str, evidence: str) -> CheckResult:
    return CheckResult(check=safe(text), finding=Finding.UNKNOWN, evidence=evidence)
