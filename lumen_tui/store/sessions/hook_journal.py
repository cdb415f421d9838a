"""The hook journal, sessions/hook-events.jsonl: one line for each hook of an agent's program, and one for its outcome.

A hook's line may carry `ask`, a request for a checkpoint; a later line with the event `outcome` names the requests
that it answers. The settings for hooks are in a small file beside the index, so that hooks read no TOML. On the path of
the hot verbs: it imports nothing that they would not load anyway.
"""

from __future__ import annotations

import os

from lumen_tui import __version__
from lumen_tui.model import times
from lumen_tui.model.jsontext import decode
from lumen_tui.storage import backwards, files, raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui.model.jsontext import Raw

NAME = "sessions/hook-events.jsonl"
LOCK = "sessions/hooks.lock"  # held by the one background process
LOG = "sessions/hooks.log"  # that process's last words when it dies
RULE = "index/hook-rule.json"
TOOL_USED, SUBAGENT_STOP, COMPACTION, SESSION_START, STOP = (
    "PostToolUse",
    "SubagentStop",
    "PreCompact",
    "SessionStart",
    "Stop",
)
TOOL_FAILED = "PostToolUseFailure"  # a call that failed; it replaces PostToolUse
CALLS = (TOOL_USED, TOOL_FAILED)
EVENTS = (TOOL_USED, SUBAGENT_STOP, COMPACTION, SESSION_START, STOP, TOOL_FAILED)
OUTCOME, EARLIER = "outcome", "earlier"  # ours; names of hooks begin with a capital
_FAR = 256 * 1024  # bytes searched for the calls of one session
_SESSIONS = 20  # open work sessions searched, those written last
GIVEN_UP = times.HOUR  # a request older than that is no longer carried out
_NUMBERS = ("every", "max_checkpoints", "frequency", "on_tests_pass", "on_milestone")


def rule(root: str) -> Raw:
    """Return the settings in force for hooks and checkpoints; they are read in full only after a change."""
    expected_stamp = f"{__version__} {stamp(root)}"
    remembered = raw_json.read(f"{root}/{RULE}") or {}
    if remembered.get("stamp") == expected_stamp and all(isinstance(remembered.get(name), int) for name in _NUMBERS):
        return remembered
    return _read_rule(root, expected_stamp)


def _read_rule(root: str, stamp: str) -> Raw:
    """Read the settings and cache what hooks need under this stamp; a failure to write is ignored."""
    from lumen_tui.model.quick_imports import import_basics

    import_basics()
    from pathlib import Path

    import msgspec

    from lumen_tui.storage import directories
    from lumen_tui.storage.layout import Layout
    from lumen_tui.store.settings.config import load_config

    memory = load_config(Layout(Path(root)))[0].memory
    checkpoints = memory.enforcement.auto_checkpoint
    signals = memory.progress_signals
    fields = {
        "stamp": stamp,
        "enabled": checkpoints.enabled,
        "every": checkpoints.interval_tool_calls,
        "frequency": signals.frequency if signals.enabled else 0,
        "on_tests_pass": signals.enabled and signals.on_tests_pass,
        "on_milestone": signals.enabled and signals.on_milestone,
        "on_signals": signals.enabled and signals.auto_checkpoint,
        "max_checkpoints": memory.max_checkpoints,
    }
    try:
        directories.make_folder(Path(root) / "index")
        files.replace(f"{root}/{RULE}", msgspec.json.encode(fields))
    except files.StoreError:
        pass  # the next hook tries again
    return fields


def stamp(root: str) -> str:
    """Return a stamp that changes when one of the two settings files does."""
    parts = []
    for name in ("lumen.toml", "operator.toml"):
        try:
            file_stat = os.stat(f"{root}/{name}")
            parts.append(f"{file_stat.st_ino}:{file_stat.st_size}:{file_stat.st_mtime_ns}")
        except OSError:
            parts.append("-")
    return " ".join(parts)


def calls_since(fd: int, session: str) -> int:
    """Count the tool calls of this session after its last request for a checkpoint."""
    needle = session.encode()
    count = 0
    end = -1
    for offset, line in backwards.lines(fd):
        end = offset if end < 0 else end
        if end - offset > _FAR:
            break
        if needle not in line:
            continue
        record = decode(line)
        if not record or record.get("session") != session:
            continue
        if "ask" in record:
            break
        count += record.get("event") in CALLS
    return count


def pending(root: str, now: float) -> list[Raw]:
    """Return the requests that nobody has answered, oldest first."""
    try:
        fd = files.open_plain(f"{root}/{NAME}")
    except FileNotFoundError:
        return []
    answered: set[str] = set()
    requests = []
    try:
        for _, line in backwards.lines(fd):
            if b'"ask"' not in line and b'"answers"' not in line:
                continue
            record = decode(line) or {}
            answers = record.get("answers")
            answered.update(request_id for request_id in answers if isinstance(request_id, str)) if isinstance(
                answers, list
            ) else None
            if now - times.epoch(str(record.get("at"))) > GIVEN_UP:
                break
            if "ask" in record and record.get("id") not in answered:
                requests.append(record)
    finally:
        os.close(fd)
    return requests[::-1]


def link(root: str, cwd: str, by: str, named: str) -> tuple[str, str]:
    """Return the open work session that a hook belongs to, and its work unit; two empty texts where there is none.

    It is the one that is `named`, else the one that began in the folder closest above `cwd`, else one below it, else
    one of the same agent without a folder; of several one of the same agent, and then the one started last.
    """
    best: tuple[int, bool, str, str, str] | None = None
    for name in _newest_sessions(f"{root}/sessions"):
        session = raw_json.read(f"{root}/sessions/{name}") or {}
        session_id, wu_id, started = (str(session.get(key) or "") for key in ("session_id", "active_wu", "started_at"))
        if session.get("ended_at") or f"{session_id}.json" != name or not wu_id:
            continue
        if session_id == named:
            return session_id, wu_id
        same_agent = session.get("agent") == by
        rank = _rank(str(session.get("folder") or ""), cwd, same_agent)
        if rank >= 0 and (best is None or (rank, same_agent, started) > best[:3]):
            best = (rank, same_agent, started, session_id, wu_id)
    return best[3:] if best else ("", "")


def _rank(folder: str, cwd: str, same_agent: bool) -> int:
    if not folder:
        return 0 if same_agent else -1
    if f"{cwd}/".startswith(f"{folder.rstrip('/')}/"):
        return 1 + len(folder)
    return 1 if folder.startswith(f"{cwd.rstrip('/')}/") else -1


def _newest_sessions(folder: str) -> list[str]:
    dated = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".json") and entry.name[0] != "." and entry.name != "current.json":
                try:
                    dated.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
                except FileNotFoundError:
                    continue  # it has just ended
    return [name for _, name in sorted(dated, reverse=True)[:_SESSIONS]]
