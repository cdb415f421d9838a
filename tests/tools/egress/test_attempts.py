"""Attempts to get past the proxy of a task: none reaches a host, a port or an address that is not allowed."""

from __future__ import annotations

import h11
import pytest
from lumen_hellos import hello
from lumen_rows import each_row
from lumen_until import until

END = b"\r\n\r\n"


def connect(authority: bytes, *headers: bytes) -> bytes:
    return (
        b"CONNECT " + authority + b" HTTP/1.1\r\n" + b"".join(h + b"\r\n" for h in headers or [b"Host: x.y"]) + b"\r\n"
    )


def tunnel(authority: bytes) -> bytes:
    return connect(authority, b"Host: " + authority)


def get(target: bytes, *headers: bytes, method: bytes = b"GET", body: bytes = b"") -> bytes:
    host = target.partition(b"://")[2].partition(b"/")[0]
    lines = headers if any(h.lower().startswith(b"host:") for h in headers) else (b"Host: " + host, *headers)
    return method + b" " + target + b" HTTP/1.1\r\n" + b"".join(h + b"\r\n" for h in lines) + b"\r\n" + body


TO_GOOD = tunnel(b"good.example:443")
SMUGGLED = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example" + END
# What is tried -> what is sent, each part once something came back for the one before.
ATTEMPTS: dict[str, tuple[bytes, ...]] = {
    "a host that is not allowed, by tunnel": (tunnel(b"evil.example:443"),),
    "a host that is not allowed, plainly": (get(b"http://evil.example/"),),
    "another port by tunnel": (tunnel(b"good.example:22"),),
    "another port plainly": (get(b"http://good.example:22/"),),
    "a usual port where another one is named": (tunnel(b"port.example:443"),),
    "port 0": (tunnel(b"good.example:0"),),
    "a port past the last": (tunnel(b"good.example:65979"),),
    "a port with a sign": (tunnel(b"good.example:+22"),),
    "two ports": (tunnel(b"good.example:443:22"),),
    "no port": (tunnel(b"good.example"),),
    "the domain of a wildcard itself": (tunnel(b"sub.example:443"),),
    "a name that ends like a wildcard": (tunnel(b"evilsub.example:443"),),
    "a wildcard as a name": (tunnel(b"*.sub.example:443"),),
    "an allowed name in front of another": (tunnel(b"good.example.evil.example:443"),),
    "an allowed name behind a slash": (tunnel(b"evil.example/.sub.example:443"),),
    "an allowed name behind a hash": (get(b"http://evil.example#.sub.example/"),),
    "an allowed name behind a question mark": (get(b"http://evil.example?.sub.example/"),),
    "a public address": (tunnel(b"93.184.216.66:443"),),
    "an allowed host by its address": (tunnel(b"93.184.216.34:443"),),
    "loopback": (get(b"http://127.0.0.1/"),),
    "loopback in decimal": (get(b"http://2130706433/"),),
    "loopback in octal": (get(b"http://0177.0.0.1/"),),
    "loopback in hexadecimal": (get(b"http://0x7f000001/"),),
    "loopback in mixed parts": (get(b"http://0x7f.0.0.1/"),),
    "loopback in short": (get(b"http://127.1/"),),
    "loopback of IPv6": (tunnel(b"[::1]:443"),),
    "loopback mapped into IPv6": (tunnel(b"[::ffff:127.0.0.1]:443"),),
    "an address with a zone": (tunnel(b"[fe80::1%25lo]:443"),),
    "localhost": (get(b"http://localhost/"),),
    "a null byte before an allowed ending": (tunnel(b"evil.example\0.sub.example:443"),),
    "a null byte in an address": (get(b"http://evil.example\0.sub.example/"),),
    "an encoded null byte": (get(b"http://evil.example%00.sub.example/"),),
    "an encoded host": (get(b"http://%65vil.example/"),),
    "userinfo": (get(b"http://good.example@evil.example/"),),
    "userinfo with a port": (get(b"http://good.example:80@evil.example/"),),
    "a backslash": (get(b"http://evil.example\\@good.example/"),),
    "userinfo in a tunnel": (tunnel(b"good.example@evil.example:443"),),
    "a dot at the end": (tunnel(b"evil.example.:443"),),
    "two dots at the end of an allowed one": (tunnel(b"good.example..:22"),),
    "upper case": (tunnel(b"EVIL.EXAMPLE:443"),),
    "punycode": (tunnel(b"xn--god-sra.example:443"),),
    "letters that look alike": (tunnel("gооd.example:443".encode()),),
    "full-width letters": (get("http://ｅｖｉｌ.example/".encode()),),
    "another Host than the address": (get(b"http://good.example/", b"Host: evil.example"),),
    "another address than the Host": (get(b"http://evil.example/", b"Host: good.example"),),
    "another Host than the tunnel": (connect(b"evil.example:443", b"Host: good.example:443"),),
    "two Hosts": (get(b"http://good.example/", b"Host: good.example", b"Host: evil.example"),),
    "a Host with a port of its own": (get(b"http://good.example/", b"Host: good.example:22"),),
    "no whole address": (get(b"/", b"Host: evil.example"),),
    "another scheme": (get(b"ftp://good.example/"),),
    "https without a tunnel": (get(b"https://evil.example/"),),
    "two lengths": (
        get(b"http://good.example/", b"Content-Length: 6", b"Transfer-Encoding: chunked", method=b"POST",
            body=b"0\r\n\r\n" + SMUGGLED),
    ),
    "two different lengths": (
        get(b"http://good.example/", b"Content-Length: 0", b"Content-Length: 60", method=b"POST", body=SMUGGLED),
    ),
    "a coding that is half chunked": (
        get(b"http://good.example/", b"Transfer-Encoding: chunked, identity", method=b"POST", body=SMUGGLED),
    ),
    "a coding with a tab": (
        get(b"http://good.example/", b"Transfer-Encoding:\x0bchunked", method=b"POST", body=SMUGGLED),
    ),
    "a length with a sign": (get(b"http://good.example/", b"Content-Length: +5", method=b"POST", body=SMUGGLED),),
    "a length with an underscore": (get(b"http://good.example/", b"Content_Length: 5", method=b"POST", body=SMUGGLED),),
    "a second request behind the first": (get(b"http://good.example/") + SMUGGLED,),
    "a second request after the answer": (get(b"http://good.example/"), SMUGGLED),
    "a tunnel behind a request": (get(b"http://good.example/") + tunnel(b"evil.example:443"),),
    "a host that is taken out by Connection": (
        get(b"http://good.example/", b"Connection: host, content-length", b"Content-Length: 60", method=b"POST",
            body=SMUGGLED),
    ),
    "an upgrade to another protocol": (
        get(b"http://good.example/", b"Connection: Upgrade", b"Upgrade: h2c", b"HTTP2-Settings: AA"),
    ),
    "a header folded into another": (get(b"http://good.example/", b"X-A: a", b" Host: evil.example"),),
    "a header behind a bare line feed": (get(b"http://good.example/", b"X-A: a\nX-Injected: 1\nHost: evil.example"),),
    "a header behind a carriage return": (get(b"http://good.example/", b"X-A: a\rX-Injected: 1"),),
    "a header with a blank before its colon": (get(b"http://good.example/", b"Host : evil.example"),),
    "a tunnel through an allowed host": (TO_GOOD, tunnel(b"evil.example:443")),
    "a request through an allowed host": (TO_GOOD, SMUGGLED),
    "a tunnel with what is to go through it at once": (TO_GOOD + tunnel(b"evil.example:443"),),
    "a tunnel with a body": (
        connect(b"good.example:443", b"Host: good.example:443", b"Content-Length: 60") + SMUGGLED,
    ),
    "a tunnel in which TLS names another host": (TO_GOOD, hello(b"evil.example")),
    "a tunnel in which TLS names none": (TO_GOOD, hello()),
    "a tunnel in which TLS names two": (TO_GOOD, hello(b"good.example", b"evil.example")),
    "a tunnel in which TLS names another with a null byte": (TO_GOOD, hello(b"evil.example\0good.example")),
    "a tunnel in which TLS hides its host": (TO_GOOD, hello(b"good.example", extension=b"\xfe\x0d\0\1\0")),
    "a tunnel with SSH": (TO_GOOD, b"SSH-2.0-OpenSSH_9.6\r\n"),
    "a tunnel to a plain port": (tunnel(b"good.example:80"), SMUGGLED),
    "a name at a private address": (get(b"http://private.example/"),),
    "a name at the metadata address": (get(b"http://meta.example/"),),
    "a name at a cloud's wire server": (get(b"http://wire.example/"),),
    "a name at a mapped loopback": (tunnel(b"mapped.example:443"),),
    "a name at a translated loopback": (tunnel(b"nat.example:443"),),
    "a name at a unique local address": (tunnel(b"ula.example:443"),),
    "a name at a site-local address": (tunnel(b"site.example:443"),),
    "a name at loopback of IPv6": (tunnel(b"loop.example:443"),),
    "a name at 6to4 of loopback": (tunnel(b"six.example:443"),),
    "a name at Teredo": (tunnel(b"tunnel.example:443"),),
    "a name at no address at all": (tunnel(b"zero.example:443"),),
    "a name at a carrier's address": (tunnel(b"carrier.example:443"),),
    "a name at one good and one private address": (get(b"http://mixed.example/"),),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",),
    "SOCKS": (b"\5\1\0", b"\5\1\0\3\x0cevil.example\x01\xbb"),
    "a method of debugging": (get(b"http://good.example/", method=b"TRACE"),),
    "a head that is too large": (get(b"http://good.example/", *[b"X-%d: " % n + b"a" * 900 for n in range(60)]),),
    "a target that is too large": (get(b"http://good.example/" + b"a" * 40_000),),
    "bytes that are nothing": (bytes(range(256)),),
}  # fmt: skip
assert len(ATTEMPTS) >= 40


