"""Learning from commands: what failed and then worked, how tests are run, versions and ports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.engine.evolution import programs
from lumen_tui.engine.evolution.found import LearningCandidate
from lumen_tui.model.evolution import DOMAIN, RECOVERY, Kind, Trust, lowest
from lumen_tui.model.sessionlog import Call, Entry, Failure, Open

_MOST_OPEN, _MOST_FAILURES = 60, 20
_PATIENCE = 60  # calls after which a failure is given up
_ALIKE, _ALIKE_OTHER = 60, 78  # likeness of two command lines: of one program, of two
_MOST_COMMAND = 140
_MOST_KEPT = 2000  # characters of a command
_MOST_EVIDENCE = 400  # characters of an output that are kept until the fix is known
_VERSION_ASKED = re.compile(r"^`?([\w./-]+)`?(?: version| -[vV]| --version)\s*(?:2>&1)?$")
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)*)")
_PORT_WORDS = ("isten", "unning", "erving", "tarted", "vailable", "ocal:")
_PORT = re.compile(
    r"(?:listening (?:on|at)|running (?:on|at)|serving (?:on|at|http on)|started (?:on|at)"
    r"|available (?:on|at)|local:)[^\n]{0,40}?(?:port |:)(\d{2,5})\b",
    re.I,
)


def note_call(entry: Entry, held: Open) -> None:
    """Note a call whose result comes later."""
    while len(held.calls) >= _MOST_OPEN:
        held.calls.pop(next(iter(held.calls)))
    command = entry.text[:_MOST_KEPT]
    held.calls[entry.call_id] = Call(entry.tool, command, entry.path[:500], entry.trust, entry.source)


def learn_from_result(entry: Entry, call: Call, held: Open) -> Iterator[LearningCandidate]:
    """Learn from the result of a call. A command has the trust of whoever ran it, its output has not."""
    command, path = call.command, call.path
    held.step += 1
    held.failures = [failure for failure in held.failures if held.step - failure.step < _PATIENCE]
    good = entry.ok and not programs.failed(entry.text)
    if path and good:
        _note(held, f"a change of `{path.rpartition('/')[2].replace('`', '')}`")
    if not command.strip():
        return
    if not good:
        _failed(entry, call, held)
        return
    yield from _fixes(call, held)
    if programs.prepares(command):
        _note(held, f"`{shown(command)}`")
    yield from _habits(entry, call)
    yield from _versions_and_ports(entry, command)


def _note(held: Open, step: str) -> None:
    for failure in held.failures:
        failure.between = [*failure.between, step][-3:]


def _failed(entry: Entry, call: Call, held: Open) -> None:
    command = call.command
    quote = programs.failing_line(entry.text)
    if programs.only_looks(command) or not quote:
        return
    cause = programs.why_failed(entry.text)
    failure = Failure(
        shown(command), cause, entry.source, quote, held.step, call.trust, evidence=_around(entry.text, quote)
    )
    held.failures = [*held.failures, failure][-_MOST_FAILURES:]


def _around(output: str, quote: str) -> str:
    """Return the part of an output from a quote on; its beginning if the quote is not in it."""
    return output[max(0, output.find(quote)) :][:_MOST_EVIDENCE]


def shown(command: str) -> str:
    """Return a command line in the form used in statements."""
    text = programs.bare(command).replace("`", "'")
    return text if len(text) <= _MOST_COMMAND else text[: _MOST_COMMAND - 1] + "…"


def _fixes(call: Call, held: Open) -> Iterator[LearningCandidate]:
    """Yield a fix for the newest failure that this success resolves."""
    for failure in reversed(held.failures):
        text = _fixed(failure, call.command)
        if not text:
            continue
        fixed_program = programs.program(failure.command)
        held.failures = [other for other in held.failures if programs.program(other.command) != fixed_program]
        trust = lowest(call.trust, failure.trust)
        yield LearningCandidate(Kind.FIX, text, RECOVERY, failure.quote, failure.evidence, failure.source, trust, 0.7)
        return


def _fixed(failure: Failure, command: str) -> str:
    """Return how a failure was fixed; empty if this success is unrelated or nothing was done in between."""
    line = shown(command)
    if line.endswith("…"):
        return ""
    if line == failure.command:
        steps = " and ".join(dict.fromkeys(failure.between))
        return f"`{line}` failed ({failure.why}); it worked after {steps}" if steps else ""
    from rapidfuzz import fuzz  # 4 MiB that an engine without sessions need not hold

    same = programs.program(failure.command) == programs.program(line)
    if fuzz.ratio(failure.command, line) < (_ALIKE if same else _ALIKE_OTHER):
        return ""
    return f"`{failure.command}` failed ({failure.why}); `{line}` worked"


def _habits(entry: Entry, call: Call) -> Iterator[LearningCandidate]:
    """Yield how tests, the build and the linter are run here."""
    sort = programs.sort_of(call.command)
    line = programs.bare(call.command)
    if not sort or len(line) > 80 or re.search(r"[|;&<>$]", line):
        return
    project = project_of(entry.cwd)
    verb = "run" if sort == "tests" else "runs"
    text = f"{f'In `{project}`: ' if project else ''}{sort if project else sort.capitalize()} {verb} with `{line}`"
    if line in call.command:
        yield LearningCandidate(Kind.COMMAND, text, DOMAIN, line, call.command, call.source, call.trust, 0.6)


def project_of(cwd: str) -> str:
    """Return the name of the folder a session worked in; empty for the folder of a task."""
    name = cwd.rstrip("/").rpartition("/")[2]
    return "" if "/tasks/" in cwd or not re.fullmatch(r"[\w.-]{1,40}", name) else name


def _versions_and_ports(entry: Entry, command: str) -> Iterator[LearningCandidate]:
    """Yield versions and ports in fixed words: only a number is taken from the output."""
    head = entry.text[:4000]
    match = _VERSION_ASKED.match(programs.bare(command))
    if match and (hit := _VERSION.search(head[:300])):
        name = match[1].rpartition("/")[2]
        quote = next(line for line in head.splitlines() if hit[1] in line).strip()[:200]
        yield LearningCandidate(
            Kind.FACT,
            f"`{name}` is at version {hit[1]}",
            DOMAIN,
            quote,
            entry.text,
            entry.source,
            Trust.TOOL,
            0.7,
            f"version:{name}",
            hit[1],
        )
    if any(word in head for word in _PORT_WORDS) and (hit := _PORT.search(head)):
        name = programs.program(command).partition(" ")[0]
        if re.fullmatch(r"[A-Za-z][\w.+-]{0,30}", name):
            yield LearningCandidate(
                Kind.FACT,
                f"`{name}` listens on port {hit[1]}",
                DOMAIN,
                hit.group(),
                entry.text,
                entry.source,
                Trust.TOOL,
                0.6,
                f"port:{name}",
                hit[1],
            )
