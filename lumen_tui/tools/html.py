"""The text of a page of HTML: what a reader would see, in lines, with the addresses of its links."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLANKS = re.compile(r"\s+")
_SILENT = {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas"}
_LINES = {
    "p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "header", "footer", "table",
    "ul", "ol", "pre", "blockquote", "dt", "dd", "hr", "form", "main", "nav", "figure", "option", "title",
}  # fmt: skip
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "li": "- ", "dt": "- "}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent: list[str] = []
        self._links: list[str] = []
        self._as_it_is = 0
        self.has_pre = False  # then blanks at the beginning of a line mean something

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        if tag in _LINES:
            self.parts.append("\n" + _HEADINGS.get(tag, ""))
        elif tag in ("td", "th"):
            self.parts.append(" | ")
        if tag == "a":
            self._links.append(dict(attrs).get("href") or "")
        self._as_it_is += tag == "pre"
        self.has_pre = self.has_pre or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
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

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        self.parts.append(data if self._as_it_is else _BLANKS.sub(" ", data))


def text_of(page: str) -> str:
    """The readable text of a page; never raises, whatever the page is."""
    reader = _Reader()
    try:
        reader.feed(page)
        reader.close()
    except (AssertionError, RecursionError, ValueError):  # what the parser makes of some broken declarations
        reader.parts.append("\n[the rest of the page cannot be read]")
    lines = [line.rstrip() if reader.has_pre else line.strip() for line in "".join(reader.parts).split("\n")]
    kept = [line for at, line in enumerate(lines) if line.strip() or (at and lines[at - 1].strip())]
    return "\n".join(kept).strip()