def heads(data: bytes) -> list[h11.Request]:
    """The requests in what reached a host, as a strict server reads it."""
    server, found = h11.Connection(h11.SERVER), []
    server.receive_data(data)
    while True:
        event = server.next_event()
        if isinstance(event, h11.Request):
            found.append(event)
        elif event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
            return found


def faults(town) -> list[str]:
    """What got past the proxy."""
    found = [f"the trap was reached {town.trap.connections} times"] if town.trap.connections else []
    found += [f"{address}:{port} was dialled" for address, port in town.dialled if address != "93.184.216.34"]
    found += [f"port {port} was dialled" for _, port in town.dialled if port not in (80, 443)]
    for got in filter(None, town.plain.got):
        requests = heads(got)
        hosts = [value for request in requests for name, value in request.headers if name == b"host"]
        names = {name for request in requests for name, _ in request.headers}
        if len(got) > 20_000:
            found.append(f"a head of {len(got):,} bytes reached a host")
        if len(requests) != 1 or hosts != [b"good.example"] or requests[0].target[:1] != b"/":
            found.append(f"this reached a host: {got[:200]!r}")
        if (
            names & {b"x-injected", b"upgrade", b"te", b"http2-settings"}
            or {b"content-length", b"transfer-encoding"} <= names
        ):
            found.append(f"these headers reached a host: {sorted(names)}")
    found += [f"this reached a host in a tunnel: {got[:80]!r}" for got in filter(None, town.tls.got)]
    return found


