"""The blocks/ folder: a Markdown file for each block, the history of all, and every text that a block ever had.

A file is front matter and then the text, with one newline after it. Its `step` says which step of the history it is
at, so that an edit by hand that began before an agent's step is recognized as such.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.blocks import MOST_BLOCKS, MOST_LIMIT, STANDARD, BadEdit, Fields, Step, check_fields
from lumen_tui.model.digests import sha256
from lumen_tui.storage import directories, files
from lumen_tui.storage.frontmatter import FENCE, BadFile, parse_toml
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout

_MOST_BYTES = 8 * MOST_LIMIT  # of a file that is read at all
_KNOWN = {"step": int, "description": str, "limit": int, "read_only": bool, "locked": str, "label": str}


class DamagedText(files.StoreError):
    """A stored text is gone, or does not match its hash."""


class OnDisk(msgspec.Struct, frozen=True):
    """The content of a block's file. `step` is 0 where the file names none."""

    text: str
    fields: Fields
    step: int
    digest: str
    changed: float  # when, in seconds since 1970


def path_of(layout: Layout, name: str) -> Path:
    """Return the path of a block's file. BadId for an invalid name."""
    return layout.blocks / f"{ids.check_name(name, 'block')}.md"


def text_path(layout: Layout, digest: str) -> Path:
    """Return the path of a text that a block had."""
    return layout.block_texts / f"{ids.check_name(digest, 'hash')}.md"


def digest_of(text: str) -> str:
    return sha256(text.encode())


def read_file(layout: Layout, name: str, last: Step | None) -> OnDisk | None:
    """Read a block's file; None where there is none. BadFile where a person must repair it.

    A file without front matter keeps the limit and the purpose of the `last` step.
    """
    path = path_of(layout, name)
    data = files.read(path, _MOST_BYTES + 1)
    if data is None:
        return None
    if len(data) > _MOST_BYTES:
        raise BadFile(f"it has over {_MOST_BYTES:,} bytes: no block may be that long")
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        raise BadFile(f"it is not UTF-8 (byte {error.start})") from error
    table, text = _split(content)
    step, fields = _fields(table)
    if last is not None and last.how != "removed" and not _is_fenced(content):
        fields = last.fields
    return OnDisk(text, fields, step, digest_of(text), os.stat(path).st_mtime)


def _is_fenced(content: str) -> bool:
    return content.partition("\n")[0].strip() == FENCE


def _split(content: str) -> tuple[dict[str, object], str]:
    """Split into front matter and text. A file without front matter, put there by hand, is all text."""
    text = content
    table: dict[str, object] = {}
    if _is_fenced(content):
        lines = content.split("\n")
        closing = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == FENCE), 0)
        if not closing:
            raise BadFile(f"the front matter is not closed with a {FENCE} line", len(lines))
        table = parse_toml("\n".join(lines[1:closing]), first_line=2)
        text = "\n".join(lines[closing + 1 :])
    return table, text.removesuffix("\n")


def _fields(table: dict[str, object]) -> tuple[int, Fields]:
    for key, value in table.items():
        if key in _KNOWN and type(value) is not _KNOWN[key]:
            raise BadFile(f"{key} = {value!r} is not usable: it must be {_KNOWN[key].__name__}")
    known = {key: value for key, value in table.items() if key in _KNOWN}
    step = msgspec.convert(known.pop("step", 0), int)
    fields = msgspec.convert(known, Fields)
    try:
        check_fields("block", "", fields)
    except BadEdit as error:
        raise BadFile(str(error)) from error
    return step, fields


def file_bytes(text: str, fields: Fields, step: int) -> bytes:
    """Return the bytes of a block's file."""
    import tomli_w

    table = {"step": step, **{key: value for key, value in msgspec.to_builtins(fields).items() if value != ""}}
    table.setdefault("limit", fields.limit)
    return f"{FENCE}\n{tomli_w.dumps(table)}{FENCE}\n{text}\n".encode()


def write_file(layout: Layout, step: Step, text: str, may: Callable[[], bool]) -> None:
    """Write or remove a block's file as its step says, if `may` agrees at the last moment, when all is prepared."""
    path = path_of(layout, step.name)
    if step.how == "removed":
        if may():
            directories.remove(path)
        return
    directories.make_folder(layout.blocks)
    data = file_bytes(text, step.fields, step.step)
    prepared = files.write_sibling(path, lambda fd: files.write_all(fd, data))
    if may():
        files.take_place(prepared, path)
    else:
        files.discard(prepared)


def names(layout: Layout, history: dict[str, list[Step]]) -> list[str]:
    """Return the standard blocks, then all others that have a file or a history."""
    known = set(history)
    try:
        entries = os.listdir(layout.blocks)
    except FileNotFoundError:
        entries = []
    for entry in entries:
        stem, dot, ending = entry.rpartition(".")
        if dot and ending == "md" and _is_name(stem):
            known.add(stem)
    return [*STANDARD, *sorted(known - set(STANDARD))][: 2 * MOST_BLOCKS]


def _is_name(text: str) -> bool:
    try:
        return bool(ids.check_name(text))
    except ids.BadId:
        return False


def history(layout: Layout) -> dict[str, list[Step]]:
    """Return the steps of each block, oldest first. A damaged line hides only itself."""
    by_name: dict[str, list[Step]] = {}
    for step in _steps(layout):
        by_name.setdefault(step.name, []).append(step)
    return by_name


def _steps(layout: Layout) -> Iterator[Step]:
    return (step for step in Journal(layout.block_history).records(Step) if _is_name(step.name))


def keep_text(layout: Layout, text: str) -> str:
    """Store a text under its hash, durably; return the hash."""
    digest = digest_of(text)
    path = text_path(layout, digest)
    if files.read(path, _MOST_BYTES) != text.encode():
        directories.make_folder(layout.block_texts)
        files.replace(path, text.encode())
    return digest


def stored_text(layout: Layout, step: Step) -> str:
    """Return the text of a step, byte for byte. DamagedText where it is missing or altered."""
    return "" if step.how == "removed" else text_at(layout, step.text)


def text_at(layout: Layout, digest: str) -> str:
    """Return the text with this hash. DamagedText where it is missing or altered."""
    path = text_path(layout, digest)
    data = files.read(path, _MOST_BYTES)
    if data is None or sha256(data) != digest:
        damage = "is gone" if data is None else "is not what was kept"
        raise DamagedText(f"{path} {damage}: steps with that text cannot be put back, all others can")
    return data.decode()


def append_step(layout: Layout, step: Step) -> None:
    """Add a step to the history, durably."""
    files.append(layout.block_history, encode(step))
