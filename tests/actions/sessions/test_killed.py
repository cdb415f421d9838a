"""Agents killed at any moment: what was acknowledged is there, and the next one can go on."""

from __future__ import annotations

import random
import subprocess
import sys
import time

from lumen_tui.actions import lanes
from lumen_tui.store.work import sessions

AGENT = """
import sys, time
from pathlib import Path
from lumen_tui.actions.registry import named, perform
from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage.store import Store
store, who = Store(Path(sys.argv[1])), sys.argv[2]
def do(verb, **given):
    try:
        return perform(store, named(verb, given), by=who, now=time.time()).target
    except ActionError:
        return ""
while True:
    print("session", do("session.start", wu_id="WU-001"), flush=True)
    do("wu.claim", wu_id="WU-001")
    print("node", do("checkpoint.save", note="x", wu_id="WU-001"), flush=True)
    print("node", do("handoff.give", note="go on", wu_id="WU-001"), flush=True)
    do("wu.block", wu_id="WU-001", reason="r")
    do("undo")
    do("wu.release", wu_id="WU-001")
    do("session.end")
"""


def test_a_killed_agent_leaves_nothing_that_stops_the_next(desk):
    one, two = desk.unit(1), desk.unit(2)
    acknowledged: list[str] = []
    dice = random.Random(7)  # noqa: S311 - moments, not secrets
    for number in range(6):
        agent = subprocess.Popen(
            [sys.executable, "-c", AGENT, str(desk.root), f"agent{number}"], stdout=subprocess.PIPE, text=True
        )
        for _ in range(1 if number else 3):  # one of them comes as far as its hand-off, however busy the machine is
            acknowledged += agent.stdout.readline().split()[1:]
        time.sleep(dice.uniform(0.0, 0.15))
        agent.kill()
        acknowledged += [word for line in agent.communicate(timeout=20)[0].splitlines() for word in line.split()[1:]]
    there = {record["id"] for record in desk.records(desk.layout.memory)}
    assert {one for one in acknowledged if one.startswith("mem-")} <= there
    started = [one for one in acknowledged if one.startswith("ses-")]
    assert len(started) >= 6
    assert all(sessions.read(desk.layout, one) for one in started)
    held = lanes.in_lane(desk.store, "Framework: Core")
    assert len(held) <= 1
    desk.now = time.time()
    if held:
        desk.do("wu.release", wu_id=one)
    elif desk.state(one).status == "blocked":
        desk.do("wu.unblock", wu_id=one)
    desk.do("wu.claim", wu_id=two)
    page = desk.page(one)
    assert page.last_checkpoint is not None
    assert page.handoffs
