"""The child that makes probes: an order on standard input, a line for each thing it does on standard output."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from lumen_tui.storage.store import Store
from lumen_tui.tools.probes import look
from lumen_tui.tools.probes.batch import ProbeEvent, ProbeOrder
from lumen_tui.tools.probes.look import run_probe


def main() -> int:
    """Make the probes one after the other, as long as there is time for a whole one."""
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
