"""`hook EVENT`: what an agent's program runs at each event. It records the event and starts a background job.

On the path of the hot verbs. The agent waits for it and goes on whatever it returns: 0, or 1 where the input was no
event. That is reported on standard error and counted in the journal as a failure, never as an event.
"""

from __future__ import annotations

import os
import sys
import time

from lumen_tui import hot
from lumen_tui.model import ids, times
from lumen_tui.model.jsontext import decode, table_of
from lumen_tui.storage import files, locks, origin
from lumen_tui.store.sessions import hook_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Raw = dict[str, Any]

_MOST = 1024 * 1024  # bytes of the JSON that are decoded
_DRAIN = 64 * 1024 * 1024  # bytes read and dropped after that, so that the writer is not cut off
_SILENCE = 5.0  # seconds without a byte after which reading ends
_DID = ("file_path", "notebook_path", "command", "pattern", "url", "query", "description")  # arguments that say most
_DID_SIZE = 160  # characters of what is kept of a call, or of an agent's last words
_LOG = 256 * 1024  # bytes of the log beyond which nothing is added to it
_TESTS = (
    "pytest", "unittest", "tox", "npm test", "npm run test", "pnpm test", "yarn test", "vitest", "jest", "cargo test",
    "go test", "make test", "make check", "ctest", "rspec", "mvn test", "gradle test", "dotnet test",
)  # fmt: skip


class NoEvent(Exception):
    """The input is not an event of an agent's program; the text says what is wrong with it."""


