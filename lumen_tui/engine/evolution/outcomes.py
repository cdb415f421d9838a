"""Learning from commands: what failed and then worked, how tests are run, versions and ports.

Below it, what a command line is about: its program, its sort, why it failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.model.evolution import (
    DOMAIN,
    RECOVERY,
    ExtractionState,
    FailedCommand,
    ObservationKind,
    PendingCall,
    SessionEntry,
    Trust,
    lowest,
)

_ENV = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_CD = re.compile(r"^\s*cd\s+[^&;|]+(?:&&|;)\s*")
_WRAPPERS = frozenset({"sudo", "env", "time", "nohup", "timeout", "command", "exec", "nice", "xargs", "stdbuf"})
_RUNNERS = {
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("python", "-m"), ("python3", "-m"),
    ("npx", ""), ("bundle", "exec"), ("pdm", "run"),
}  # fmt: skip
_WITH_VERB = frozenset({
    "git", "npm", "pnpm", "yarn", "cargo", "go", "docker", "kubectl", "uv", "pip", "pip3", "make", "apt", "apt-get",
    "brew", "systemctl", "poetry", "bun", "deno", "gh", "terraform", "helm", "dotnet", "mvn", "gradle", "just",
})  # fmt: skip
_LOOKS = frozenset({
    "ls", "cat", "cd", "echo", "pwd", "head", "tail", "grep", "rg", "find", "which", "wc", "test", "sleep", "true",
    "false", "printf", "stat", "file", "diff", "sort", "ps", "kill", "date", "tree", "sed", "awk", "export", "[",
})  # fmt: skip
_SORTS = (
    (
        "tests",
        re.compile(
            r"\b(?:pytest|tox|nox|unittest|(?:npm|pnpm|yarn|bun)(?: run)? test|cargo (?:nextest|test)|go test"
            r"|make (?:test|check)\w*|jest|vitest|mvn test|gradle test|rspec|ctest|phpunit|dotnet test"
            r"|mix test|just test)\b"
        ),
    ),
    (
        "the build",
        re.compile(
            r"\b(?:(?:npm|pnpm|yarn|bun) run build|cargo build|go build|make(?: all| build)?$|mvn package"
            r"|gradle build|docker build|uv build|python -m build|cmake --build|tsc\b|dotnet build|just build)"
        ),
    ),
    (
        "the linter",
        re.compile(
            r"\b(?:ruff check|ruff format|eslint|flake8|pylint|mypy|pyright|cargo clippy|golangci-lint"
            r"|prettier|black|npm run lint|make lint)\b"
        ),
    ),
    (
        "the program",
        re.compile(r"\b(?:npm (?:run dev|start)|flask run|uvicorn|cargo run|docker compose up|manage\.py run)"),
    ),
)
_INSTALL = re.compile(
    r"\b(?:pip3? install|uv (?:add|sync|pip install)|poetry (?:add|install)|npm (?:ci|i|install)"
    r"|pnpm (?:add|install|i)|yarn(?: add| install)?$|apt(?:-get)? install|brew install|cargo (?:add"
    r"|install)|go (?:get|mod tidy)|bundle install|composer install|mkdir|chmod|export \w+="
    r"|systemctl (?:start|restart)|docker (?:compose up|start)|git (?:init|pull|fetch|stash|submodule)"
    r"|createdb|touch|ln -s|source|cp)\b"
)
_WHY = (
    re.compile(r"ModuleNotFoundError: No module named '[\w.]{1,40}'"),
    re.compile(r"No module named '?[\w.]{1,40}'?"),
    re.compile(r"\b(?:[A-Z]\w{2,30}(?:Error|Exception))\b"),
    re.compile(
        r"command not found|[Nn]o such file or directory|[Pp]ermission denied|[Cc]onnection refused"
        r"|[Aa]ddress already in use|[Tt]imed out|[Nn]ot a git repository|unrecognized arguments?"
        r"|unknown option|[Ii]nvalid option|[Mm]erge conflict|externally-managed-environment"
        r"|[Nn]o tests ran|[Mm]issing script|[Uu]nable to resolve|[Cc]annot find module"
        r"|[Nn]o space left on device|[Ss]yntax error|is not installed|[Oo]ut of memory|ENOENT|EADDRINUSE"
        r"|ERESOLVE"
    ),
    re.compile(r"\b\d+ failed\b"),
    re.compile(r"[Ee]xit code:? \d{1,3}"),
)
_FAILED = re.compile(
    r"^(?:Error: )?Exit code:? [1-9]\d{0,2}\b|\(exit code [1-9]\d{0,2}\)|^exit code [1-9]"
    r"|\bcommand not found$|^Traceback \(most recent call last\)",
    re.M,
)


_FAILED_WORDS = ("xit code", "command not found", "Traceback (most")


def failed(output: str) -> bool:
    """Return whether an output says that its command failed, though it was not marked so."""
    head = output[:2000]
    return any(word in head for word in _FAILED_WORDS) and _FAILED.search(head) is not None


@lru_cache(4096)
def bare(command: str) -> str:
    """Return a command line without `cd …&&`, variables and wrappers, on one line."""
    text = " ".join(command.split())
    while (match := _CD.match(text)) or (match := _ENV.match(text)):
        text = text[match.end() :]
    words = text.split()
    while words and words[0] in _WRAPPERS:
        words = words[2:] if words[0] == "timeout" else words[1:]
    return " ".join(words)


@lru_cache(4096)
def program(command: str) -> str:
    """Return what is run: `pytest` for `uv run pytest -q`, `git push` for `git push -u origin`."""
    words = bare(command).split()
    while len(words) > 1 and ((words[0], words[1]) in _RUNNERS or (words[0], "") in _RUNNERS):
        words = words[1:] if (words[0], "") in _RUNNERS else words[2:]
    if not words:
        return ""
    name = words[0].rpartition("/")[2]
    if name in _WITH_VERB and len(words) > 1:
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        return f"{name} {verb}".strip()
    return name


def only_looks(command: str) -> bool:
    """Return whether a command only looks, so that its success says nothing."""
    name = program(command).partition(" ")[0]
    return not name or name in _LOOKS


@lru_cache(4096)
def sort_of(command: str) -> str:
    """Return what a command runs: tests, the build, the linter, the program; empty for anything else."""
    return next((sort for sort, pattern in _SORTS if pattern.search(bare(command))), "")


@lru_cache(4096)
def prepares(command: str) -> bool:
    """Return whether a command installs or sets something up."""
    return _INSTALL.search(command) is not None


def why_failed(output: str) -> str:
    """Describe a failure in words of fixed shapes; nothing else of the output is ever taken."""
    for pattern in _WHY:
        if match := pattern.search(output):
            return match.group().lower() if match.group()[0].islower() else match.group()
    return "it failed"


def failing_line(output: str) -> str:
    """Return the line of the output that says why, unchanged."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in _WHY:
        for line in lines:
            if pattern.search(line):
                return line[:300].strip()
    return lines[-1][:300].strip() if lines else ""


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


