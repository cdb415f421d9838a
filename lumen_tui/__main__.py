"""The entry point of `lumen-tui`: hot verbs, commands, the engine or the room. Nothing heavy is imported early."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui import hot

# Those of cli/fast/plain, which nothing else should load; a test holds them in step.
_PLAIN_VERBS = ("inbox", "checkpoint", "ready", "hook", "search", "mcp", "acp")


def start() -> int:
    """Run the installed command.

    Where no thread was ever started the process exits at once: interpreter shutdown costs a hot verb 2 ms of 25.
    """
    sys.excepthook = _tell_crash
    code = main()
    if "threading" not in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _tell_crash(kind: object, error: BaseException, trace: object) -> None:
    from lumen_tui.crashes import tell  # which nobody loads who does not crash

    tell(error)


def main(argv: list[str] | None = None) -> int:
    """Run `lumen-tui` with these arguments and return the exit code."""
    words = sys.argv[1:] if argv is None else argv
    os.umask(0o077)
    _open_closed_streams()
    try:
        code = _carry_out(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        from lumen_tui.cli.main import close_stdout

        close_stdout()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return _report_os_error(error)
    except ModuleNotFoundError:
        raise  # a fault of the program, for which the traceback is wanted
    except ImportError as error:  # a library that the system could not open
        print(f"lumen-tui: {error}; the limit of open files may be too low (ulimit -n)", file=sys.stderr)
        return 1


def _report_os_error(error: OSError) -> int:
    """Report on stderr which file the system refused, and why; return the exit code."""
    import errno  # part of the interpreter: no file is opened for it

    if error.errno == errno.ENOSPC and not error.filename:  # what the store writes has its own sentence
        from lumen_tui.cli.main import close_stdout

        close_stdout()
        print("lumen-tui: the output was not written: no space left where it goes", file=sys.stderr)
        return 1
    advice = "; it must be open to you" if isinstance(error, PermissionError) else ""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        advice = "; raise the limit (ulimit -n)"
    print(f"lumen-tui: {error.filename or 'a file'}: {error.strerror or error}{advice}", file=sys.stderr)
    return 1


def _open_closed_streams() -> None:
    """Open closed standard streams on the null device: else the next opened file would take their numbers.

    A character that the terminal cannot encode is printed as a question mark.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    if getattr(sys.stdout, "errors", "") == "strict":
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


def _carry_out(words: list[str]) -> int:
    from lumen_tui import hot

    code = run_plain(words)
    if code is not None:
        return hot.report_masked(code)
    verb = _verb(words)
    if verb and verb != "run":
        import gc

        gc.disable()  # importing makes nothing that could be collected; the command turns it on again
        from lumen_tui.model.quick_imports import import_argparse, import_basics

        import_basics()
        import_argparse()
        from lumen_tui.cli.main import main as cli

        return hot.report_masked(cli(words))
    from lumen_tui import launch

    return launch.run_task(words) if verb else launch.room_or_engine(words)


def run_plain(words: list[str]) -> int | None:
    """Carry out a verb in its plain form and return the exit code, or None where the words need the parser."""
    from lumen_tui import hot

    return hot.run(words, _other_plain_verb)


def _other_plain_verb(name: str) -> hot.Verb | None:
    if name not in _PLAIN_VERBS:
        return None
    from lumen_tui.cli.fast import plain

    return plain.VERBS[name]


def _verb(words: list[str]) -> str:
    """Return the first word that is neither an option nor the value of one; the empty string without one."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--state", "--beats", "--log-format", "--operator"):
            skip = True
        elif not word.startswith("-"):
            return word
    return ""


if __name__ == "__main__":
    raise SystemExit(start())
