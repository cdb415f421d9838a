"""The port: what one front end does, another sees; what nobody does costs nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lumen_until import until

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.attention import DismissItems
from lumen_tui.model.requests.discoveries import PromoteDiscoveries
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import ReadSignals, SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.storage import watch
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import newest_events


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Layout(tmp_path / "state").create()
    return tmp_path / "state"


class Follower:
    """A front end in a thread: keeps every picture it gets."""

    def __init__(self, port: RemotePort) -> None:
        self.stop = threading.Event()
        self.pictures: list[Snapshot] = []
        self._thread = threading.Thread(target=self._follow, args=(port,), daemon=True)
        self._thread.start()

    def _follow(self, port: RemotePort) -> None:
        for picture in port.changes(self.stop):
            self.pictures.append(picture)

    def latest(self, holds: Callable[[Snapshot], object]) -> Snapshot:
        """The newest picture, once it is as awaited."""
        until(lambda: self.pictures and holds(self.pictures[-1]), lambda: self.pictures[-1:])
        return self.pictures[-1]

    def end(self) -> None:
        self.stop.set()
        self._thread.join(5)
        assert not self._thread.is_alive()


@pytest.fixture
def follow() -> Iterator[object]:
    made: list[Follower] = []

    def start(port: RemotePort) -> Follower:
        made.append(Follower(port))
        return made[-1]

    yield start
    for follower in made:
        follower.end()


@pytest.mark.parametrize("way", ["inotify", "watchfiles", "looking"])
def test_what_one_does_another_sees(root, follow, monkeypatch, way):
    if way != "inotify":
        monkeypatch.setattr(watch, "_by_inotify", _fails)
    if way == "looking":
        monkeypatch.setattr(watch, "_by_watchfiles", _fails)
    ada, bob = RemotePort(root, "ada"), RemotePort(root, "bob")
    seen = follow(bob)
    seen.latest(lambda picture: picture.unread == 0)
    ada.submit(SendSignal(message="hello"))
    assert seen.latest(lambda picture: picture.unread == 1).signals[0].signal.message == "hello"


def _fails(*_: object) -> Iterator[None]:
    raise OSError("no inotify here")
    yield


def test_one_operators_reading_hides_nothing_from_another(root):
    ada, bob = RemotePort(root, "ada"), RemotePort(root, "bob")
    sent = ada.submit(SendSignal(message="hello")).target
    ada.submit(ReadSignals(signal_ids=[sent]))
    assert (ada.snapshot().unread, bob.snapshot().unread) == (0, 1)


def test_no_new_picture_without_a_change(root, follow):
    seen = follow(RemotePort(root, "ada"))
    seen.latest(lambda picture: True)
    time.sleep(1.0)  # two and a half of the port's own looks
    assert len(seen.pictures) <= 2


def test_a_read_only_port_refuses_with_the_reason(root):
    port = RemotePort(root, "ada", read_only="opened to look")
    with pytest.raises(ActionError, match="opened to look"):
        port.submit(SendSignal(message="x"))
    assert port.snapshot().read_only == "opened to look"


def test_a_near_duplicate_is_found_and_a_stranger_is_not(root):
    port = RemotePort(root, "ada")
    first = port.submit(CreateNode(content="Race condition in the session manager")).target
    second = port.submit(CreateNode(content="race condition in session manager on parallel start")).target
    other = port.submit(CreateNode(content="README misses the port")).target
    found = port.like(first)
    assert found is not None and found[0] == second and found[1] >= 80
    assert port.like(other) is None


def test_the_detail_of_a_task_that_is_not_there(root):
    with pytest.raises(ActionError, match="tsk-nothing"):
        RemotePort(root, "ada").task_detail("tsk-nothing")


def test_a_task_that_is_archived_while_it_is_read_is_read_whole(root, monkeypatch):
    port, layout = RemotePort(root, "ada"), Layout(root)
    name = port.submit(NewTask(objective="count")).target
    folder = layout.task(name)
    (folder / "exit.json").write_text('{"status": "done", "at": "2026-11-20T10:00:00Z", "attempt": 1}')
    (folder / "result.md").write_text("Seven.")
    (folder / "events.jsonl").write_text(
        '{"at": "2026-11-20T10:00:00Z", "kind": "finished", "text": "done", "attempt": 1}\n'
    )

    def at_a_bad_moment(*args, **options):
        if folder.exists():
            month = layout.archive / "2026" / "11"
            month.mkdir(parents=True)
            folder.rename(month / name)
        return newest_events(*args, **options)

    monkeypatch.setattr("lumen_tui.engine.port.newest_events", at_a_bad_moment)
    detail = port.task_detail(name)
    assert (detail.result, [event.kind for event in detail.events]) == ("Seven.", ["finished"])


def test_dismissing_takes_an_item_off_the_list_and_undo_brings_it_back(root):
    port = RemotePort(root, "ada")
    sent = port.submit(SendSignal(message="fire", priority="P0")).target
    assert [item.target for item in port.snapshot().attention] == [sent]
    port.submit(DismissItems(targets=sent))
    assert port.snapshot().attention == ()
    port.submit(Undo())
    assert [item.target for item in port.snapshot().attention] == [sent]


def test_the_chain_of_a_promoted_discovery_leads_up_and_down(root):
    port = RemotePort(root, "ada")
    first = port.submit(CreateNode(content="A race somewhere")).target
    second = port.submit(CreateNode(content="It is in the session manager", discovered_from=first)).target
    port.submit(PromoteDiscoveries(node_ids=[second], lane="Core"))
    chain = "\n".join(port.provenance(second))
    assert "A race somewhere" in chain and "WU-001" in chain
    alone = port.submit(CreateNode(content="README misses the port")).target
    assert port.provenance(alone) == ()