def note_call(entry: SessionEntry, held: ExtractionState) -> None:
    """Note a call whose result comes later."""
    while len(held.calls) >= _MOST_OPEN:
        held.calls.pop(next(iter(held.calls)))
    command = entry.text[:_MOST_KEPT]
    held.calls[entry.call_id] = PendingCall(entry.tool, command, entry.path[:500], entry.trust, entry.source)


def learn_from_result(entry: SessionEntry, call: PendingCall, held: ExtractionState) -> Iterator[LearningCandidate]:
    """Learn from the result of a call. A command has the trust of whoever ran it, its output has not."""
    command, path = call.command, call.path
    held.step += 1
    held.failures = [failure for failure in held.failures if held.step - failure.step < _PATIENCE]
    good = entry.ok and not failed(entry.text)
    if path and good:
        _note(held, f"a change of `{path.rpartition('/')[2].replace('`', '')}`")
    if not command.strip():
        return
    if not good:
        _failed(entry, call, held)
        return
    yield from _fixes(call, held)
    if prepares(command):
        _note(held, f"`{shown(command)}`")
    yield from _habits(entry, call)
    yield from _versions_and_ports(entry, command)


def _note(held: ExtractionState, step: str) -> None:
    for failure in held.failures:
        failure.between = [*failure.between, step][-3:]


