"""Memory nodes: found from the end of the journal, changed as they stand, appended anew. The last line wins."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable

from lumen_tui.model.ids import Ambiguous as Ambiguous
from lumen_tui.storage import backwards, files, raw_json, stages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from lumen_tui.storage.layout import Layout

Raw = dict[str, "Any"]
Edit = Callable[[dict[str, Raw]], tuple[list[Raw], bytes]]
_ANY_ID = re.compile(rb'"id":\s*"([^"\\]+)"')
_MOST_CANDIDATES = 8
_FEW = 8  # ids up to which searching for each is quicker than looking at all


def _line_around(block: bytes, at: int) -> bytes:
    return block[block.rfind(b"\n", 0, at) + 1 : block.find(b"\n", at)]


def newest(fd: int, wanted: Iterable[str]) -> dict[str, tuple[int, Raw]]:
    """(offset, newest record) of each wanted id in an open journal; ids that are not there are left out."""
    missing = {identifier.encode() for identifier in wanted}
    found: dict[str, tuple[int, Raw]] = {}
    for start, block in backwards.blocks(fd):
        if not missing:
            break
        for identifier, at in _mentions(block, missing):
            record = raw_json.decode(_line_around(block, at)) if identifier in missing else None
            if record and record.get("id") == identifier.decode():
                found[record["id"]] = start + block.rfind(b"\n", 0, at) + 1, record
                missing.discard(identifier)
    return found


def _mentions(block: bytes, wanted: set[bytes]) -> Iterator[tuple[bytes, int]]:
    """Where wanted ids stand in a block, for each id the last place first. Few ids are searched for one by one."""
    if len(wanted) > _FEW:
        for match in reversed(list(_ANY_ID.finditer(block))):
            if match.group(1) in wanted:
                yield match.group(1), match.start()
        return
    for identifier in list(wanted):
        quoted, at = b'"' + identifier + b'"', len(block)
        while (at := block.rfind(quoted, 0, at)) >= 0 and identifier in wanted:
            yield identifier, at


def resolve(path: files.StrPath, text: str, kind: str) -> str:
    """The id in the journal at `path` that `text` means: itself, or the one it is the beginning of.

    `kind` (`mem`, `sig`) may be left out of the text. LookupError where there is none, Ambiguous for several.
    """
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        raise LookupError(text) from None
    try:
        found = _with_prefix(fd, text, kind)
    finally:
        os.close(fd)
    if not found:
        raise LookupError(text)
    if len(found) > 1:
        raise Ambiguous(tuple(sorted(found)[:_MOST_CANDIDATES]))
    return found.pop()


def _with_prefix(fd: int, text: str, kind: str) -> set[str]:
    """The ids that begin with `text`, with or without the kind before it; only the one that is `text`, if any."""
    found: set[str] = set()
    words = (kind.encode(), re.escape(text.encode()))
    pattern = re.compile(rb'"id":\s*"((?:%s-)?%s[^"\\]*)"' % words)
    for _, block in backwards.blocks(fd):
        for match in pattern.finditer(block):
            identifier = match.group(1).decode(errors="replace")
            if identifier in found:
                continue
            record = raw_json.decode(_line_around(block, match.start()))
            if not record or record.get("id") != identifier:
                continue
            if identifier in (text, f"{kind}-{text}"):
                return {identifier}
            found.add(identifier)
    return found


def ids_in(lines: bytes) -> set[bytes]:
    """Every id that stands in whole lines of a journal; those of records inside others are among them."""
    return {match.group(1) for match in _ANY_ID.finditer(lines)}


def all_ids(path: files.StrPath) -> list[str]:
    """Every id that stands in the journal, each once."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return []
    try:
        found = {one for _, block in backwards.blocks(fd) for one in ids_in(block)}
    finally:
        os.close(fd)
    return [identifier.decode(errors="replace") for identifier in found]


def find(path: files.StrPath, wanted: Iterable[str]) -> dict[str, tuple[int, Raw]]:
    """As `newest`, of the journal at `path` as it is now."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return {}
    try:
        return newest(fd, wanted)
    finally:
        os.close(fd)


def change(layout: Layout, node_ids: Iterable[str], edit: Edit) -> None:
    """Let `edit` change nodes while the journal is locked, and record that with its action lines.

    `edit` gets copies of the newest records and returns those to append and the lines for actions.jsonl.
    Both are written or neither; what it raises goes through, and nothing was written then.
    """
    with files.locked_log(layout.memory) as fd:
        changed, actions = edit({one: copy.deepcopy(node) for one, (_, node) in newest(fd, node_ids).items()})
        append_both(layout, fd, b"".join([raw_json.line(node) for node in changed]), actions)


def append_once(path: files.StrPath, record: Raw) -> bool:
    """Append a record unless its id is in the journal; whether it was appended. Two at once append one."""
    line = raw_json.line(record)
    with files.locked_log(path) as fd:
        if newest(fd, [str(record["id"])]):
            return False
        files.append_locked(fd, line)
    return True


def append_new(path: files.StrPath, record: Raw, *, once: bool) -> bool:
    """Append a record, with `once` unless its id is there, which costs a look through the journal; whether it was."""
    if once:
        return append_once(path, record)
    files.append(path, raw_json.line(record))
    return True


def append_both(layout: Layout, fd: int, lines: bytes, actions: bytes, *, durable: bool = True) -> None:
    """Append to actions.jsonl and to the locked journal, to both or to neither. `durable` is about the former.

    The action comes first: after a kill between the two it stands as begun, and undo and the doctor know of it.
    """
    if actions:
        files.append(layout.actions, actions, durable=durable)
    try:
        if lines:
            files.append_locked(fd, lines)
    except BaseException:
        _tell_end(layout, actions, "dropped")
        raise
    _tell_end(layout, actions, "done")


def _tell_end(layout: Layout, actions: bytes, stage: str) -> None:
    """Say how what began there ended. Where that cannot be written it stays open, which the doctor mends."""
    if stages.BEGUN not in actions:
        return
    try:
        files.append(layout.actions, stages.end_of(actions, stage), durable=False)
    except files.StoreError:
        pass


def get_field(node: Raw, key: str) -> Any:
    """The value at `status` or `metadata.status`; None where there is none."""
    head, dot, rest = key.partition(".")
    value = node.get(head)
    if not dot:
        return value
    return get_field(value, rest) if isinstance(value, dict) else None


def set_fields(node: Raw, fields: dict[str, Any]) -> None:
    """Set each dotted key; None takes it out."""
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
