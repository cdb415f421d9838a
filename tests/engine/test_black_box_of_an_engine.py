"""What a room showed while a real engine and its workers were at work is rebuilt afterwards, row by row."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

from lumen_program import start_lumen
from lumen_until import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import past
from lumen_tui.model.past import Past
from lumen_tui.model.requests.engine import PauseAgent, ResumeAgent
from lumen_tui.model.requests.memory import CreateNode, PinNodes
from lumen_tui.model.requests.signals import ReadAllSignals, SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.queries.black_box import BlackBox
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.layout import Layout

_QUIET = 0.3  # seconds without a change around a moment: what is being written then is on neither side


class Watcher:
    """Takes the room's text at moments when nothing is being written."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen: list[Past] = []

    def look(self) -> Past:
        with closing(SnapshotReader(self.root, "ana")) as reader:
            return past.past_of(reader.snapshot(time.time()))

    def settled(self) -> bool:
        """Take the text where it is the same before and after a moment; return whether it was."""
        before, moment = self.look(), self.look()
        deadline = time.monotonic() + _QUIET
        until(lambda: time.monotonic() >= deadline)
        after = self.look()
        if past.changes(before, moment) or past.changes(moment, after):
            return False
        self.seen.append(moment)
        return True


def test_moments_of_a_real_engine_are_rebuilt(tmp_path: Path) -> None:
    root = tmp_path / "state"
    layout = Layout(root)
    layout.create()
    layout.config.write_text("[memory.decay]\nhalf_life_days = 3000.0\n")  # so that no score moves in the meantime
    port, watcher = RemotePort(root, "ana"), Watcher(root)
    until(watcher.settled)
    engine = start_lumen(["--engine-only", "--state", str(root)], env=dict(os.environ), cwd=tmp_path)
    try:
        for number in range(3):
            port.submit(SendSignal(message=f"note {number}", priority="P0" if number else ""))
            node = port.submit(CreateNode(content=f"a thing seen, number {number}", priority="P1")).target
            port.submit(NewTask(objective="What are the 3 largest files here?", folder=str(tmp_path), wu_id=""))
            until(watcher.settled)
        port.submit(PinNodes(node_ids=[node]))
        port.submit(ReadAllSignals())
        until(lambda: all(view.status.ended for view in port.snapshot().tasks if view.spec.role != "main"))
        until(watcher.settled)
        port.submit(PauseAgent(reason="a drill"))
        until(lambda: port.snapshot().paused)
        until(watcher.settled)
        port.submit(ResumeAgent())
        until(lambda: not port.snapshot().paused)
        until(watcher.settled)
    finally:
        engine.send_signal(15)
        engine.wait()
    until(watcher.settled)
    assert len(watcher.seen) == 8
    assert len({past.text_of(moment) for moment in watcher.seen}) > 4
    with closing(BlackBox(root, "ana")) as box:
        for real in watcher.seen:
            rebuilt = past.past_of(box.at(real.moment, time.time()))
            assert past.changes(real, rebuilt) == (), real.at
