"""A command line of the read-only shell, taken apart: pipelines of plain words and nothing else.

There is no shell behind it. Everything that would need one (redirection, substitution, lists, variables)
is refused, and so is whatever is understood differently by shlex.
"""

from __future__ import annotations

import glob
import os
import shlex
from dataclasses import dataclass, field

from lumen_tui.tools.base import ToolError

_REFUSED = {
    ";": "more than one command", "&": "background or lists of commands", "<": "redirection", ">": "redirection",
    "(": "sub-shells", ")": "sub-shells", "$": "variables and substitution", "`": "substitution",
    "{": "brace expansion", "}": "brace expansion", "#": "comments",
}  # fmt: skip
_GLOB = "*?["
_MAX_LENGTH = 4096
_MAX_EXPANSION = 2000


@dataclass
class _Word:
    text: str = ""
    pattern: str = ""  # the same as a glob pattern, quoted characters escaped
    globbing: bool = False
    started: bool = False
    home: bool = False  # begins with an unquoted ~

    def add(self, char: str, *, quoted: bool) -> None:
        self.home = self.home or (char == "~" and not quoted and not self.started)
        self.started = True
        self.text += char
        self.globbing = self.globbing or (not quoted and char in _GLOB)
        self.pattern += glob.escape(char) if quoted else char


@dataclass
class _Scanner:
    """One pass over the characters."""

    text: str
    at: int = 0
    word: _Word = field(default_factory=_Word)
    commands: list[list[_Word]] = field(default_factory=lambda: [[]])

    def run(self) -> list[list[_Word]]:
        while self.at < len(self.text):
            self._step(self.text[self.at])
            self.at += 1
        self._end_word()
        return self.commands

    def _step(self, char: str) -> None:
        if char in " \t":
            self._end_word()
        elif char == "|":
            self._end_word()
            self.commands.append([])
        elif char in "'\"":
            self._quoted(char)
        elif char == "\\":
            self.word.add(self._next("a character"), quoted=True)
        elif char in _REFUSED:
            raise refused(_REFUSED[char])
        else:
            self.word.add(char, quoted=False)

    def _quoted(self, quote: str) -> None:
        self.word.started = True
        while (char := self._next(f"the closing {quote}")) != quote:
            if quote == '"' and char in "$`":
                raise refused(_REFUSED[char])
            if quote == '"' and char == "\\":
                char = self._escaped_in_quotes()
            self.word.add(char, quoted=True)

    def _escaped_in_quotes(self) -> str:
        char = self._next("a character")
        if char not in '"\\':
            self.word.add("\\", quoted=True)  # as a shell does: it stays
            if char in "$`":
                raise refused(_REFUSED[char])
        return char

    def _next(self, what: str) -> str:
        self.at += 1
        if self.at >= len(self.text):
            raise ToolError(f"the command ends where {what} was expected")
        return self.text[self.at]

    def _end_word(self) -> None:
        if self.word.started:
            self.commands[-1].append(self.word)
        self.word = _Word()


def refused(what: str) -> ToolError:
    """The error for a construct that only a real shell could run."""
    return ToolError(f"this role's shell runs plain read-only commands and pipes: {what} is not allowed")


def split(command: str, cwd: str, *, patterns: bool = True) -> list[list[str]]:
    """The pipeline as argument lists, file patterns expanded below `cwd`. ToolError where it is anything else.

    Without `patterns` those are something else: a real shell would put names in that look like options.
    """
    if len(command) > _MAX_LENGTH:
        raise ToolError(f"the command is longer than {_MAX_LENGTH} characters")
    if any((ord(char) < 32 and char != "\t") or char == "\x7f" for char in command):
        raise refused("a line break or control character")
    commands = _Scanner(command).run()
    if not all(commands):
        raise refused("an empty command")
    _agree(command, commands)
    if not patterns and any(word.globbing for words in commands for word in words):
        raise refused("a file pattern")
    return [[part for word in words for part in _expand(word, cwd)] for words in commands]


def _agree(command: str, commands: list[list[_Word]]) -> None:
    """Fail closed: the standard library must read the same words."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|")
    lexer.whitespace_split, lexer.commenters = True, ""
    mine = [word.text for number, words in enumerate(commands) for word in ([_Word("|")] if number else []) + words]
    try:
        same = list(lexer) == mine
    except ValueError:
        same = False
    if not same:
        raise ToolError("the quoting of this command can be read in two ways: write it more simply")


def _expand(word: _Word, cwd: str) -> list[str]:
    if word.home and (word.text == "~" or word.text.startswith("~/")):
        return [os.path.expanduser(word.text)]
    if not word.globbing:
        return [word.text]
    found = sorted(glob.glob(word.pattern, root_dir=cwd))[: _MAX_EXPANSION + 1]
    if len(found) > _MAX_EXPANSION:
        raise ToolError(f"{word.text} matches more than {_MAX_EXPANSION:,} names: use find or grep")
    # A file named like an option must stay a file.
    return [f"./{name}" if name.startswith(("-", "+")) else name for name in found] or [word.text]
