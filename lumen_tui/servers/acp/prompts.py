"""What an editor's prompt gives a worker: its words as the objective, what it embeds as data beside it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from msgspec import Struct

from lumen_tui.model.text import one_line, safe
from lumen_tui.servers.acp.shapes import ContentBlock, EmbeddedResource, ResourceContents, ResourceLink, TextContent
from lumen_tui.servers.jsonrpc import invalid

MOST_WORDS = 20_000  # characters of an objective
_MOST_BESIDE = 20_000  # characters of all that stands beside it
_MOST_EARLIER = 8_000  # ... of what was said before in the session
_MOST_NAME = 300


class PromptWords(Struct, frozen=True):
    """A prompt as a task has it."""

    objective: str
    context: str


def words_of(blocks: Iterable[ContentBlock], earlier: str) -> PromptWords:
    """Return a prompt as a task has it; `earlier` is the conversation before it. JsonRpcError where it has no form."""
    objective = ""
    beside = [_quoted(earlier[-_MOST_EARLIER:], "Said before in this conversation")] if earlier else []
    room = _MOST_BESIDE - sum(map(len, beside))
    for block in blocks:
        objective += _named(block)
        if isinstance(block, EmbeddedResource) and block.resource.text is not None:
            part = _embedded(block.resource, room)
            room -= len(part) + 2
            beside.append(part)
    if not objective.strip():
        raise invalid("the prompt is empty: say what is to be done")
    if len(objective) > MOST_WORDS:
        raise invalid(f"a prompt of {len(objective):,} characters is too long: {MOST_WORDS:,}, and name files for more")
    return PromptWords(objective, "\n\n".join(beside))


def typed(blocks: Iterable[ContentBlock]) -> str:
    """Return what was typed of a prompt."""
    return "".join(block.text for block in blocks if isinstance(block, TextContent)).strip()


def _named(block: ContentBlock) -> str:
    """Return what stands of a block among the words."""
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ResourceLink):
        return f" {_place(block.uri)} "
    if isinstance(block, EmbeddedResource) and block.resource.text is not None:
        return f" {_place(block.resource.uri)} "
    raise invalid("only text, links and embedded text are taken: for an image or another file give a link to it")


def _embedded(resource: ResourceContents, room: int) -> str:
    """Return an embedded text as data, cut to `room` characters with a remark; a worker can read a file itself."""
    place, text = _place(resource.uri), resource.text or ""
    head = f"{place}, as the editor has it"
    whole = _quoted(text, head)
    if len(whole) <= room:
        return whole
    head = f"{place}, its beginning as the editor has it; {len(text):,} characters altogether"
    return _quoted(text, head)[: max(len(head) + 2, room)]


def _quoted(text: str, head: str) -> str:
    """Return a text that others wrote below a head, each line marked: none of it can pass for words of the prompt."""
    return f"{head}:\n" + "\n".join(f"> {line}" for line in safe(text).split("\n"))


def _place(uri: str) -> str:
    """Return the path of a file, or the address of anything else, on one line."""
    path = unquote(uri.removeprefix("file://")) if uri.startswith("file:///") else uri
    return one_line(path, _MOST_NAME)
