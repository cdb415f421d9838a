"""Server-sent events: what happens as it happens, and nothing missed by who was away; figures for Prometheus."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from lumen_folder import StateFolder
from lumen_until import until, until_async

from lumen_tui.engine.events import EventLog
from lumen_tui.model.access import Scope
from lumen_tui.servers.http import feed, listeners
from lumen_tui.servers.http.feed import BadPosition, FeedPosition, FeedReader
from lumen_tui.servers.http.listeners import Listeners
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.settings import access


class Event(NamedTuple):
    kind: str
    id: str
    data: dict[str, object]


@contextmanager
def stream(client: httpx2.Client, last: str = "") -> Iterator[Iterator[Event]]:
    """Open a stream; the first event is the place where it begins."""
    headers = {"last-event-id": last} if last else {}
    with client.stream("GET", "/v1/events", headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _events(response)


def _events(response: httpx2.Response) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Event(fields.get("event", ""), fields.get("id", ""), json.loads(fields.get("data", "{}")))
            fields = {}


def send(served, *messages: str) -> None:
    for message in messages:
        served.folder.do("signal.send", message=message, to="*")


def messages_of(events: list[Event]) -> list[object]:
    return [event.data["message"] for event in events]


def take(events: Iterator[Event], count: int) -> list[Event]:
    return [next(events) for _ in range(count)]


def test_what_happens_comes_as_it_happens_from_each_journal(served) -> None:
    log = EventLog(served.folder.store)
    with stream(served.client()) as events:
        assert next(events).kind == ""
        send(served, "the pump is \x1b[31mon")
        signal = next(events)
        log.add("loop_started", "loop 1 begins", served.now)
        engine = next(events)
    assert signal.kind == "signal" and "the pump is" in str(signal.data["message"])
    assert "\x1b" not in str(signal.data["message"])
    assert (engine.kind, engine.data["kind"], engine.data["seq"]) == ("engine", "loop_started", 1)
    assert engine.id != signal.id


def test_who_was_away_goes_on_where_it_was_without_a_gap_or_a_repeat(served) -> None:
    client = served.client()
    with stream(client) as events:
        next(events)
        send(served, *"abc")
        seen = take(events, 2)
    send(served, *"de")
    with stream(client, seen[-1].id) as events:
        assert next(events).id == seen[-1].id
        seen += take(events, 3)
        send(served, "f")
        seen += take(events, 1)
    assert messages_of(seen) == list("abcdef")


def test_it_goes_on_after_the_server_was_killed_too(serving) -> None:
    served = serving()
    client = served.client()
    with stream(client) as events:
        place = next(events).id
        send(served, "a")
        place = next(events).id
    served.process.kill()
    served.process.wait(10)
    send(served, "b")
    served.start()
    with stream(served.client("other"), place) as events:
        next(events)
        send(served, "c")
        assert messages_of(take(events, 2)) == ["b", "c"]


def test_a_place_that_is_gone_or_too_far_back_is_told_and_then_it_goes_on(served) -> None:
    send(served, "a")
    client = served.client()
    for place in ("0-0.0.0-1.1.1", "0-9.9.9-0.0.0", f"0-0.0.0-{'f' * 15}.1.1", f"{'f' * 15}-0.0.0-0.0.0"):
        with stream(client, place) as events:
            assert next(events).id == place
            reset = next(event for event in events if event.kind == "reset")
            assert "read the state again" in str(reset.data["reason"])
            send(served, f"after {place}")
            (event,) = take(events, 1)
            assert event.data["message"] == f"after {place}" and event.id != reset.id
        with stream(client, event.id) as events:
            next(events)
            send(served, "next")
            assert messages_of(take(events, 1)) == ["next"]


def test_a_journal_that_is_rewritten_is_told_and_is_not_sent_again(served) -> None:
    client = served.client()
    send(served, *"abc")
    until(lambda: len(client.get("/v1/signals").json()["signals"]) == 3)
    with stream(client) as events:
        next(events)
        served.folder.store.signals.rewrite(lambda lines: list(lines)[1:])
        while (event := next(events)).kind == "signal":  # what came before it may be told still
            assert event.data["message"] in {"a", "b", "c"}
        assert event.kind == "reset"
        send(served, "d")
        assert messages_of(take(events, 1)) == ["d"]


@pytest.mark.parametrize("place", ["x", "0", "1-2-3", "-1-0.0.0-0.0.0", "0-0.0-0.0.0", "0-0.0.0-0.0.0-0", "\xff"])
def test_a_place_that_is_none_of_ours_is_refused(served, place: str) -> None:
    with pytest.raises(BadPosition):
        FeedPosition.parse(place)
    response = served.client().get("/v1/events", headers={"last-event-id": place.encode("latin-1")})
    assert (response.status_code, response.json()["title"]) == (422, "invalid")


def test_a_stream_needs_the_scope_and_ends_with_the_token(served) -> None:
    assert served.client("deaf", Scope.ACT).get("/v1/events").status_code == 403
    assert served.client(token="").get("/v1/events").status_code == 401
    with stream(served.client()) as events:
        next(events)
        access.revoke(served.layout, "zed")
        send(served, "a secret")
        assert list(events) == []


@pytest.mark.fault("R2", "a torn line in the ledger, in chats and in streams")
def test_a_torn_or_damaged_line_hides_only_itself(served) -> None:
    with stream(served.client()) as events:
        next(events)
        with open(served.layout.signals, "ab") as journal:
            journal.write(b'{"id": "\xff\n\x00\x00\n{"id": 5}\n')
        send(served, "whole")
        assert messages_of(take(events, 1)) == ["whole"]


def test_the_server_ends_soon_with_streams_open(served) -> None:
    client = served.client(limits=httpx2.Limits(max_connections=None))
    opened = [client.send(client.build_request("GET", "/v1/events"), stream=True) for _ in range(50)]
    until(lambda: "lumen_http_listeners 50\n" in served.client(f"look{time.monotonic_ns()}").get("/metrics").text)
    began = time.monotonic()
    assert served.end() == 0
    assert time.monotonic() - began < 5.0
    for response in opened:
        assert b"id: " in response.read()


# ---- one server's streams


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    made = StateFolder(tmp_path / "state", SystemClock())
    made.layout.create()
    return made


async def test_who_reads_too_slowly_is_let_go_and_nothing_piles_up(folder, monkeypatch) -> None:
    monkeypatch.setattr(listeners, "_RECENT", 10)
    streams = Listeners(folder.layout)
    streams.start(asyncio.get_running_loop())
    slow, quick = (streams.listen(name, None, lambda: True) for name in ("slow", "quick"))
    await anext(slow)
    await anext(quick)
    received = b""
    for number in range(30):
        folder.do("signal.send", message=f"number {number:02}", to="*")
        while f"number {number:02}".encode() not in received:
            received += await asyncio.wait_for(anext(quick), 20)
    assert [data async for data in slow] == []
    assert len(streams._recent) <= 10 and streams.count == 1
    streams.end()
    assert [data async for data in quick] == []
    assert streams.count == 0
    streams.close()


async def test_what_is_kept_is_bounded_in_bytes(folder, monkeypatch) -> None:
    monkeypatch.setattr(listeners, "_RECENT_BYTES", 20_000)
    streams = Listeners(folder.layout)
    streams.start(asyncio.get_running_loop())
    for number in range(20):
        folder.do("signal.send", message=f"{number} " + "x" * 4_000, to="*")
    await until_async(lambda: streams._number == 20)
    assert 1 <= len(streams._recent) <= 5 and streams._bytes <= 20_000
    assert streams._bytes == sum(len(message.data) for message in streams._recent)
    streams.close()


def test_one_program_cannot_take_all_streams(folder, monkeypatch) -> None:
    monkeypatch.setattr(listeners, "MOST_OF_ONE", 2)
    streams = Listeners(folder.layout)
    streams._open = {"greedy": 2, "other": 1}
    assert streams.is_full("greedy") and not streams.is_full("other")


def test_a_reader_far_behind_is_sent_to_the_state_and_not_through_the_journal(folder, monkeypatch) -> None:
    monkeypatch.setattr(feed, "_MOST_BEHIND", 1_000)
    monkeypatch.setattr(feed, "_MOST_EVENTS", 3)
    reader = FeedReader(folder.layout)
    place = reader.position
    log = EventLog(folder.store)
    for number in range(20):
        folder.do("signal.send", message=f"{number} " + "x" * 200, to="*")
        log.add("noted", str(number), folder.now)
    late = FeedReader(folder.layout, FeedPosition.parse(str(place))._replace(signals=_beginning(folder)))
    messages = late.read()
    assert [message.kind for message in messages] == ["engine"] * 3 + ["reset"]
    assert late.read() == []
    reader.close()
    late.close()


def _beginning(folder: StateFolder) -> tuple[int, int, int]:
    status = folder.layout.signals.stat()
    return (status.st_dev, status.st_ino, 0)


# ---- figures


_LINE = re.compile(r'[a-z_]+(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? -?[0-9.e+-]+')


def test_the_figures_are_in_the_form_of_prometheus_and_true(served) -> None:
    send(served, "a", "b")
    client = served.client()
    assert client.get("/v1/tasks/tsk-none").status_code == 404
    client.post("/v1/tasks", json={"objective": "Look at the pump"})
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = response.text.splitlines()
    assert response.text.endswith("\n")
    described = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(described) == len(set(described))
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ")) or _LINE.fullmatch(line), line
    assert samples["lumen_signals"] == "2"
    assert samples['lumen_tasks{state="queued"}'] == "1"
    assert samples['lumen_health{check="engine"}'] == "0"
    assert samples['lumen_http_requests_total{method="GET",status="404"}'] == "1"
    assert samples["lumen_http_request_seconds_count"] == "2"
    assert int(samples["process_resident_memory_bytes"]) > 10_000_000
    assert served.client(token="").get("/metrics").status_code == 401
