"""Searches over HTTP: their process, what it is asked, and what becomes of those who wait for it."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from lumen_until import until

from lumen_tui.model import searching
from lumen_tui.servers import searches
from lumen_tui.servers.catalogue import Fault, OperationError
from lumen_tui.servers.searches import AskedSearch, SearchProcess


def children(served) -> list[int]:
    """The processes that the server started and that live."""
    folder = Path(f"/proc/{served.process.pid}/task")
    names = [name for task in folder.iterdir() for name in (task / "children").read_text().split()]
    return [int(name) for name in names if "searches" in Path(f"/proc/{name}/cmdline").read_text()]


def hits(client, words: str) -> list[str]:
    answer = client.get("/v1/search", params={"query": words})
    assert answer.status_code == 200, answer.text
    return [hit["title"] for hit in answer.json()["hits"]]


def test_what_was_done_here_is_in_the_next_search_and_what_others_did_soon_is(served) -> None:
    client = served.client()
    assert children(served) == []  # none before the first search
    for number in range(5):
        assert client.post("/v1/signals", json={"message": f"pump{number} is old"}).status_code == 200
        assert hits(client, f"pump{number}") == [f"pump{number} is old"]
    served.folder.do("signal.send", message="the valve leaks \x1b[2J", to="*")
    until(lambda: hits(client, "valve"), lambda: hits(client, "valve"))
    assert "\x1b" not in client.get("/v1/search", params={"query": "valve"}).text
    assert len(children(served)) == 1


def test_a_search_that_makes_no_sense_says_why(served) -> None:
    answer = served.client().get("/v1/search", params={"query": "wu:nonsense"})
    assert (answer.status_code, answer.json()["title"]) == (409, "refused")
    assert "WU-042" in answer.json()["detail"]


def test_who_waits_for_a_process_that_is_killed_is_told_and_the_next_search_has_another(served) -> None:
    client, answers = served.client(), []
    assert hits(client, "pump") == []
    (first,) = children(served)
    os.kill(first, signal.SIGSTOP)
    waiting = [threading.Thread(target=lambda: answers.append(client.get("/v1/search?query=pump"))) for _ in range(4)]
    for thread in waiting:
        thread.start()
    assert client.get("/v1/status").status_code == 200  # nobody else waits
    os.kill(first, signal.SIGKILL)
    for thread in waiting:
        thread.join(20)
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert hits(client, "pump") == []
    assert children(served) not in ([], [first])


def test_a_server_that_ends_takes_its_searches_along_however_busy_they_are(served) -> None:
    assert hits(served.client(), "pump") == []
    (child,) = children(served)
    os.kill(child, signal.SIGSTOP)
    assert served.end() == 0
    until(lambda: not Path(f"/proc/{child}").exists())


def test_a_server_that_is_killed_leaves_no_search_behind(served) -> None:
    assert hits(served.client(), "pump") == []
    (child,) = children(served)
    served.process.kill()
    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text())


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"])
async def test_a_process_that_does_not_start_is_not_started_again_and_again(tmp_path, monkeypatch, program) -> None:
    monkeypatch.setattr(searches.sys, "executable", program)
    process = SearchProcess(tmp_path)
    asked = AskedSearch("pump", searching.parse("pump", 0.0), 0.0, is_due=True)
    texts = []
    for _ in range(3):
        with pytest.raises(OperationError) as refused:
            await process.ask(asked)
        assert refused.value.fault is Fault.FAILED
        texts.append(str(refused.value))
    process.close()
    assert texts[1:] == [text for text in texts[1:] if "ends as it starts" in text]
