"""What an agent file (`.af`, of Letta) says, in our words. Both public shapes are read; one of them is written.

The older shape is one agent with its `core_memory`. The newer one has lists of agents, blocks, files and tools that
name each other by id. Neither has archival passages yet; `passages` beside the other lists, with the fields of Letta's
own API, is read and written as an addition that others ignore.

Everything in such a file is hostile. Nothing here is carried out, and what is secret is not even read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from lumen_tui.model.agentmessages import AfMessage, read_messages
from lumen_tui.model.archive import KINDS
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.jsontext import text_of
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line

MOST_BYTES = 64 * 1024 * 1024
_MOST = {"block": 100, "message": 100_000, "passage": 100_000, "tool": 10_000, "agent": 1000, "file": 10_000}
_OLD_VERSION = lazy_re(r"0\.\d{1,4}(?:\.\d{1,4})?[a-z0-9.]{0,12}")
_NO_PLACE = {
    "system": "system prompt",
    "llm_config": "model settings",
    "embedding_config": "embedding settings",
    "tool_rules": "tool rules",
    "inference_config": "model settings",
    "response_format": "response format",
    "identity_ids": "identities",
    "multi_agent_group": "group",
}
_SECRET = ("tool_exec_environment_variables", "secrets")


class BadAgentFile(ValueError):
    """A file that is none, or that cannot be used as it is; nothing is taken from it."""

    def __init__(self, problem: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(problem)
        self.candidates = candidates


class AfBlock(Struct, frozen=True):
    label: str
    value: str
    limit: int = 0  # 0: the file says none
    description: str = ""
    read_only: bool = False


class AfPassage(Struct, frozen=True):
    text: str
    tags: tuple[str, ...] = ()
    at: str = ""
    source: str = ""
    kind: str = ""  # as our own exports say it
    importance: float = -1.0


class AgentFile(Struct, frozen=True):
    """One agent of a file. `left_out` says what has no place here, a line each."""

    name: str
    shape: str  # old | new
    description: str = ""
    blocks: tuple[AfBlock, ...] = ()
    messages: tuple[AfMessage, ...] = ()
    passages: tuple[AfPassage, ...] = ()
    tools: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def parse(data: bytes, agent: str = "") -> AgentFile:
    """Return the agent in a file, or the named one of several. BadAgentFile says what is wrong."""
    data_object = _decode(data)
    if isinstance(data_object, str):  # a file that was encoded twice: there are such among the published ones
        data_object = _decode(data_object.encode())
    if not isinstance(data_object, dict):
        raise BadAgentFile("this is no agent file: it holds no JSON object")
    if isinstance(data_object.get("agents"), list):
        return _new(data_object, _chosen(_list(data_object, "agents", "agent"), agent))
    if isinstance(data_object.get("core_memory"), list):
        return _old(data_object)
    raise BadAgentFile("this is no agent file of a known version: it has neither `agents` nor `core_memory`")


def _decode(data: bytes) -> object:
    if len(data) > MOST_BYTES:
        raise BadAgentFile(f"the file has over {MOST_BYTES // 1024 // 1024} MiB: that is more than is read")
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError as error:
        raise BadAgentFile("this is no agent file: it is nested too deeply") from error
    except UNDECODABLE as error:
        raise BadAgentFile(f"this is no agent file: {one_line(str(error), 160)}") from error


def _chosen(agents: list[dict[str, object]], wanted: str) -> dict[str, object]:
    names = [text_of(item, "name") or text_of(item, "id") for item in agents]
    if not agents:
        raise BadAgentFile("there is no agent in the file")
    if not wanted and len(agents) > 1:
        listed = ", ".join(one_line(name, 60) for name in names[:20])
        raise BadAgentFile(f"the file has {len(agents)} agents: choose one with --agent", (listed,))
    for item, name in zip(agents, names, strict=True):
        if not wanted or wanted in (name, text_of(item, "id")):
            return item
    raise BadAgentFile(f"there is no agent {one_line(wanted, 60)!r} in the file", tuple(names[:8]))


def _new(whole: dict[str, object], agent: dict[str, object]) -> AgentFile:
    blocks = {text_of(item, "id"): item for item in _list(whole, "blocks", "block")}
    tools = {text_of(item, "id"): text_of(item, "name") for item in _list(whole, "tools", "tool")}
    chosen = [blocks[name] for name in _names(agent, "block_ids") if name in blocks]
    named = [tools[name] for name in _names(agent, "tool_ids") if name in tools]
    passages = [*_passages(whole), *_passages(agent), *_files(whole)]
    messages, empty = read_messages(_list(agent, "messages", "message"))
    return AgentFile(
        name=text_of(agent, "name"),
        shape="new",
        description=text_of(agent, "description"),
        blocks=_blocks([*chosen, *_list(agent, "memory_blocks", "block")]),
        messages=messages,
        passages=tuple(passages),
        tools=(*named, *_names(agent, "tools")),
        left_out=tuple(_left(whole, agent, empty)),
    )


def _old(agent: dict[str, object]) -> AgentFile:
    version = agent.get("version")
    if not isinstance(version, str) or not _OLD_VERSION.fullmatch(version):
        raise BadAgentFile(f"version {one_line(str(version), 40)!r} of an agent file is unknown: 0.x is understood")
    tools = [text_of(tool, "name") for tool in _list(agent, "tools", "tool")]
    messages, empty = read_messages(_list(agent, "messages", "message"))
    return AgentFile(
        name=text_of(agent, "name"),
        shape="old",
        description=text_of(agent, "description"),
        blocks=_blocks(_list(agent, "core_memory", "block")),
        messages=messages,
        passages=tuple(_passages(agent)),
        tools=tuple(filter(None, tools)),
        left_out=tuple(_left({}, agent, empty)),
    )


def _list(table: dict[str, object], key: str, kind: str) -> list[dict[str, object]]:
    """Return the objects under a key; nothing where it is absent."""
    value = table.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadAgentFile(f"`{key}` is not a list of objects")
    if len(value) > _MOST[kind]:
        raise BadAgentFile(f"the file has {len(value):,} {kind}s, more than {_MOST[kind]:,} are not taken")
    return value


def _names(table: dict[str, object], key: str) -> list[str]:
    value = table.get(key)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _blocks(records: Iterable[dict[str, object]]) -> tuple[AfBlock, ...]:
    blocks = []
    for record in records:
        label, value, limit = record.get("label"), record.get("value"), record.get("limit")
        if not isinstance(label, str) or not label.strip() or not isinstance(value, str):
            raise BadAgentFile("a memory block has no label or no value")
        size = limit if type(limit) is int and limit > 0 else 0
        blocks.append(AfBlock(label, value, size, text_of(record, "description"), record.get("read_only") is True))
    if twice := {record.label for record in blocks if [other.label for other in blocks].count(record.label) > 1}:
        raise BadAgentFile(f"two memory blocks are called {one_line(sorted(twice)[0], 60)!r}")
    return tuple(blocks)


def _passages(table: dict[str, object]) -> Iterator[AfPassage]:
    for key in ("passages", "archival_passages", "archival_memory"):
        for record in _list(table, key, "passage"):
            if text := text_of(record, "text") or text_of(record, "content"):
                kind, importance = _ours(record.get("metadata"))
                yield AfPassage(
                    text,
                    tuple(_names(record, "tags")),
                    text_of(record, "created_at"),
                    text_of(record, "file_name"),
                    kind,
                    importance,
                )


def _ours(metadata: object) -> tuple[str, float]:
    """Return the kind and importance that an export of ours wrote; "" and -1 where there are none."""
    table = metadata if isinstance(metadata, dict) else {}
    try:
        importance = float(text_of(table, "importance"))
    except ValueError:
        importance = -1.0
    kind = text_of(table, "kind")
    return kind if kind in KINDS else "", importance if 0.0 <= importance <= 1.0 else -1.0


def _files(whole: dict[str, object]) -> Iterator[AfPassage]:
    """Yield the files whose content is in the agent file: what the agent could look up goes to the archive."""
    for record in _list(whole, "files", "file"):
        name = text_of(record, "original_file_name") or text_of(record, "file_name")
        if text := text_of(record, "content"):
            yield AfPassage(text, ("file",), text_of(record, "file_creation_date"), name)


def _count(value: object) -> int:
    return len(value) if isinstance(value, (list, dict)) else 1 if value else 0


def _left(whole: dict[str, object], agent: dict[str, object], empty: int) -> Iterator[str]:
    """Yield what has no place here. Of secrets only how many there are; `empty` messages had nothing to take over."""
    if empty:
        yield "1 message with nothing in it" if empty == 1 else f"{empty:,} messages with nothing in them"
    for key, label in _NO_PLACE.items():
        if value := agent.get(key):
            size = f" ({len(value):,} characters)" if isinstance(value, str) else ""
            yield f"{label}{size}"
    if secret := max([_count(agent.get(key)) for key in _SECRET]):
        yield f"{secret} environment variables: never taken"
    for key, label in (("mcp_servers", "MCP servers"), ("groups", "groups"), ("sources", "data sources")):
        if count := _count(whole.get(key)):
            yield f"{count} {label}"
    tools = _list(whole or agent, "tools", "tool")
    if code := sum(bool(text_of(tool, "source_code")) for tool in tools):
        yield f"the code of {code} tools: never stored and never run"
    if others := len(_list(whole, "agents", "agent")) - 1 if whole else 0:
        yield f"{others} other agents in the file"
