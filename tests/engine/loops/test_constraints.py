"""What binds the next loop stands in the wake-state, in the capsule and in the packet, whoever knows of it."""

from __future__ import annotations

import time

import msgspec
import pytest
from lumen_apiserver import tool

from lumen_tui.engine.loops.capsules import Constraints, build_capsule
from lumen_tui.engine.loops.session import wake_text
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.agent import Deposit
from lumen_tui.model.loop import Heartbeat, Packet, Pause
from lumen_tui.model.spendbook import SPENT, LedgerEntry
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import pauses
from lumen_tui.tui.app import LumenApp


def section(text: str) -> list[str]:
    """The lines of the wake-state's section of constraints."""
    return text.partition("## Constraints\n")[2].partition("\n\n")[0].splitlines()


def kill(office) -> None:
    pauses.write_kill(office.layout, pauses.Kill(by="ann", reason="it ran wild"))


def pause_all(office) -> None:
    pauses.pause_all(office.layout, Pause("2026-01-01T00:00:00Z", by="ann", reason="a drill"))


def pause_role(office) -> None:
    pauses.change(office.layout, "role:researcher", Pause("2026-01-01T00:00:00Z", by="ann", reason="too costly"))


def spend(office, tokens: int) -> None:
    office.layout.config.write_text("[budget]\nday_tokens = 1000\n")
    now = office.clock.now()
    day = time.strftime("%Y-%m-%d", time.gmtime(now))
    Ledger(office.layout).append(LedgerEntry("call-1", SPENT, iso(now), day, "tsk-1", role="researcher", tokens=tokens))


def fill_lane(office) -> None:
    office.do("wu.new", title="A unit", id="WU-001", lane="Core", body="## Constraints\n\n- no restarts by day\n")
    office.do("wu.claim", wu_id="WU-001")


def wall(office) -> None:
    beat = Heartbeat(1, "asleep", "2026-01-01T00:00:00Z", sandbox="ask")
    files.replace(office.layout.heartbeat, msgspec.json.encode(beat))


KNOWN = {
    "kill": (kill, "no task runs: killed by ann: it ran wild"),
    "everything paused": (pause_all, "paused by ann: a drill"),
    "a role paused": (pause_role, "role researcher is paused by ann: too costly"),
    "a cap reached": (lambda office: spend(office, 1000), "1,000 of 1,000 tokens"),
    "a cap near": (lambda office: spend(office, 900), "900 of 1,000 tokens"),
    "a full lane": (fill_lane, "lane Core is full: 1 of 1 in progress"),
    "constraints of a work unit": (fill_lane, "WU-001 states constraints of its own"),
    "no sandbox": (wall, "no sandbox"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_engine_knows_binds_the_next_loop_until_it_is_over(office, name):
    put, words = KNOWN[name]
    constraints = Constraints(office.layout)
    before = constraints.in_force(load_config(office.layout)[0], office.clock.now())
    assert not [line for line in before if words in line]
    put(office)
    config = load_config(office.layout)[0]
    found = constraints.in_force(config, office.clock.now())
    assert [line for line in found if words in line], found
    if name == "no sandbox":
        return  # it is the same for every loop, and the room in a capsule is small
    part = next(one for one in build_capsule(office.layout, 1, config, office.clock.now()).parts
                if one.name == "constraints")  # fmt: skip
    assert [entry for entry in part.entries if words in entry]


async def test_a_loop_without_a_model_writes_them_into_the_wake_state(office, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    fill_lane(office)
    office.do("signal.send", message="hello")
    await office.beat()
    assert "- lane Core is full: 1 of 1 in progress" in section(office.layout.wake_state.read_text())


def test_where_nothing_binds_it_says_so_in_one_line():
    assert section(wake_text(Packet("pkt-1", 1, "", ""))) == ["None."]


def test_a_deposit_from_before_has_no_constraints():
    assert msgspec.json.decode(b'{"wake_state":"as ever"}', type=Deposit).constraints == ()


async def test_what_the_agent_notes_comes_first_and_the_next_capsule_and_the_room_have_it(office, api):
    api.when(
        lambda request: "deposit" in request.tool_names,
        tool("deposit", wake_state="All quiet.", constraints=["Ann forbade restarts before Monday"]),
    )
    fill_lane(office)
    office.do("signal.send", message="hello")
    await office.beat()
    packet = await office.loop_over(1)
    assert packet.constraints == ("Ann forbade restarts before Monday",)
    lines = section(office.layout.wake_state.read_text())
    assert lines[0] == "- Ann forbade restarts before Monday"
    assert "- lane Core is full: 1 of 1 in progress" in lines
    capsule = build_capsule(office.layout, 2, load_config(office.layout)[0], office.clock.now())
    entries = next(part.entries for part in capsule.parts if part.name == "constraints")
    assert entries[0] == "Ann forbade restarts before Monday"
    app = LumenApp(RemotePort(office.root, "ann"), operator="ann", clock=office.clock.now)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("2", "z")
        await pilot.pause()
        assert "Ann forbade restarts" in app.room.snapshot.wake.text