def run(argv: list[str], state: dict[str, str]) -> int:
    """Record one event; return 1 where the input was none, else 0 whatever happens."""
    try:
        _receive(argv, state)
    except NoEvent as error:
        print(f"lumen-tui hook: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - an edge: the agent's work never stops over its bookkeeping
        print(f"lumen-tui hook: {error}", file=sys.stderr)
    return 0


def _receive(argv: list[str], state: dict[str, str]) -> None:
    event, root = _words(argv, state)
    data = _stdin()
    payload = _payload(data)
    if not hot.usable(root):
        raise ValueError(f"there is no usable state folder at {root}: `lumen-tui hooks status` says more")
    now = time.time()
    if problem := _no_event(event, payload, data):
        _note_failure(root, problem, now)
        raise NoEvent(problem)
    record = _record(root, event or str(payload.get("hook_event_name") or ""), payload, now)
    rule = hook_journal.rule(root)
    requested = _note(root, record, rule)
    if requested:
        _start_job(root)
    if rule["frequency"] or rule["on_tests_pass"] or rule["on_milestone"]:
        _report_due(root, record, rule)
    if record["event"] == hook_journal.SESSION_START and record.get("wu"):
        _give_context(root, record, now)


def _words(argv: list[str], state: dict[str, str]) -> tuple[str, str]:
    """Return the name of the event and the state folder."""
    root = state.get("state", "")
    event = ""
    remaining = iter(argv)
    for word in remaining:
        if word == "--state":
            root = next(remaining, "")
        elif word.startswith("--state="):
            root = word[8:]
        elif word[:1] != "-":
            event = event or word
    return event, os.path.abspath(os.path.expanduser(root or hot.state_root(os.environ)))


def _stdin() -> bytes:
    """Return what the program wrote, up to `_MOST` bytes, without waiting for a writer that never ends."""
    from select import select

    parts: list[bytes] = []
    size = 0
    try:
        while not os.isatty(0) and size < _DRAIN and select([0], [], [], _SILENCE)[0]:
            part = os.read(0, 1 << 16)
            if not part:
                break
            if size < _MOST:
                parts.append(part)
            size += len(part)
    except OSError:
        pass  # no standard input at all
    return b"".join(parts)


def _no_event(event: str, payload: Raw, data: bytes) -> str:
    """Return why the input is not this event, or the empty string."""
    name = _label(event, 40) or "a hook"
    if not data.strip():
        return f"{name} came with nothing on standard input: the agent's program writes its event there as JSON"
    if not isinstance(session := payload.get("session_id"), str) or not session:
        return f"{name} came with something else than an event: a JSON object with a session_id is needed"
    named = payload.get("hook_event_name")
    if event and named and named != event:
        return f"{name} came with the event {_label(named, 40) or 'of no name'}"
    tool = payload.get("tool_name")
    if (event or named) in hook_journal.CALLS and not (isinstance(tool, str) and tool):
        return f"{name} came without the name of a tool: tool_name is needed"
    return ""


def _note_failure(root: str, reason: str, now: float) -> None:
    """Record a failure and its reason for `hooks status` and the room."""
    record = {
        "at": times.iso(now),
        "event": hook_journal.OUTCOME,
        "ok": False,
        "said": reason,
        "answers": [],
        "schema": 1,
    }
    with files.locked_log(f"{root}/{hook_journal.NAME}") as fd:
        files.append_locked(fd, files.journal_line(hot.encode(record)))


def _payload(data: bytes) -> Raw:
    """Return the fields of the JSON object; of one too long to be read whole, those that come first."""
    if payload := decode(data):
        return payload
    if len(data) < _MOST:
        return {}
    text = data.decode(errors="replace")
    return {name: _first_value(text, name) for name in ("session_id", "cwd", "tool_name", "hook_event_name")}


def _first_value(text: str, name: str) -> str:
    """Return the first text with this key in a JSON document that may be cut off."""
    start = text.find(f'"{name}"')
    begin = text.find('"', text.find(":", start) + 1) + 1
    value = text[begin : text.find('"', begin)] if start >= 0 and begin > 0 else ""
    return "" if "\\" in value else value


def _label(value: object, limit: int = 100) -> str:
    """Return a text from outside as a plain word or path for our journal."""
    text = value if isinstance(value, str) else ""
    return "".join([c if c.isprintable() else "?" for c in text[:limit].encode("utf-8", "replace").decode()])


def _record(root: str, event: str, payload: Raw, now: float) -> Raw:
    name = _label(event, 40)
    by = origin.operator_name(os.environ)
    cwd = _label(payload.get("cwd"), 1000) or os.getcwd()
    ses, wu_id = hook_journal.link(root, cwd, by, os.environ.get("LUMEN_SESSION", ""))
    texts = {
        "tool": _label(payload.get("tool_name")),
        "agent": _label(payload.get("agent_type")),
        "ses": ses,
        "wu": wu_id,
        "why": _label(payload.get("source") or payload.get("trigger")),
        "cwd": cwd,
        "did": _did(payload, cwd),
        "words": _short(payload.get("last_assistant_message")),
    }
    session = "".join(
        [c if c.isascii() and (c.isalnum() or c in "-_.:") else "-" for c in _label(payload.get("session_id"))]
    )
    record: Raw = {
        "at": times.iso(now),
        "event": name if name[:1].isupper() else "Unknown",
        "session": session or ses or "unknown",
        "by": _label(by),
        **{key: value for key, value in texts.items() if value},
    }
    if record["event"] == hook_journal.TOOL_USED:
        record.update({key: True for key, is_so in (("tests", _tests), ("milestone", _milestone)) if is_so(payload)})
    return record | {"schema": 1}


def _did(payload: Raw, cwd: str) -> str:
    """Return what a call was about: the file, the command, the pattern; files of the folder by their names in it."""
    arguments = table_of(payload, "tool_input")
    for name in _DID:
        if isinstance(value := arguments.get(name), str) and value.strip():
            return _short(value.removeprefix(f"{cwd}/"))
    return ""


def _short(value: object) -> str:
    """Return the beginning of a text from outside on one line. Its secrets are masked before it is cut."""
    if not isinstance(value, str) or not value.strip():
        return ""
    from lumen_tui.model.secrets.redaction import redact  # whatever writes to a journal loads it

    words = _label(redact(" ".join(value[: 8 * _DID_SIZE].split())), _DID_SIZE + 1)
    return words if len(words) <= _DID_SIZE else f"{words[: _DID_SIZE - 1]}…"


def _tests(payload: Raw) -> bool:
    """Return whether tests ran and passed; a failed program comes as another event, or names its exit code."""
    command = table_of(payload, "tool_input").get("command")
    answer = table_of(payload, "tool_response")
    if payload.get("tool_name") != "Bash" or not isinstance(command, str):
        return False
    failed = answer.get("interrupted") or answer.get("exit_code") or answer.get("exitCode") or answer.get("is_error")
    return not failed and any(word in command for word in _TESTS)


def _milestone(payload: Raw) -> bool:
    """Return whether an entry of the agent's own list of steps was completed."""
    tool = payload.get("tool_name")
    answer = table_of(payload, "tool_response")
    if tool == "TaskUpdate":
        return table_of(payload, "tool_input").get("status") == "completed"
    return (
        tool == "TodoWrite" and "oldTodos" in answer and _completed(answer, "newTodos") > _completed(answer, "oldTodos")
    )


def _completed(answer: Raw, key: str) -> int:
    steps = answer.get(key)
    every = steps if isinstance(steps, list) else []
    return sum([isinstance(step, dict) and step.get("status") == "completed" for step in every])


def _note(root: str, record: Raw, rule: Raw) -> bool:
    """Append the event and return whether it asks for a checkpoint. Under the lock, so that one hook is the Nth."""
    with files.locked_log(f"{root}/{hook_journal.NAME}") as fd:
        ask = _ask(fd, record, rule) if record.get("ses") else ""
        if ask:
            record.update({"id": ids.new_id("evt"), "ask": ask})
        files.append_locked(fd, files.journal_line(hot.encode(record)))
    return bool(ask)


def _ask(fd: int, record: Raw, rule: Raw) -> str:
    """Return what the checkpoint is for, or the empty string."""
    event = record["event"]
    if rule.get("on_signals") and (record.get("tests") or record.get("milestone")):
        return "tests_pass" if record.get("tests") else "milestone"
    if not rule.get("enabled"):
        return ""
    if event in (hook_journal.SUBAGENT_STOP, hook_journal.COMPACTION):
        return "subagent_stop" if event == hook_journal.SUBAGENT_STOP else "pre_compact"
    every = rule["every"]
    if event not in hook_journal.CALLS or every < 1:
        return ""
    calls = hook_journal.calls_since(fd, record["session"]) + 1
    if calls < every:
        return ""
    record["calls"] = calls
    return "tool_calls"


def _start_job(root: str) -> None:
    """Start the background process, which inherits the lock; one that runs already sees the request."""
    lock = locks.try_lock(f"{root}/{hook_journal.LOCK}")
    if lock is None:
        return
    log = -1
    try:
        os.set_inheritable(lock, True)
        log = files.open_append(f"{root}/{hook_journal.LOG}")
        full = os.fstat(log).st_size > _LOG
        errors = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0) if full else (os.POSIX_SPAWN_DUP2, log, 2)
        streams = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, 2, 1)]
        command = [sys.executable, "-P", "-m", "lumen_tui.engine.hooks.job", root, str(lock)]
        os.posix_spawn(sys.executable, command, os.environ, file_actions=[streams[0], errors, streams[1]], setsid=True)
    finally:
        os.close(lock)
        if log >= 0:
            os.close(log)


def _report_due(root: str, record: Raw, rule: Raw) -> None:
    """Report a progress signal that is due to the agent's program, and on standard error."""
    from lumen_tui.engine.hooks import answers

    if text := answers.due_text(root, record, rule):
        print(f"lumen-tui hook: {text}", file=sys.stderr)
        _print_for_agent(record["event"], text)


def _print_for_agent(event: str, text: str) -> None:
    """Print context for the agent in the form that its program expects."""
    answer = {"hookEventName": event, "additionalContext": text}
    os.write(1, hot.encode({"hookSpecificOutput": answer}) + b"\n")


def _give_context(root: str, record: Raw, now: float) -> None:
    """Print what the agent should know to resume its work unit."""
    from lumen_tui.engine.hooks import answers

    text = answers.block(root, by=record["by"], wu_id=record["wu"], now=now)
    if text:
        _print_for_agent(hook_journal.SESSION_START, text)
