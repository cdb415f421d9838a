"""Data in a prompt stands between tags that its author cannot write: their beginnings are escaped in every text.

So a prompt needs no secret mark, and is the same to the byte for the same words. An order of the operator has a tag of
its own, which is escaped in data as well: nothing that is quoted can pass for one.
"""

from __future__ import annotations

from lumen_tui.model.lookalikes import latin
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line

_TAGS = frozenset(("data", "order", "conventions"))
# Whatever is between < and the name that is no letter (a slash, spaces, invisible characters) still looks like the tag,
# and so does a bracket that looks like <, or a name with accents or with letters that look like its own.
_BEGINNING = lazy_re(r"[<＜﹤‹〈〈⟨❮ᐸ˂](?=[^\w<>＜＞]{0,12}((?:\w[\u0300-\u036f]{0,4}){1,30}))")


def escaped(text: str) -> str:
    """Return `text` with every beginning of one of our tags, and of what looks like one, escaped."""
    return _BEGINNING.sub(lambda found: "&lt;" if latin(found[1]) in _TAGS else found[0], text)


def fence(text: str, source: str) -> str:
    """Return `text` as data from `source`: something to judge, never an instruction."""
    return _tagged("data", text, f'from="{_attribute(source)}"')


def order(text: str, by: str, about: str) -> str:
    """Return `text` as an order of the operator `by`; `about` is its id and when it was given."""
    return _tagged("order", text, f'from="{_attribute(by)}" about="{_attribute(about)}"')


def words_of(text: str, by: str, about: str, *, seen: bool) -> str:
    """Return the words of `by`: an order where they were `seen` to be the operator's, else data."""
    return order(text, by, about) if seen else fence(text, f"{by}, {about}; that this is the operator was not seen")


def conventions_of(text: str, path: str) -> str:
    """Return the text of AGENTS.md or its like: how work is done in its folder."""
    return _tagged("conventions", text, f'from="{_attribute(path)}"')


def _tagged(tag: str, text: str, attributes: str) -> str:
    return f"<{tag} {attributes}>\n{escaped(text)}\n</{tag}>"


def _attribute(text: str) -> str:
    return one_line(escaped(text), 200).replace('"', "'").replace(">", "&gt;")
