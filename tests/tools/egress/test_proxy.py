"""What the proxy of a task passes on, whole and in both directions, and how far that may go."""

from __future__ import annotations

import threading

import pytest
from lumen_hellos import hello, real_hello
from lumen_rows import each_row
from lumen_until import until

from lumen_tui.tools.egress.client_hello import NotTls, server_name

GET = (
    b"GET http://good.example/a/b?c=d HTTP/1.1\r\nHost: good.example\r\nX-Kept: yes\r\nProxy-Connection: close\r\n\r\n"
)
TUNNEL = b"CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n"


def test_a_request_goes_on_in_a_form_of_our_own_and_its_answer_comes_back(town):
    town.plain.answer = (
        b"HTTP/1.1 404 Not Found\r\nX-Theirs: 1\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nnone"
    )
    answer = town.say(GET)
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n") and answer.endswith(b"\r\n\r\nnone")
    assert b"x-theirs: 1" in answer and b"keep-alive" not in answer
    (got,) = town.plain.got
    assert bytes(got) == b"GET /a/b?c=d HTTP/1.1\r\nHost: good.example\r\nx-kept: yes\r\nConnection: close\r\n\r\n"
    (record,) = town.recorded(1)
    assert (record.verdict, record.host, record.port, record.method) == ("allowed", "good.example", 80, "GET")
    assert (record.address, record.sent, record.received) == ("93.184.216.34", len(got), len(town.plain.answer))


@each_row(
    ("head", "body", "sent"),
    [
        (b"Content-Length: 5", b"hello", b"content-length: 5\r\nConnection: close\r\n\r\nhello"),
        (b"Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
        (b"Content-Length: 0", b"", b"content-length: 0\r\nConnection: close\r\n\r\n"),
    ],
)
def test_bodies_go_on_with_one_length_alone(town, head, body, sent):
    town.forget()
    town.say(b"POST http://GOOD.example:80/ HTTP/1.1\r\nHost: good.example\r\n" + head + b"\r\n\r\n" + body)
    until(lambda: bytes(town.plain.got[0]).endswith(sent), lambda: town.plain.got)


@each_row(
    ("answer", "end"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", b"2\r\nhi\r\n0\r\n\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"\r\n\r\nhi"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            b"hi\r\n0\r\n\r\n",
        ),
    ],
)  # fmt: skip
def test_answers_of_all_forms_come_back(town, answer, end):
    town.forget()
    town.plain.answer = answer
    assert town.say(GET).endswith(end)
    assert town.recorded(1)[0].verdict == "allowed"


@each_row(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b"\0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
    ],
)  # fmt: skip
def test_an_answer_that_is_none_fails_and_is_on_record(town, answer):
    town.forget()
    town.plain.answer = answer
    assert b"hi" not in town.say(GET)
    assert town.recorded(1)[0].verdict == "failed"


def test_a_host_that_is_down_or_unknown_is_said_so(town):
    town.allowed += ["nobody.example", "down.example"]
    assert b"502" in town.say(b"CONNECT nobody.example:443 HTTP/1.1\r\nHost: nobody.example:443\r\n\r\n")
    town.names["down.example"] = ["93.184.216.99"]
    town.connect = refuse
    assert b"cannot be reached" in town.say(b"GET http://down.example/ HTTP/1.1\r\nHost: down.example\r\n\r\n")
    assert [one.verdict for one in town.recorded(2)] == ["failed", "failed"]


def refuse(*given):
    raise ConnectionRefusedError("nobody listens")


def test_a_tunnel_carries_both_directions_once_tls_has_named_its_host(town):
    town.tls.answer = b"an answer of the host " * 1000
    first = real_hello("good.example")
    with town.client() as client:
        client.sendall(TUNNEL)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(first)
        until(lambda: town.tls.got and bytes(town.tls.got[0]) == first, lambda: town.tls.got)
        client.sendall(b"\r\n\r\n")
        found = b""
        while len(found) < len(town.tls.answer):
            found += client.recv(65_536)
        assert found == town.tls.answer
    (record,) = town.recorded(1)
    assert (record.verdict, record.sent, record.received) == ("allowed", len(first) + 4, len(found))


def test_hosts_that_a_person_adds_count_from_then_on(town):
    ask = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    assert b"403" in town.say(ask)
    assert town.proxy.take_refused() == [
        "evil.example:80 is not among the hosts of this task (" + ", ".join(town.allowed) + ")"
    ]
    town.allowed.append("evil.example")
    assert b"200 OK" in town.say(ask)
    assert town.proxy.take_refused() == []


def test_a_private_address_counts_where_the_operator_named_the_host(town):
    town.inside = ["private.example"]
    assert b"200 OK" in town.say(b"GET http://private.example/ HTTP/1.1\r\nHost: private.example\r\n\r\n")
    assert town.dialled == [("10.0.0.5", 80)]


def test_bytes_are_limited_for_all_connections_together(make_town):
    town = make_town(received=100_000)
    town.plain.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + b"a" * 60_000
    assert len(town.say(GET)) > 60_000
    assert len(town.say(GET)) < 60_000
    assert b"hi" not in town.say(GET)
    assert sorted("used up" in one.why for one in town.recorded(3)) == [False, True, True]
    sent = make_town(sent=10)
    assert sent.say(GET) == b"" and "used up" in sent.recorded(1)[0].why


def test_number_and_time_are_limited(make_town):
    town = make_town(connections=2)
    assert [b"200 OK" in town.say(GET) for _ in range(4)] == [True, True, False, False]
    assert sorted(one.why for one in town.recorded(3)) == ["", "", "more than 2 connections of this task"]
    slow = make_town(idle_seconds=1.0)
    slow.plain.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    assert slow.say(GET).endswith(b"half")
    assert slow.recorded(1)[0].why == "nothing came for too long"


def test_as_many_at_once_as_are_allowed_and_all_ended_with_the_task(make_town):
    town = make_town(at_once=3)
    before = threading.active_count()
    clients = [town.client() for _ in range(4)]
    until(lambda: any("at the same time" in one.why for one in town.records), lambda: town.records)
    assert clients[3].recv(10) == b""
    town.proxy.close()
    until(lambda: threading.active_count() < before, threading.enumerate)
    for client in clients[:3]:
        assert client.recv(1000) == b"" or client.recv(1000) == b""
    for client in clients:
        client.close()


def test_the_host_of_a_hello_is_that_of_the_real_one():
    data = real_hello("good.example")
    assert server_name(data) == "good.example"
    assert all(server_name(data[:end]) is None for end in range(len(data)))
    assert server_name(hello()) == ""


@each_row("data", [b"GET / HTTP/1.1", b"\x16\x02\x00\x00\x01a", b"\x16\3\1\0\0", b"\x16\3\1\0\1\2", b"\x15\3\1\0\2\1\0",
                   b"\x16\3\1\0\x05\1\0\0\1a"])  # fmt: skip
def test_what_is_no_hello_is_said_to_be_none(data):
    with pytest.raises(NotTls):
        server_name(data)


def test_a_hello_without_end_is_refused_in_time():
    record = b"\x16\3\1\x40\0\1\xff\xff\xff" + bytes(0x4000 - 4)
    with pytest.raises(NotTls, match="too long"):
        server_name(record * 3)
