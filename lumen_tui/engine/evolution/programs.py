"""What a command line is about: its program, its sort, why it failed."""

from __future__ import annotations

import re
from functools import lru_cache

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
