"""Names of hosts have one spelling, and patterns mean what they say."""

from __future__ import annotations

import pytest
from lumen_rows import each_row

from lumen_tui.model.hosts import BadHost, allows, canonical, pattern_fault, split


@each_row(("text", "host"), [("Example.ORG", "example.org"), ("a-b.c1.xn--p1ai", "a-b.c1.xn--p1ai"),
                             ("10.0.0.1", "10.0.0.1"), ("[2001:db8::1]", "[2001:db8::1]")])  # fmt: skip
def test_hosts(text, host):
    assert canonical(text) == host


@each_row("text", [
    "", ".", "org", "localhost", "a..b", ".a.b", "a.b.", "-a.b", "a-.b", "a_b.c", "a b.c", "a.b\n", "a.b\0", "a%41.b",
    "1.2.3", "1.2.3.4.5", "01.2.3.4", "0x1.2.3.4", "127.1", "2130706433", "1.2.3.0x4", "[::ffff:1.2.3.4]", "[::1%lo]",
    "[0:0:0:0:0:0:0:1]", "::1", "a" * 64 + ".org", "a." * 127 + "org", "ex\u0430mple.org", "\u212a.org", "a.b@c.d",
])  # fmt: skip
def test_what_is_no_host(text):
    with pytest.raises(BadHost):
        canonical(text)


def test_ports():
    assert split("a.b:443") == ("a.b", 443) and split("A.b", 80) == ("a.b", 80) and split("[::1]", 80) == ("[::1]", 80)
    for bad in ("a.b", "a.b:", "a.b:0", "a.b:080", "a.b:65536", "a.b:+1", "a.b: 1", "a.b:1:2", "a.b:1_0", "a.b:١"):
        with pytest.raises(BadHost):
            split(bad)


@each_row(
    ("pattern", "reached", "not_reached"),
    [
        ("a.org", [("a.org", 80), ("a.org", 443)], [("b.a.org", 443), ("aa.org", 443), ("a.org", 22)]),
        ("*.a.org", [("b.a.org", 443), ("c.b.a.org", 80)], [("a.org", 443), ("ba.org", 443), ("b.a.org", 8080)]),
        ("a.org:8443", [("a.org", 8443)], [("a.org", 443), ("a.org", 80)]),
        ("*.a.org:22", [("b.a.org", 22)], [("b.a.org", 443), ("a.org", 22)]),
        ("10.0.0.1", [("10.0.0.1", 443)], [("10.0.0.2", 443)]),
        ("[::1]:8080", [("[::1]", 8080)], [("[::1]", 443)]),
    ],
)
def test_a_pattern_means_what_it_says(pattern, reached, not_reached):
    assert not pattern_fault(pattern)
    assert all(allows([pattern], *one) for one in reached)
    assert not any(allows([pattern], *one) for one in not_reached)


@each_row("pattern", ["*", "*.org", "*.*.org", "a.*.org", "*a.org", "", "A.org", "a.org/", "http://a.org", "*.10.0.0.1",
                      "*.[::1]", "a.org:", "a.org:*", "-"])  # fmt: skip
def test_a_pattern_that_makes_no_sense_allows_nothing(pattern):
    assert pattern_fault(pattern)
    assert not any(allows([pattern], host, 443) for host in ("a.org", "b.a.org", "10.0.0.1"))
