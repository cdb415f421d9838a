"""What a host is told of a task: what it has not, once."""

from __future__ import annotations

from typing import Any

import msgspec

from lumen_tui.hosts.downlink import Downlink
from lumen_tui.hosts.messages import Tell


def test_what_came_with_the_order_is_not_told_again_and_what_changed_is(home: Any) -> None:
    task_id = home.task()
    downlink = Downlink(home.layout.task(task_id), 1)
    assert list(downlink.news({})) == []
    home.do("task.limit", task_id=task_id, steps=7)
    (told,) = downlink.news({})
    assert told.name == "spec.json" and msgspec.json.decode(told.data)["steps"] == 7
    assert list(downlink.news({})) == []


def test_an_order_is_told_and_taken_back_also_by_who_did_not_give_it(home: Any) -> None:
    task_id = home.task()
    folder = home.layout.task(task_id)
    (folder / "hold.json").write_bytes(b"{}")
    downlink = Downlink(folder, 1)
    assert list(downlink.news({})) == [Tell(task_id, 1, "hold.json", b"{}")]
    assert list(downlink.news({"hold.json": 2})) == []
    (folder / "hold.json").unlink()
    assert list(Downlink(folder, 1).news({"hold.json": 2})) == [Tell(task_id, 1, "hold.json")]
    assert list(downlink.news({"hold.json": 2})) == [Tell(task_id, 1, "hold.json")]
    assert list(downlink.news({})) == []
