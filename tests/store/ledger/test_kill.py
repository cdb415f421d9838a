"""The kill switch ends everything within a second: by hand, with an engine, without one, and where it hangs."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from lumen_until import until

from lumen_tui.actions.outcome import ActionError
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files
from lumen_tui.storage.lease import is_held


def gone(children):
    return all(child.poll() is not None for child in children)


def heartbeat(purse):
    try:
        return json.loads(purse.layout.heartbeat.read_bytes())
    except FileNotFoundError:
        return {}


def asleep(purse):
    return heartbeat(purse).get("phase") == "asleep"


def exit_of(purse, name):
    found = [*purse.layout.tasks.glob(f"{name}/exit.json"), *purse.layout.archive.glob(f"*/*/{name}/exit.json")]
    return json.loads(found[0].read_bytes()) if found else {}


def test_without_an_engine_it_ends_the_workers_itself(purse):
    children = [purse.stubborn(f"tsk-{number}") for number in range(4)]
    began = time.monotonic()
    done = purse.do("kill", now=time.time(), reason="it ran wild")
    until(lambda: gone(children), 1)
    assert time.monotonic() - began < 1
    assert "4 workers ended" in done.summary
    assert exit_of(purse, "tsk-2") == {
        **exit_of(purse, "tsk-2"), "status": "cancelled", "reason": "killed by ann: it ran wild",
    }  # fmt: skip


def test_a_stopped_worker_ends_too(purse):
    child = purse.stubborn("tsk-a")
    child.send_signal(signal.SIGSTOP)
    purse.do("kill", now=time.time())
    until(lambda: gone([child]), 1)


def test_what_was_set_aside_counts_in_full(purse, a_hold, day):
    child = purse.stubborn("tsk-a")
    from lumen_tui.storage import process

    me = process.identify(child.pid)
    hold = a_hold("spd-1", 70, pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)
    purse.ledger.hold(hold, lambda book: "")
    purse.do("kill")
    child.wait(1)
    purse.ledger.give_up_dead(time.time())
    assert (purse.ledger.book.days[day].tokens, purse.ledger.book.held(day).tokens) == (70, 0)


@pytest.mark.threat("S10", "caps of tokens and money under races, kills and wrong clocks")
@pytest.mark.parametrize("by_hand", [True, False])
def test_an_engine_honours_it_within_a_second_and_goes_on_when_it_is_lifted(purse, by_hand):
    child = purse.stubborn("tsk-a")  # before there is an engine, which would begin its task
    purse.engine()
    until(lambda: asleep(purse))
    purse.task("tsk-later")
    began = time.monotonic()
    if by_hand:
        (purse.root / "kill.json").write_text("")
    else:
        purse.do("kill", now=time.time(), reason="enough")
    until(lambda: gone([child]), 1)
    assert time.monotonic() - began < 1
    until(lambda: heartbeat(purse).get("phase") == "killed")
    until(lambda: exit_of(purse, "tsk-a"))
    assert exit_of(purse, "tsk-a")["status"] == "cancelled"
    name = purse.do("task.new", now=time.time(), objective="What are the 3 largest files in /etc?").target
    picture = SnapshotReader(purse.root).snapshot(time.time())
    assert picture.attention[0].target == "kill"
    assert picture.killed.startswith("killed")
    assert not (purse.layout.tasks / name / "run.json").exists()
    if by_hand:
        (purse.root / "kill.json").unlink()
    else:
        assert "it was killed by ann: enough" in purse.do("unkill", now=time.time()).summary
    until(lambda: exit_of(purse, name))
    assert purse.events("unkilled")[0].startswith("goes on; it was killed")


def test_an_engine_that_hangs_is_not_waited_for(purse):
    child = purse.stubborn("tsk-a")
    engine = purse.engine()
    until(lambda: asleep(purse))
    engine.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    purse.do("kill", now=time.time())
    until(lambda: gone([child]), 1)
    assert time.monotonic() - began < 1
    purse.task("tsk-later")
    engine.send_signal(signal.SIGCONT)
    until(lambda: heartbeat(purse).get("phase") == "killed")
    assert is_held(purse.layout)
    assert not (purse.layout.tasks / "tsk-later" / "run.json").exists()


def test_an_engine_that_starts_on_a_killed_folder_starts_nothing(purse):
    purse.do("kill", now=time.time())
    purse.task("tsk-later", role="researcher")
    purse.engine()
    until(lambda: heartbeat(purse).get("phase") == "killed")
    assert not (purse.layout.tasks / "tsk-later" / "run.json").exists()


@pytest.mark.fault("R5", "a full disk (a tmpfs of a few pages, a bound on the size of files)")
def test_a_full_disk_keeps_no_worker_alive(purse, monkeypatch):
    child = purse.stubborn("tsk-a")
    real = files.replace

    def full(path, data):
        if os.path.basename(path) in ("kill.json", "stop.json", "exit.json"):
            raise files.NotWritten("the disk is full")
        real(path, data)

    monkeypatch.setattr(files, "replace", full)
    with pytest.raises(ActionError, match=r"1 worker ended .* an engine may start others"):
        purse.do("kill", now=time.time())
    assert child.wait(1) == -signal.SIGKILL


def test_what_is_not_killed_cannot_be_unkilled(purse):
    with pytest.raises(ActionError, match="nothing is killed"):
        purse.do("unkill")


def test_a_file_that_cannot_be_read_kills_as_well(purse):
    (purse.root / "kill.json").write_bytes(b"\xff\x00")
    assert SnapshotReader(purse.root).snapshot(time.time()).killed == "killed: kill.json is there but cannot be read"


def test_a_second_kill_keeps_the_first_reason_and_ends_what_lives(purse):
    purse.do("kill", reason="it ran wild")
    child = purse.stubborn("tsk-a")
    done = purse.do("kill", now=time.time(), reason="again")
    child.wait(2)
    assert done.summary.startswith("already killed by ann: it ran wild; 1 worker ended")
    assert json.loads(purse.layout.kill.read_bytes())["reason"] == "it ran wild"


def test_resume_does_not_pretend_to_lift_a_kill(purse):
    purse.do("kill", reason="it ran wild")
    with pytest.raises(ActionError, match="killed by ann: it ran wild; `lumen-tui unkill` lifts that") as refused:
        purse.do("engine.resume")
    assert not refused.value.missing
    assert not purse.layout.commands.exists()
