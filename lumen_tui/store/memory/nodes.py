"""Memory nodes: found from the end of the journal, changed, and appended again. The last line of an id wins."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from lumen_tui.model import jsontext
from lumen_tui.model.ids import Ambiguous as Ambiguous
from lumen_tui.model.patterns import lazy_re
from lumen_tui.storage import backwards, files, raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from lumen_tui.storage.layout import Layout

Raw = dict[str, "Any"]
Edit = Callable[[dict[str, Raw]], tuple[list[Raw], bytes]]
_ANY_ID = lazy_re(rb'"id":\s*"([^"\\]+)"')
MOST_CANDIDATES = 8
_FEW = 8  # ids up to which searching for each is quicker than scanning all


def _line_around(block: bytes, at: int) -> bytes:
    return block[block.rfind(b"\n", 0, at) + 1 : block.find(b"\n", at)]


def newest(fd: int, identifiers: Iterable[str]) -> dict[str, tuple[int, Raw]]:
    """Return (offset, newest record) of each wanted id in an open journal; unknown ids are left out."""
    missing = {identifier.encode() for identifier in identifiers}
    records: dict[str, tuple[int, Raw]] = {}
    for start, block in backwards.blocks(fd):
        if not missing:
            break
        for identifier, at in _mentions(block, missing):
            record = jsontext.decode(_line_around(block, at)) if identifier in missing else None
            if record and record.get("id") == identifier.decode():
                records[record["id"]] = start + block.rfind(b"\n", 0, at) + 1, record
                missing.discard(identifier)
    return records


def _mentions(block: bytes, identifiers: set[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield (id, offset) of wanted ids in a block, for each id the last first. Few ids are searched for one by one."""
    if len(identifiers) > _FEW:
        for match in reversed(list(_ANY_ID.finditer(block))):
            if match.group(1) in identifiers:
                yield match.group(1), match.start()
        return
    for identifier_bytes in list(identifiers):
        quoted = b'"' + identifier_bytes + b'"'
        at = len(block)
        while (at := block.rfind(quoted, 0, at)) >= 0 and identifier_bytes in identifiers:
            yield identifier_bytes, at


def resolve(path: files.StrPath, text: str, kind: str) -> str:
    """Return the id in the journal at `path` that `text` is or begins.

    The prefix `kind` (`mem`, `sig`) may be left out of the text. LookupError for none, Ambiguous for several.
    """
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        raise LookupError(text) from None
    try:
        matches = _with_prefix(fd, text, kind)
    finally:
        os.close(fd)
    if not matches:
        raise LookupError(text)
    if len(matches) > 1:
        raise Ambiguous(tuple(sorted(matches)[:MOST_CANDIDATES]))
    return matches.pop()


def _with_prefix(fd: int, text: str, kind: str) -> set[str]:
    """Return the ids that begin with `text`, with or without the kind before it; only the exact one, if any."""
    matches: set[str] = set()
    words = (kind.encode(), re.escape(text.encode()))
    pattern = re.compile(rb'"id":\s*"((?:%s-)?%s[^"\\]*)"' % words)
    for _, block in backwards.blocks(fd):
        for match in pattern.finditer(block):
            identifier = match.group(1).decode(errors="replace")
            if identifier in matches:
                continue
            record = jsontext.decode(_line_around(block, match.start()))
            if not record or record.get("id") != identifier:
                continue
            if identifier in (text, f"{kind}-{text}"):
                return {identifier}
            matches.add(identifier)
    return matches


def ids_in(lines: bytes) -> set[bytes]:
    """Return every id in whole lines of a journal, those of nested records too."""
    return {match.group(1) for match in _ANY_ID.finditer(lines)}


def all_ids(path: files.StrPath) -> list[str]:
    """Return every id in the journal, each once."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return []
    try:
        identifiers = {identifier_bytes for _, block in backwards.blocks(fd) for identifier_bytes in ids_in(block)}
    finally:
        os.close(fd)
    return [identifier.decode(errors="replace") for identifier in identifiers]


def find(path: files.StrPath, identifiers: Iterable[str]) -> dict[str, tuple[int, Raw]]:
    """Return what `newest` does, for the journal at `path`."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return {}
    try:
        return newest(fd, identifiers)
    finally:
        os.close(fd)


def change(layout: Layout, node_ids: Iterable[str], edit: Edit) -> None:
    """Let `edit` change nodes while the journal is locked, and record that with its action lines.

    `edit` gets copies of the newest records and returns those to append and the lines for actions.jsonl.
    Both are written or neither; where it raises, nothing is written.
    """
    import copy  # commands that only read do without

    with files.locked_log(layout.memory) as fd:
        changed, actions = edit(
            {identifier: copy.deepcopy(node) for identifier, (_, node) in newest(fd, node_ids).items()}
        )
        append_both(layout, fd, b"".join([raw_json.line(node) for node in changed]), actions)


def append_once(path: files.StrPath, record: Raw) -> bool:
    """Append a record unless its id is in the journal; return whether it was. Of two callers at once, one appends."""
    line = raw_json.line(record)
    with files.locked_log(path) as fd:
        if newest(fd, [str(record["id"])]):
            return False
        files.append_locked(fd, line)
    return True


def append_new(path: files.StrPath, record: Raw, *, once: bool) -> bool:
    """Append a record; with `once` only if its id is new, which costs a scan. Return whether it was appended."""
    if once:
        return append_once(path, record)
    files.append(path, raw_json.line(record))
    return True


def append_both(layout: Layout, fd: int, lines: bytes, actions: bytes, *, durable: bool = True) -> None:
    """Append to actions.jsonl and to the locked journal, to both or to neither. `durable` is about the former.

    The action comes first: after a kill between the two it is recorded as begun, and undo and the doctor know of it.
    """
    if actions:
        files.append(layout.actions, actions, durable=durable)
    try:
        if lines:
            files.append_locked(fd, lines)
    except BaseException:
        _record_end(layout, actions, "dropped")
        raise
    _record_end(layout, actions, "done")


def _record_end(layout: Layout, actions: bytes, stage: str) -> None:
    """Record how a begun action ended. Where that cannot be written it stays open, which the doctor repairs."""
    if raw_json.BEGUN not in actions:
        return
    try:
        files.append(layout.actions, raw_json.end_line(actions, stage), durable=False)
    except files.StoreError:
        pass


def get_field(node: Raw, key: str) -> Any:
    """Return the value at a dotted key (`status`, `metadata.status`); None where there is none."""
    head, dot, tail = key.partition(".")
    value = node.get(head)
    if not dot:
        return value
    return get_field(value, tail) if isinstance(value, dict) else None


def set_fields(node: Raw, fields: dict[str, Any]) -> None:
    """Set each dotted key; None removes it."""
    for key, value in fields.items():
        *parents, leaf = key.split(".")
        table = node
        for parent in parents:
            inner = table.get(parent)
            table[parent] = table = inner if isinstance(inner, dict) else {}
        if value is None:
            table.pop(leaf, None)
        else:
            table[leaf] = value
