"""What a command line is: plain commands whose exit code counts, a project's own way to test or build, an install.

A line of anything but plain commands joined by `&&` is nothing here: a pipe hides an exit code, `|| true` eats it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from lumen_tui.model.patterns import lazy_re

_PLAIN_WORD = lazy_re(r"[\w./:=@,+~^-]+")
_CD = lazy_re(r"cd (?P<folder>[\w./~-]+)")
_ASSIGNED = lazy_re(r"[A-Z_][A-Z0-9_]*=\S*")
_BOTH = " 2>&1"  # changes where the words go, not the exit code
_CUT_OFF = lazy_re(r" \| (?:head|tail)(?: -(?:n ?)?\d+)?$")
_MOST = 160  # characters
_RUNNERS = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("bundle", "exec"),
     ("python", "-m"), ("python3", "-m"), (".venv/bin/python", "-m"), ("pnpm", "exec"), ("mise", "exec"), ("mise", "x")}
)  # fmt: skip
_FETCHERS = frozenset({"npx", "bunx"})  # run what a registry holds under that name
_SCRIPTS = frozenset({"npm", "pnpm", "yarn", "bun", "mise", "moon"})
_TARGETS = frozenset({"make", "just", "task", "./gradlew", "./mvnw"})
_BY_DEFAULT = frozenset({"cargo", "go", "mix", "dotnet", "swift", "deno", "gradle", "mvn"})  # the same in every project
_ADDED = frozenset({"credo", "dialyzer", "nextest"})  # that a project has to add first
_PROGRAMS = {
    "tests": "pytest unittest tox nox jest vitest mocha rspec phpunit ctest",
    "the linter": "eslint flake8 pylint stylelint",
    "the type checker": "mypy pyright",
    "the formatter": "prettier black gofmt",
}
_SORT_OF_PROGRAM = {name: sort for sort, names in _PROGRAMS.items() for name in names.split()}
_VERBS = {
    "tests": (("playwright", "test"), ("cypress", "run"), ("vitest", "run")),
    "the linter": (("ruff", "check"), ("golangci-lint", "run"), ("biome", "check"), ("biome", "lint")),
    "the formatter": (("ruff", "format"),),
    "the build": (("mkdocs", "build"), ("vite", "build"), ("next", "build")),
}
_SORT_OF_VERB = {verb: sort for sort, verbs in _VERBS.items() for verb in verbs}
_SORT_OF_TARGET = (
    ("tests", lazy_re(r"(?:tests?|nextest|e2e)(?:[:-]\w{1,16}){0,2}")),
    ("checks", lazy_re(r"(?:check|verify|validate)(?:[:-](?:all|ci))?")),
    ("the type checker", lazy_re(r"(?:type-?check|types|dialyzer)")),
    ("the build", lazy_re(r"(?:build|compile|assemble)(?:[:-]\w{1,16}){0,2}")),
    ("the linter", lazy_re(r"(?:lint|clippy|vet|credo)(?:[:-]\w{1,16}){0,2}")),
    ("the formatter", lazy_re(r"(?:fmt|format)(?:[:-]\w{1,16}){0,2}")),
)
_OF_ANOTHER_USE = lazy_re(
    r"[:-](?:clean|watch|debug|update|init|setup|deps|install|help|list|report|dry|snapshots?|one|only)\b"
    r"|^--(?:version|help|init|collect-only|co|list\w*|install\S*|watch\w*|grep|testNamePattern|filter|lf|ff|noEmit)$"
    r"|^-(?:h|V|k|t|m|run|-)$|::|\.\w{1,6}$|^\w+=|^(?:install|init|open|serve|new|list|help)$"
)
_PLACE = lazy_re(r"\.|\./\.\.\.|\d+|(?:src/)?[\w-]+/?")  # that all of a project is in
_LOCKED = lazy_re(
    r"(?:npm (?:ci|i|install)|pnpm (?:i|install)|yarn(?: install)?|bun install|uv sync|poetry install|pdm install"
    r"|bundle install|composer install|pip3? install -r \S+|uv pip install -r \S+|go mod (?:tidy|download))(?: -\S+)*"
)
_ADDS = lazy_re(
    r"(?:pip3?|python3? -m pip|uv pip|apt|apt-get|brew|conda|cargo|npm|pnpm|bun|gem) (?:install|i|add) (?P<what>.+)"
    r"|(?:uv|poetry|pnpm|yarn|pdm|bun|cargo) add (?P<added>.+)"
)


class PlainCommand(Struct, frozen=True):
    """One command: its words, and the folder that a `cd` before it named."""

    words: tuple[str, ...]
    folder: str = ""

    @property
    def line(self) -> str:
        return " ".join(self.words)


@lru_cache(4096)
def plain(line: str) -> tuple[PlainCommand, ...]:
    """Return the commands of a line, each of which passed if the line did; none for any other line."""
    parts = [part.strip().removesuffix(_BOTH).strip() for part in line.strip().split(" && ")]
    folder = ""
    if match := _CD.fullmatch(parts[0]):
        folder, parts = match["folder"], parts[1:]
    commands = [_one(part, folder) for part in parts]
    return tuple(command for command in commands if command) if all(commands) else ()


def cut_off(line: str) -> tuple[PlainCommand, ...]:
    """Return the commands of a line of which only the head or the tail was shown, and so no exit code; else none."""
    shown = _CUT_OFF.search(line)
    return plain(line[: shown.start()]) if shown else ()


def _one(text: str, folder: str) -> PlainCommand | None:
    if not text or len(text) > _MOST or not all(_PLAIN_WORD.fullmatch(word) for word in text.split(" ")):
        return None
    words = text.split(" ")
    while words and _ASSIGNED.fullmatch(words[0]):
        words = words[1:]
    return PlainCommand(tuple(words), folder) if words and words[0] != "cd" else None


def sort_of(command: PlainCommand) -> str:
    """Return what a project's command runs, such as its tests; empty for anything else, and for what goes by itself.

    What names one file or one test is about that, and `cargo test` is the same everywhere.
    """
    words, ran = list(command.words), False
    while tuple(words[:2]) in _RUNNERS:
        words, ran = words[3:] if words[2:3] == ["--"] else words[2:], True
    if words[:1] and words[0] in _FETCHERS:
        words = words[1:]
    name, operands = words[0] if words else "", [word for word in words[1:] if not word.startswith("-")]
    if name == "tsc" and words[1:] == ["--noEmit"]:
        return "the type checker"
    if any(_OF_ANOTHER_USE.search(word) for word in words[1:]):
        return ""
    if name in _SCRIPTS | _TARGETS | _BY_DEFAULT:
        return _sort_of_target(name, operands, ran or any(word.startswith("--") for word in words[2:]))
    if not all(_PLACE.fullmatch(word) for word in operands):
        return ""
    return _SORT_OF_VERB.get((name, "".join(operands[:1])), _SORT_OF_PROGRAM.get(name, ""))


def _sort_of_target(name: str, operands: list[str], own: bool) -> str:
    """Return what a target of a build tool is. `own` says that the command has more than what every project has."""
    if name in _SCRIPTS and operands[:1] == ["run"]:
        operands = operands[1:]
    if not operands or any(word not in ("./...", "run") for word in operands[1:]):
        return ""
    if name in _BY_DEFAULT and not (own or operands[0] in _ADDED):
        return ""
    return next((sort for sort, pattern in _SORT_OF_TARGET if pattern.fullmatch(operands[0])), "")


def provides(command: PlainCommand, missing: str) -> bool:
    """Return whether a command installs what was missing, or all that the project's own lists name."""
    if _LOCKED.fullmatch(command.line):
        return True
    match = _ADDS.fullmatch(command.line)
    if not match:
        return False
    named = {_name(word) for word in (match["what"] or match["added"]).split() if not word.startswith("-")}
    return _name(missing) in named


def _name(word: str) -> str:
    """Return a package's name in one form, without version and extras."""
    return re.split(r"[\[<>=~!^]|(?<=.)@", word.lower().replace("_", "-"), maxsplit=1)[0].partition(".")[0]
