"""The text of a page of HTML: what a reader would see, in lines, with the addresses of its links.

Read in one pass of our own: the parser of the standard library looks at the rest of the page again for each
construct that does not end, and takes minutes for a page of 2 MB that was made for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

from lumen_tui.model.patterns import lazy_re

_BLANKS = lazy_re(r"\s+")
_SILENT = {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas"}
_LINES = {
    "p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "header", "footer", "table",
    "ul", "ol", "pre", "blockquote", "dt", "dd", "hr", "form", "main", "nav", "figure", "option", "title",
}  # fmt: skip
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "li": "- ", "dt": "- "}


_RAW = {"script", "style"}  # what stands in them is no markup
# The attributes are looked for ahead and then taken as found, so that there is no way back into them: `+` behind a
# repeated group, which would say the same, is wrong before Python 3.11.5 (https://github.com/python/cpython/issues/106052).
_TAG = lazy_re(r"</?([A-Za-z][^\s/>]{0,60})(?=((?:[^>\"']|\"[^\"]{0,2000}\"|'[^']{0,2000}'){0,300}))\2>")
_HREF = lazy_re(r"(?i)\bhref\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_ENDS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">"))
_DEEPEST = 200  # links and silent elements within each other; what is deeper counts as the outer one
_OFTEN = 1000  # constructs between two looks at the time


class _Reader:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self._silent: list[str] = []
        self._links: list[str] = []
        self._as_it_is = 0
        self.has_pre = False  # then blanks at the beginning of a line mean something

    def begin(self, tag: str, attributes: str) -> None:
        if tag in _SILENT and len(self._silent) < _DEEPEST:
            self._silent.append(tag)
        if tag in _LINES:
            self.parts.append("\n" + _HEADINGS.get(tag, ""))
        elif tag in ("td", "th"):
            self.parts.append(" | ")
        if tag == "a" and len(self._links) < _DEEPEST:
            href = _HREF.search(attributes)
            self._links.append(unescape(href[1] or href[2] or href[3] or "") if href else "")
        self._as_it_is += tag == "pre"
        self.has_pre = self.has_pre or tag == "pre"

    def end(self, tag: str) -> None:
        if tag in self._silent:
            while self._silent.pop() != tag:
                pass
        if tag in _LINES:
            self.parts.append("\n")
        if tag == "a" and self._links:
            address = self._links.pop()
            if address.startswith(("http://", "https://", "/")):
                self.parts.append(f" <{address}>")
        self._as_it_is -= tag == "pre" and self._as_it_is > 0

    def data(self, text: str) -> None:
        if self._silent or not text:
            return
        data = unescape(text)
        self.parts.append(data if self._as_it_is else _BLANKS.sub(" ", data))


class _HtmlScanner:
    """Walks over a page from construct to construct; what does not end is text."""

    def __init__(self, page: str, reader: _Reader) -> None:
        self._page, self._reader = page, reader
        self._missing: set[str] = set()  # what does not come any more: nothing is looked for twice

    def run(self, check: Callable[[], None]) -> None:
        position = count = 0
        while (start := self._page.find("<", position)) >= 0:
            count += 1
            if count % _OFTEN == 0:
                check()
            self._reader.data(self._page[position:start])
            position = self._construct(start)
        self._reader.data(self._page[position:])

    def _construct(self, start: int) -> int:
        """Take in what begins with a `<`; returns where the page goes on."""
        for opening, closing in _ENDS:
            if self._page.startswith(opening, start):
                return self._behind(closing, start + len(opening)) or self._text(start)
        if tag := _TAG.match(self._page, start):
            return self._tag(tag)
        return self._text(start)

    def _behind(self, closing: str, start: int) -> int:
        """Return the position behind the next `closing`; 0 where there is none."""
        if closing in self._missing:
            return 0
        end = self._page.find(closing, start)
        if end < 0:
            self._missing.add(closing)
            return 0
        return end + len(closing)

    def _text(self, start: int) -> int:
        self._reader.data("<")
        return start + 1

    def _tag(self, match: re.Match[str]) -> int:
        tag = match[1].lower()
        if match[0][1] == "/":
            self._reader.end(tag)
            return match.end()
        self._reader.begin(tag, match[2])
        if tag not in _RAW or tag in self._missing:
            return match.end()
        closing = re.compile(rf"</{tag}", re.IGNORECASE).search(self._page, match.end())
        if closing is None:
            self._missing.add(tag)
            return len(self._page)
        return closing.start()


def text_of(page: str, check: Callable[[], None] = lambda: None) -> str:
    """Return the readable text of a page, in time that grows with its length alone. `check` is called now and then."""
    reader = _Reader()
    _HtmlScanner(page, reader).run(check)
    lines = [line.rstrip() if reader.has_pre else line.strip() for line in "".join(reader.parts).split("\n")]
    shown = [line for at, line in enumerate(lines) if line.strip() or (at and lines[at - 1].strip())]
    return "\n".join(shown).strip()
