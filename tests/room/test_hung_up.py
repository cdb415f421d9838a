"""Output to a terminal that is gone is dropped, and nobody waits for it."""

from __future__ import annotations

import io

from textual.drivers._writer_thread import WriterThread

from lumen_tui.tui import hung_up


class Terminal(io.StringIO):
    """Breaks off at the third write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = self.flushes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        if self.writes == 3:
            raise OSError(5, "Input/output error")
        return super().write(text)

    def flush(self) -> None:
        self.flushes += 1


def test_a_terminal_that_is_gone_holds_nobody_up() -> None:
    hung_up.install()
    terminal = Terminal()
    output = WriterThread(terminal)
    output.start()
    for number in range(200):  # far beyond its queue
        output.write(f"{number} ")
    output.stop()
    assert terminal.getvalue() == "0 1 "
    assert terminal.writes == 3


def test_all_is_written_and_flushed_where_there_is_one() -> None:
    hung_up.install()
    terminal = Terminal()
    output = WriterThread(terminal)
    output.start()
    output.write("a")
    output.write("b")
    output.stop()
    assert (terminal.getvalue(), terminal.flushes > 0) == ("ab", True)