def _failed(entry: SessionEntry, call: PendingCall, held: ExtractionState) -> None:
    command = call.command
    quote = failing_line(entry.text)
    if only_looks(command) or not quote:
        return
    cause = why_failed(entry.text)
    failure = FailedCommand(
        shown(command), cause, entry.source, quote, held.step, call.trust, evidence=_around(entry.text, quote)
    )
    held.failures = [*held.failures, failure][-_MOST_FAILURES:]


def _around(output: str, quote: str) -> str:
    """Return the part of an output from a quote on; its beginning if the quote is not in it."""
    return output[max(0, output.find(quote)) :][:_MOST_EVIDENCE]


def shown(command: str) -> str:
    """Return a command line in the form used in statements."""
    text = bare(command).replace("`", "'")
    return text if len(text) <= _MOST_COMMAND else text[: _MOST_COMMAND - 1] + "…"


def _fixes(call: PendingCall, held: ExtractionState) -> Iterator[LearningCandidate]:
    """Yield a fix for the newest failure that this success resolves."""
    for failure in reversed(held.failures):
        text = _fixed(failure, call.command)
        if not text:
            continue
        fixed_program = program(failure.command)
        held.failures = [other for other in held.failures if program(other.command) != fixed_program]
        trust = lowest(call.trust, failure.trust)
        yield LearningCandidate(
            ObservationKind.FIX, text, RECOVERY, failure.quote, failure.evidence, failure.source, trust, 0.7
        )
        return


def _fixed(failure: FailedCommand, command: str) -> str:
    """Return how a failure was fixed; empty if this success is unrelated or nothing was done in between."""
    line = shown(command)
    if line.endswith("…"):
        return ""
    if line == failure.command:
        steps = " and ".join(dict.fromkeys(failure.between))
        return f"`{line}` failed ({failure.why}); it worked after {steps}" if steps else ""
    from rapidfuzz import fuzz  # 4 MiB that an engine without sessions need not hold

    same = program(failure.command) == program(line)
    if fuzz.ratio(failure.command, line) < (_ALIKE if same else _ALIKE_OTHER):
        return ""
    return f"`{failure.command}` failed ({failure.why}); `{line}` worked"


def _habits(entry: SessionEntry, call: PendingCall) -> Iterator[LearningCandidate]:
    """Yield how tests, the build and the linter are run here."""
    sort = sort_of(call.command)
    line = bare(call.command)
    if not sort or len(line) > 80 or re.search(r"[|;&<>$]", line):
        return
    project = project_of(entry.cwd)
    verb = "run" if sort == "tests" else "runs"
    text = f"{f'In `{project}`: ' if project else ''}{sort if project else sort.capitalize()} {verb} with `{line}`"
    if line in call.command:
        yield LearningCandidate(ObservationKind.COMMAND, text, DOMAIN, line, call.command, call.source, call.trust, 0.6)


def project_of(cwd: str) -> str:
    """Return the name of the folder a session worked in; empty for the folder of a task."""
    name = cwd.rstrip("/").rpartition("/")[2]
    return "" if "/tasks/" in cwd or not re.fullmatch(r"[\w.-]{1,40}", name) else name


def _versions_and_ports(entry: SessionEntry, command: str) -> Iterator[LearningCandidate]:
    """Yield versions and ports in fixed words: only a number is taken from the output."""
    head = entry.text[:4000]
    match = _VERSION_ASKED.match(bare(command))
    if match and (hit := _VERSION.search(head[:300])):
        name = match[1].rpartition("/")[2]
        quote = next(line for line in head.splitlines() if hit[1] in line).strip()[:200]
        yield LearningCandidate(
            ObservationKind.FACT,
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
        name = program(command).partition(" ")[0]
        if re.fullmatch(r"[A-Za-z][\w.+-]{0,30}", name):
            yield LearningCandidate(
                ObservationKind.FACT,
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
