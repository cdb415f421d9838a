"""The command line with the full parser: from arguments to an exit code."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.refusal import nearest
from lumen_tui.cli.parser import COMMANDS, ELSEWHERE, TWO_WORDS, UsageError, build_parser
from lumen_tui.cli.session import Session, by_agent, talk
from lumen_tui.model.ids import BadId
from lumen_tui.storage import origin
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import default_root, from_home
from lumen_tui.storage.redaction import PROCESS

_OF_SESSIONS = ("start", "stop", "status", "handoff")  # documented ones; ours have other words
VERBATIM = "--verbatim"
_GARBAGE = 20_000  # new objects between two collections: a command that only reads a page ends before
DONE, FAILED, BAD_INPUT, NOT_FOUND, INTERRUPTED = 0, 1, 2, 3, 130


def main(argv: list[str]) -> int:
    """Carry out one command and return its exit code; errors that a person can fix are printed, not raised."""
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        close_stdout()
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:  # argparse after --help
        return end.code if isinstance(end.code, int) else DONE


def _may_be_documented(words: list[str]) -> bool:
    """Return whether the words may be a documented command: all of those have a colon or dash, or are of a session."""
    first = words[0] if words else ""
    if first == "session":
        return len(words) > 1 and words[1] in _OF_SESSIONS
    return ":" in first or ("-" in first and first not in COMMANDS)


def close_stdout() -> None:
    """Send stdout to the null device after its reader has gone, so that the interpreter does not flush it again."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.close(sink)


def _run(argv: list[str]) -> int:
    try:
        options, words = _take_common(argv)
        if "-".join(words[:2]) in TWO_WORDS:
            words[:2] = ["-".join(words[:2])]
        if _may_be_documented(words):
            from lumen_tui.cli.lumenflow import mem  # loads many of our own commands

            if name := mem.spelled(words):
                _collect_garbage()
                operator = options.get("--operator") or origin.operator_name(os.environ)
                return mem.run(name, words[len(name.split()) :], _root(options.get("--state")), operator)
        if words[:1] == ["help"] and len(words) == 2 and words[1].startswith("--"):
            return _reference(words[1])
        _check_command(words)
        args = build_parser(words[0]).parse_args(words)
        _collect_garbage()
        session = Session(_root(options.get("--state")), options.get("--operator") or origin.operator_name(os.environ))
        if not args.without_state:
            session.must_exist()
        return int(args.run(session, args) or DONE)
    except UsageError as error:
        return refuse(str(error), error.candidates, BAD_INPUT)
    except ActionError as error:
        return refuse(str(error), error.candidates, NOT_FOUND if error.missing else BAD_INPUT)
    except (BadId, BadFile) as error:
        return refuse(str(error), (), BAD_INPUT)
    except StoreError as error:
        return refuse(str(error), (), FAILED)


def _collect_garbage() -> None:
    """Begin with what comes from here on, after the imports: walking what they made costs a command 10 ms."""
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()


def refuse(text: str, candidates: tuple[str, ...], code: int) -> int:
    """Say on stderr what is wrong and what may have been meant; return the exit code."""
    talk(f"lumen-tui: {text}")
    if candidates:
        talk(f"did you mean: {', '.join(candidates)}?")
    return code


def _take_common(argv: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the common options (`--state`, `--operator`), found anywhere among the words, and the other words."""
    words: list[str] = []
    options: dict[str, str] = {}
    remaining = iter(argv)
    for word in remaining:
        name, equals, value = word.partition("=")
        if word == "--":
            words += [word, *remaining]
        elif word == VERBATIM:
            _disable_masking()
        elif name not in ("--state", "--operator"):
            words.append(word)
        elif text := (value if equals else next(remaining, "")):
            options[name] = text
        else:
            raise UsageError(f"{name} needs a value")
    return options, words


def _disable_masking() -> None:
    if by_agent():
        raise UsageError(f"{VERBATIM} is the operator's word: an agent's secrets are masked")
    PROCESS.verbatim = True


def _root(path: str | None) -> Path:
    if path:
        return from_home(path).absolute()
    return default_root(dict(os.environ), Path.cwd()).absolute()


def _reference(form: str) -> int:
    from lumen_tui.cli.reference import FORMS

    if form not in FORMS:
        raise UsageError(f"help takes a command, or one of {', '.join(FORMS)}", nearest(form, FORMS))
    print(FORMS[form](), end="")
    return DONE


def _check_command(words: list[str]) -> None:
    if not words or words[0] == "help":
        words[:1] = ["--help"] if len(words) < 2 else []
        words += ["--help"] if words[0] != "--help" else []
    elif not words[0].startswith("-") and words[0] not in COMMANDS:
        known = (*COMMANDS, *ELSEWHERE)
        raise UsageError(f"there is no command {words[0]!r}; `lumen-tui help` lists them", nearest(words[0], known))
