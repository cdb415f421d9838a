"""What an agent's program did since its last checkpoint, in words, from the journal of its hooks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from lumen_tui.model.jsontext import decode
from lumen_tui.model.text import one_line
from lumen_tui.storage import backwards, files
from lumen_tui.store.sessions import hook_journal

Raw = Mapping[str, object]
_FAR = 1024 * 1024  # bytes of the journal that are looked through
_MOST = 6  # of a kind that are named; the others are counted
_CHANGES = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_COMMAND, _READ, _SEARCHES = "Bash", "Read", ("Grep", "Glob", "WebFetch", "WebSearch", "ToolSearch")
_NOTES = {
    "subagent_stop": "a sub-agent stopped",
    "pre_compact": "before the context is compacted",
    "tests_pass": "tests passed",
    "milestone": "a step was completed",
}


def note(root: str, requests: Sequence[Raw]) -> str:
    """Return the text of a checkpoint: what asked for it, and what was done since the one before."""
    asks = dict.fromkeys(str(request["ask"]) for request in requests)
    calls = sum(count for request in requests if isinstance(count := request.get("calls"), int))
    reasons = ", ".join(f"{calls} tool calls" if ask == "tool_calls" else _NOTES.get(ask, ask) for ask in asks)
    done = told(since(root, requests))
    return f"{reasons}: {done}" if done else reasons


def since(root: str, requests: Sequence[Raw]) -> list[Raw]:
    """Return the events behind the last checkpoints of the sessions that ask, up to their requests, oldest first."""
    asked = {str(request.get("id")) for request in requests}
    waiting = {str(request.get("session")) for request in requests}  # until their last request is met
    open_sessions = set(waiting)  # until a request before these is met
    events: list[Raw] = []
    for line in _newest(root):
        record = decode(line) or {}
        session, mine = str(record.get("session")), str(record.get("id")) in asked
        if session not in open_sessions or record.get("event") == hook_journal.OUTCOME:
            continue
        if mine:
            waiting.discard(session)
        elif "ask" in record and session not in waiting:
            open_sessions.discard(session)
            continue
        if session not in waiting:
            events.append(record)
        if not open_sessions:
            break
    return events[::-1]


def _newest(root: str) -> Iterator[bytes]:
    """Yield the lines at the end of the journal, newest first."""
    try:
        fd = files.open_plain(f"{root}/{hook_journal.NAME}")
    except FileNotFoundError:
        return
    end = -1
    try:
        for offset, line in backwards.lines(fd):
            end = offset if end < 0 else end
            if end - offset > _FAR:
                return
            yield line
    finally:
        os.close(fd)


def told(events: Sequence[Raw]) -> str:
    """Return what these events say was done; empty where they say nothing."""
    calls = [event for event in events if event.get("event") in hook_journal.CALLS]
    changed = _named(calls, _CHANGES, "{}")
    ran = _named(calls, (_COMMAND,), "`{}`")
    read = len({event.get("did") for event in calls if event.get("tool") == _READ})
    searches = sum(event.get("tool") in _SEARCHES for event in calls)
    others = [one_line(str(event.get("tool")), 60) for event in calls if _is_other(str(event.get("tool")))]
    ended = [
        one_line(str(event.get("agent") or "one"), 60)
        for event in events
        if event.get("event") == hook_journal.SUBAGENT_STOP
    ]
    words = [one_line(str(event["words"]), 200) for event in events if event.get("words")]
    parts = [
        f"changed {_list(changed)}" if changed else "",
        f"ran {_list(ran)}" if ran else "",
        f"read {read} file{'' if read == 1 else 's'}" if read else "",
        f"searched {searches} time{'' if searches == 1 else 's'}" if searches else "",
        f"used {_list(list(dict.fromkeys(others)))}" if others else "",
        f"sub-agents: {_list(ended)}" if ended else "",
        f"its last words: {words[-1]}" if words else "",
    ]
    return "; ".join(part for part in parts if part)


def _is_other(tool: str) -> bool:
    return tool not in (*_CHANGES, _COMMAND, _READ, *_SEARCHES)


def _named(calls: list[Raw], tools: Sequence[str], form: str) -> list[str]:
    """Return what the calls of these tools were about, each once; the last time says whether it failed."""
    ends: dict[str, bool] = {}
    for event in calls:
        did = one_line(str(event.get("did") or ""), 160)
        if did and event.get("tool") in tools:
            ends.pop(did, None)
            ends[did] = event.get("event") == hook_journal.TOOL_FAILED
    return [form.format(did) + (" (failed)" if failed else "") for did, failed in ends.items()]


def _list(names: list[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[-_MOST:]) + (f" and {more} more" if more > 0 else "")
