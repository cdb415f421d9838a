"""Learning from commands: what was missing and what then helped, and how a project is tested and built.

A fix is the same command failing, then what was missing installed, then that command passing. That a command passed
after an edit is no fix: nothing in a session says which of the edits helped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.engine.evolution import commands
from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.model.evolution import (
    DOMAIN,
    RECOVERY,
    CallOutcome,
    ExtractionState,
    FailedCommand,
    ObservationKind,
    PendingCall,
    SessionEntry,
    lowest,
)
from lumen_tui.model.patterns import lazy_re

_MISSING = (
    lazy_re(r"ModuleNotFoundError: No module named '(?P<name>[\w.]{1,60})'"),
    lazy_re(r"(?:Error: )?Cannot find (?:module|package) '(?P<name>[@\w][\w./@-]{0,60})'"),
    lazy_re(r"(?:^|[:\s])(?P<name>[\w.-]{1,40}): (?:command )?not found$", re.M),
)
_PROTECTED = lazy_re(r"^ ! \[remote rejected\] [\w./-]{1,60} -> (?P<branch>[\w./-]{1,60}) \(protected branch", re.M)
_LOOKS_BAD = lazy_re(
    r"Traceback \(most|command not found|[Ee]xit code:? [1-9]|\b[1-9]\d* (?:failed|errors?)\b"
    r"|^(?:FAILED|FAIL|ERROR|Error)\b|error TS\d|npm ERR!|npm error|\bfatal: |✗|✖|No such file|[Pp]ermission denied",
    re.M,
)
_MOST_OPEN, _MOST_FAILURES = 60, 20
_PATIENCE = 60  # calls after which a failure is given up
_MOST_KEPT = 2000  # characters of a command
_MOST_EVIDENCE = 400  # characters of an output that are kept until the fix is known
_SCRATCH = lazy_re(r"/(?:private/)?(?:tmp|var)(?:/|$)")  # no project is there
_HIDDEN = "whether it ended well is hidden by a pipe"
_LOOKED_AT = 20_000  # characters of an output


def note_call(entry: SessionEntry, held: ExtractionState) -> None:
    """Note a call whose result comes later."""
    while len(held.calls) >= _MOST_OPEN:
        held.calls.pop(next(iter(held.calls)))
    command = entry.text[:_MOST_KEPT]
    held.calls[entry.call_id] = PendingCall(entry.tool, command, entry.trust, entry.source, entry.offered)


def learn_from_result(entry: SessionEntry, call: PendingCall, held: ExtractionState) -> Iterator[LearningCandidate]:
    """Learn from how a command ended. A command has the trust of whoever ran it, its output has none."""
    held.step += 1
    held.failures = [failure for failure in held.failures if held.step - failure.step < _PATIENCE]
    line = commands.plain(call.command)
    if entry.ended is CallOutcome.FAILED:
        if len(line) == 1:
            _note_failure(entry, call, line[0], held)
        yield from _declined(entry, call, line)
    elif entry.ended is CallOutcome.OK and not _LOOKS_BAD.search(entry.text[:_LOOKED_AT]):
        for command in line:
            folder = command.folder or entry.cwd
            for failure in held.failures:
                if not failure.helped and failure.folder == folder and commands.provides(command, failure.missing):
                    failure.helped = command.line
            yield from _fixes(call, command, folder, held)
            yield from _habits(entry, call, command, "")
        for command in commands.cut_off(call.command):
            yield from _habits(entry, call, command, _HIDDEN)


def _declined(
    entry: SessionEntry, call: PendingCall, line: tuple[commands.PlainCommand, ...]
) -> Iterator[LearningCandidate]:
    """Yield that a remote takes no pushes to a branch, which it says in its own words."""
    push = next((command for command in line if command.words[:2] == ("git", "push")), None)
    hit = _PROTECTED.search(entry.text[-_LOOKED_AT:])
    if push is None or hit is None or not (project := project_of(push.folder or entry.cwd)):
        return
    if hit["branch"] not in {*push.words, "main", "master"}:
        return
    yield LearningCandidate(
        ObservationKind.FACT,
        f"In `{project}`: pushes to `{hit['branch']}` are declined, the branch is protected",
        DOMAIN,
        hit.group().strip(),
        hit.group(),
        entry.source,
        call.trust,
        0.8,
        f"protected:{project}:{hit['branch']}",
        "declined",
    )


def _note_failure(
    entry: SessionEntry, call: PendingCall, command: commands.PlainCommand, held: ExtractionState
) -> None:
    """Note a failure that says what was missing; of the output nothing else is ever taken."""
    held.failures = [failure for failure in held.failures if failure.command != command.line]
    output = entry.text[:_LOOKED_AT]
    match = next((match for pattern in _MISSING if (match := pattern.search(output))), None)
    if match is None:
        return
    quote = match.group().strip(" :\n")
    evidence = output[match.start() :][:_MOST_EVIDENCE]
    failure = FailedCommand(command.line, entry.source, quote, held.step, call.trust, match["name"], evidence)
    failure.folder = command.folder or entry.cwd
    held.failures = [*held.failures, failure][-_MOST_FAILURES:]


def _fixes(
    call: PendingCall, command: commands.PlainCommand, folder: str, held: ExtractionState
) -> Iterator[LearningCandidate]:
    """Yield the fix of the failure that this success ends."""
    ended = [failure for failure in held.failures if failure.command == command.line]
    held.failures = [failure for failure in held.failures if failure.command != command.line]
    for failure in ended:
        if failure.helped and failure.folder == folder:
            text = f"`{command.line}` failed ({failure.missing} was missing); it worked after `{failure.helped}`"
            trust = lowest(call.trust, failure.trust)
            yield LearningCandidate(
                ObservationKind.FIX, text, RECOVERY, failure.quote, failure.evidence, failure.source, trust, 0.8
            )


def _habits(
    entry: SessionEntry, call: PendingCall, command: commands.PlainCommand, doubt: str
) -> Iterator[LearningCandidate]:
    """Yield how tests, the build and the linter are run here."""
    sort, folder = commands.sort_of(command), command.folder or entry.cwd
    project = project_of(folder)
    if not sort or (project and _SCRATCH.match(folder)):
        return
    verb = "run" if sort in ("tests", "checks") else "runs"
    where = f"In `{project}`: {sort}" if project else sort.capitalize()
    yield LearningCandidate(
        ObservationKind.COMMAND,
        f"{where} {verb} with `{command.line}`",
        DOMAIN,
        command.line,
        call.command,
        call.source,
        call.trust,
        0.6,
        f"command:{project}:{command.line}",
        sort,
        doubt,
    )


def project_of(folder: str) -> str:
    """Return the name of the folder a command ran in; empty for the folder of a task."""
    name = folder.rstrip("/").rpartition("/")[2]
    return "" if "/tasks/" in folder or not re.fullmatch(r"\w[\w.-]{0,39}", name) else name