@pytest.mark.threat("S12", "ways past the proxy of a task")
def test_no_attempt_gets_past_the_proxy_and_each_is_on_record(town):
    past: dict[str, list[str]] = {}
    for name, parts in ATTEMPTS.items():
        town.forget()
        town.say(*parts)
        town.recorded(1)
        if found := faults(town):
            past[name] = found
    assert past == {}


@each_row(
    ("broken", "past"),
    [
        ("proxy.hosts.allows", "a host that is not allowed, by tunnel"),
        ("proxy.addresses.is_public", "a name at the metadata address"),
        ("requests._same_host", "another Host than the address"),
        ("exchange.client_hello.server_name", "a tunnel in which TLS names another host"),
    ],
)
def test_the_attempts_would_get_past_a_proxy_that_lacks_one_of_its_checks(town, broken, past):
    """The table is worth nothing where it cannot fail."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"lumen_tui.tools.egress.{broken}", lambda *given: "good.example" if "hello" in broken else True)
        town.forget()
        town.say(*ATTEMPTS[past])
        town.recorded(1)
    assert faults(town) or town.records[0].verdict == "allowed"


@pytest.mark.threat("S12", "ways past the proxy of a task")
def test_a_name_that_changes_its_address_is_asked_for_once_and_the_answer_is_used(make_town):
    town = make_town()
    assert b"200 OK" in town.say(get(b"http://rebind.example/"))
    assert (town.lookups, town.dialled) == (["rebind.example"], [("93.184.216.34", 80)])
    assert b"403" in town.say(get(b"http://rebind.example/"))
    assert len(town.dialled) == 1


def test_the_proxies_of_the_environment_do_not_count(make_town, monkeypatch):
    town = make_town()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{town.trap.port}")
    assert b"200 OK" in town.say(get(b"http://good.example/"))
    assert faults(town) == []


def test_a_request_drop_by_drop_ends_in_time_and_keeps_nobody_waiting(make_town):
    town = make_town(head_seconds=1.5, at_once=4)
    with town.client() as slow:
        slow.sendall(b"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nX-A: ")
        assert b"200 OK" in town.say(get(b"http://good.example/"))
        while True:
            try:
                slow.sendall(b"a")
                slow.settimeout(0.05)
                if not slow.recv(100):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    assert sorted(one.verdict for one in town.recorded(2)) == ["allowed", "refused"]
    assert faults(town) == []


@pytest.mark.threat("S12", "ways past the proxy of a task")
def test_a_machines_own_public_address_is_no_way_in(make_town, monkeypatch):
    town = make_town()
    town.names["own.example"] = ["203.0.114.9"]
    monkeypatch.setattr("lumen_tui.tools.egress.addresses.is_own", lambda address: address == "203.0.114.9")
    assert b"inside this machine" in town.say(get(b"http://own.example/"))
    assert town.dialled == []


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_hello_in_pieces_names_its_host_all_the_same(make_town, size):
    town = make_town()
    data = hello(b"good.example", split=size)
    with town.client() as client:
        client.sendall(TO_GOOD)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        for at in range(0, len(data), 50):
            client.sendall(data[at : at + 50])
        until(lambda: town.tls.got and town.tls.got[0] == data, lambda: town.tls.got)
