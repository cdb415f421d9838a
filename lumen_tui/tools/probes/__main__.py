"""The child that makes probes: an order on standard input, a line for each thing it does on standard output."""

from __future__ import annotations

import gc
import sys
import time

if __name__ == "__main__":
    gc.disable()  # importing makes nothing that could be collected

from lumen_tui.model.quick_imports import import_basics

import_basics()

from pathlib import Path  # noqa: E402

import msgspec  # noqa: E402

from lumen_tui.storage.store import Store  # noqa: E402
from lumen_tui.tools.probes import look  # noqa: E402
from lumen_tui.tools.probes.batch import ProbeEvent, ProbeOrder  # noqa: E402
from lumen_tui.tools.probes.look import run_probe  # noqa: E402


def main() -> int:
    """Make the probes one after the other, as long as there is time for a whole one."""
    gc.freeze()
    gc.enable()
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=ProbeOrder)
    context = look.context(Store(Path(order.root)), order.task_id, order.folder)
    _say(ProbeEvent())
    deadline = time.monotonic() + order.seconds
    for number, job in enumerate(order.jobs):
        remaining = deadline - time.monotonic()
        if number and remaining < order.each:
            break
        _say(ProbeEvent(number))
        _say(ProbeEvent(number, run_probe(context, job.probe, min(order.each, order.seconds))))
    return 0


def _say(event: ProbeEvent) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
