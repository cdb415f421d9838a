"""From a question to the phone and back: an engine of its own, the tests' ntfy, and a thumb that presses at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.table import Row, share
from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, call_hash
from lumen_tui.storage import lease
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import lumen_ntfy

_QUESTIONS = 60
_PATIENCE = 10.0  # seconds for one answer
_SETTINGS = """[notify]
most = 100
[notify.ntfy]
server = "{server}"
topic = "a-long-and-random-topic"
answers = "answers"
"""


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of this part."""
    layout = Layout(folder / "answers")
    layout.create()
    with lumen_ntfy.ntfy() as phone:
        layout.config.write_text(_SETTINGS.format(server=phone.address))
        layout.config.chmod(0o600)
        engine = subprocess.Popen(
            [sys.executable, "-m", "lumen_tui", "--state", str(layout.root), "--engine-only"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _until(lambda: lease.is_held(layout) and bool(phone.listening))
            threading.Thread(target=_press, args=(phone,), daemon=True).start()
            samples = [_answered(layout, number) for number in range(_QUESTIONS)]
        finally:
            os.kill(engine.pid, signal.SIGTERM)
            engine.wait()
    yield Row("T1", "a question to the phone and its answer back, median", 1000 * share(samples, 50))
    yield Row("T2", "the same, 95th percentile", 1000 * share(samples, 95), goal=1000)


def _press(phone: lumen_ntfy.Ntfy) -> None:
    """Press the first button of each message, as soon as it is there."""
    pressed = 0
    while True:
        events = phone.messages("a-long-and-random-topic")
        for event in events[pressed:]:
            phone.publish("answers", event["actions"][0]["body"])
        pressed = len(events)
        time.sleep(0.001)


def _answered(layout: Layout, number: int) -> float:
    """Ask and return after how many seconds the answer was there."""
    now, arguments = time.time(), {"command": f"make release-{number}"}
    request = Approval(
        id=approvals.id_for("loop-000001", str(number), 1),
        task_id="loop-000001",
        tool="shell",
        hash=call_hash("shell", dict(arguments)),
        arguments=dict(arguments),
        asked_at=times.iso(now),
        expires_at=times.iso(now + 3600),
        summary="release",
        role="builder",
        lasting=True,
    )
    began = time.perf_counter()
    approvals.ask(layout, request)
    _until(lambda: approvals.decision(layout, request.id) is not None)
    return time.perf_counter() - began


def _until(fact: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE
    while not fact():
        if time.monotonic() > ends:
            raise TimeoutError("no answer came")
        time.sleep(0.001)
