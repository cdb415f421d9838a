"""What a crash prints: where it came from, made safe, with its secrets masked and without the values of variables.

A traceback ends with the words of an error, which may quote a record, a page or a variable: it is shown on a terminal
and kept in engine.log.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading


def safely(words: str) -> str:
    """Return what a crash says as it may be shown and kept."""
    from lumen_tui.model.text import safe
    from lumen_tui.tools.policy.fence import redactor

    return redactor(os.environ)(safe(words))


def crash_words(error: BaseException) -> str:
    """Return the traceback of an error."""
    import traceback  # 5 ms, which nobody needs who does not crash

    return safely("".join(traceback.format_exception(error)))


def tell(error: BaseException) -> None:
    """Write the traceback of an error on stderr."""
    sys.stderr.write(crash_words(error))
    sys.stderr.flush()


def watch_threads() -> None:
    """Tell errors of threads so, and what asyncio logs of tasks, from here on."""
    import logging
    import threading

    class Formatter(logging.Formatter):
        """Makes whole records safe, with their tracebacks."""

        def format(self, record: logging.LogRecord) -> str:
            return safely(super().format(record))

    threading.excepthook = _of_thread
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Formatter())


def _of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and args.exc_type is not SystemExit:
        tell(args.exc_value)
