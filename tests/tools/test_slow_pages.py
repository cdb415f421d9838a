"""A page made to be slow is read in time that grows with its length, and no charset holds the processor."""

from __future__ import annotations

import time

import pytest

from lumen_tui.tools import web_fetch
from lumen_tui.tools.html import text_of

SHAPES = (
    "<!--", "<a ", "<div>", "<![CDATA[", "</", "<?", "<", "<!", "<ul><li>", "<table><tr><td>", "<pre>", "<!DOCTYPE ",
    '<a href="', "<a href='x", "<script>", "</script", "<svg>", "&amp;&", "<a b=c ", '<p title="\'>', "<style><",
    "</svg><svg>",
)  # fmt: skip
LENGTH, PARTS = 400_000, 20


def spent(shape: str, length: int) -> float:
    """Seconds of the processor that a page of this shape and length takes."""
    page = (shape * (length // len(shape) + 1))[:length]
    begun = time.process_time()
    text_of(page)
    return time.process_time() - begun


@pytest.mark.sweep(most=6)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_grows_with_the_length_alone(shape: str) -> None:
    """Twenty times the page is not four hundred times the work. A busy machine may stretch a try, not three."""
    assert any(spent(shape, LENGTH) < 50 * spent(shape, LENGTH // PARTS) + 0.1 for _ in range(3))


def test_a_page_is_given_up_when_its_time_is_over() -> None:
    looks = []

    def check() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        text_of("<b>" * 10_000, check)
    assert len(looks) == 3


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7", "zip"]
)
def test_only_charsets_of_pages_are_used(charset: str) -> None:
    body = "Größe ".encode() * 300_000
    page = web_fetch._FetchedPage(200, f"text/plain; charset={charset}", "", body, False)
    assert web_fetch._decoded(page).startswith("Größe")


@pytest.mark.parametrize(
    "charset", ["iso-8859-1", "windows-1252", "ISO_8859-15", "utf-16", "shift_jis", "gb18030", "euc-kr"]
)
def test_the_usual_ones_are(charset: str) -> None:
    text = "Aa1" if charset in ("shift_jis", "gb18030", "euc-kr") else "Größe"
    page = web_fetch._FetchedPage(200, f'text/html; charset="{charset}"', "", text.encode(charset), False)
    assert web_fetch._decoded(page) == text


def test_what_a_reader_sees() -> None:
    page = (
        "<!DOCTYPE html><title>T &amp; U</title><script>if (a < b) x('</p>')</script><style>p{}</style>"
        "<h1>Head</h1><p>One <b>two</b> <a title='>' href=\"https://x/?a=1&amp;b=2\">link</a><!-- not > this --> 1 < 2"
        "<pre>a\n  b</pre><svg><text>no</text></svg><p>end"
    )
    text = text_of(page)
    for words in ("T & U", "# Head", "One two link <https://x/?a=1&b=2>", "1 < 2", "  b", "end"):
        assert words in text
    for words in ("if (a", "p{}", "not >", "no\n"):
        assert words not in text
