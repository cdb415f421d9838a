"""`hook EVENT`: what an agent's program calls at each event. It notes the event and leaves the work to others.

On the path of the hot verbs. The agent waits for it and goes on whatever comes of it: 0, or 1 where what came in was no
event. That is said on standard error and counted in the journal as a failure, never as an event.
"""

from __future__ import annotations

import os
import sys
import time

from lumen_tui.cli.fast import light
from lumen_tui.model import ids, times
from lumen_tui.storage import files, locks
from lumen_tui.storage.raw_json import decode
from lumen_tui.store.sessions import hook_journal, hook_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Raw = dict[str, Any]

_MOST = 1024 * 1024  # bytes of the JSON that are looked at
_DRAIN = 64 * 1024 * 1024  # bytes read and dropped behind that, so that the writer is not cut off
_SILENCE = 5.0  # seconds without a byte after which no more is waited for
_LOG = 256 * 1024  # bytes of the log beyond which nothing is added to it
_TESTS = (
    "pytest", "unittest", "tox", "npm test", "npm run test", "pnpm test", "yarn test", "vitest", "jest", "cargo test",
    "go test", "make test", "make check", "ctest", "rspec", "mvn test", "gradle test", "dotnet test",
)  # fmt: skip


class NoEvent(Exception):
    """What came in is not what an agent's program says of an event; the text says what is wrong with it."""


def run(argv: list[str], state: dict[str, str]) -> int:
    """Note one event; returns 1 where what came in was none, else 0 whatever happens."""
    try:
        _arrive(argv, state)
    except NoEvent as error:
        print(f"lumen-tui hook: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - an edge: the agent's work never stops over its bookkeeping
        print(f"lumen-tui hook: {error}", file=sys.stderr)
    return 0


def _arrive(argv: list[str], state: dict[str, str]) -> None:
    event, root = _words(argv, state)
    data = _stdin()
    given = _given(data)
    if not light.usable(root):
        raise ValueError(f"there is no usable state folder at {root}: `lumen-tui hooks status` says more")
    now = time.time()
    if why := _no_event(event, given, data):
        _note_failure(root, why, now)
        raise NoEvent(why)
    record = _record(root, event or str(given.get("hook_event_name") or ""), given, now)
    rule = hook_settings.rule(root)
    asked = _note(root, record, rule)
    if asked:
        _start_job(root)
    if rule["frequency"] or rule["on_tests_pass"] or rule["on_milestone"]:
        _tell_due(root, record, rule)
    if record["event"] == hook_journal.SESSION_START and record.get("wu"):
        _give_context(root, record, now)


def _words(argv: list[str], state: dict[str, str]) -> tuple[str, str]:
    """The name of the event and the state folder."""
    root, event = state.get("state", ""), ""
    rest = iter(argv)
    for word in rest:
        if word == "--state":
            root = next(rest, "")
        elif word.startswith("--state="):
            root = word[8:]
        elif word[:1] != "-":
            event = event or word
    return event, os.path.abspath(os.path.expanduser(root or light.state_root(os.environ)))


def _stdin() -> bytes:
    """What the program wrote, up to `_MOST` bytes; a writer that never ends does not hold this one up."""
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


def _no_event(event: str, given: Raw, data: bytes) -> str:
    """Why what came in is not this event, or the empty string."""
    name = _label(event, 40) or "a hook"
    if not data.strip():
        return f"{name} came with nothing on standard input: the agent's program writes its event there as JSON"
    if not isinstance(session := given.get("session_id"), str) or not session:
        return f"{name} came with something else than an event: a JSON object with a session_id is needed"
    said = given.get("hook_event_name")
    if event and said and said != event:
        return f"{name} came with the event {_label(said, 40) or 'of no name'}"
    tool = given.get("tool_name")
    if (event or said) in hook_journal.CALLS and not (isinstance(tool, str) and tool):
        return f"{name} came without the name of a tool: tool_name is needed"
    return ""


def _note_failure(root: str, why: str, now: float) -> None:
    """Count it as a failure, with the reason, where `hooks status` and the room look for such."""
    record = {"at": times.iso(now), "event": hook_journal.OUTCOME, "ok": False, "said": why, "answers": [], "schema": 1}
    with files.locked_log(f"{root}/{hook_journal.NAME}") as fd:
        files.append_locked(fd, files.check_line(light.line(record)))


def _given(data: bytes) -> Raw:
    """The fields of the JSON object; of one that was too long to be read whole those that stand first."""
    if found := decode(data):
        return found
    if len(data) < _MOST:
        return {}
    text = data.decode(errors="replace")
    return {name: _early(text, name) for name in ("session_id", "cwd", "tool_name", "hook_event_name")}


def _early(text: str, name: str) -> str:
    at = text.find(f'"{name}"')
    begin = text.find('"', text.find(":", at) + 1) + 1
    found = text[begin : text.find('"', begin)] if at >= 0 and begin > 0 else ""
    return "" if "\\" in found else found


def _label(value: object, limit: int = 100) -> str:
    """A text from outside as a plain word or path of our journal."""
    text = value if isinstance(value, str) else ""
    return "".join([c if c.isprintable() else "?" for c in text[:limit].encode("utf-8", "replace").decode()])


def _record(root: str, event: str, given: Raw, now: float) -> Raw:
    name = _label(event, 40)
    by, cwd = light.operator(os.environ), _label(given.get("cwd"), 1000) or os.getcwd()
    ses, wu_id = hook_journal.link(root, cwd, by, os.environ.get("LUMEN_SESSION", ""))
    texts = {
        "tool": _label(given.get("tool_name")), "agent": _label(given.get("agent_type")), "ses": ses, "wu": wu_id,
        "why": _label(given.get("source") or given.get("trigger")), "cwd": cwd,
    }  # fmt: skip
    session = "".join(
        [c if c.isascii() and (c.isalnum() or c in "-_.:") else "-" for c in _label(given.get("session_id"))]
    )
    record: Raw = {
        "at": times.iso(now), "event": name if name[:1].isupper() else "Unknown",
        "session": session or ses or "unknown", "by": _label(by),
        **{key: value for key, value in texts.items() if value},
    }  # fmt: skip
    if record["event"] == hook_journal.TOOL_USED:
        record.update({key: True for key, is_so in (("tests", _tests), ("milestone", _milestone)) if is_so(given)})
    return record | {"schema": 1}


def _inner(given: Raw, key: str) -> Raw:
    value = given.get(key)
    return value if isinstance(value, dict) else {}


def _tests(given: Raw) -> bool:
    """Whether tests ran and passed; programs that failed come under another event, or name their exit code."""
    command, answer = _inner(given, "tool_input").get("command"), _inner(given, "tool_response")
    if given.get("tool_name") != "Bash" or not isinstance(command, str):
        return False
    failed = answer.get("interrupted") or answer.get("exit_code") or answer.get("exitCode") or answer.get("is_error")
    return not failed and any(word in command for word in _TESTS)


def _milestone(given: Raw) -> bool:
    """Whether an entry of the agent's own list of steps was completed."""
    tool, answer = given.get("tool_name"), _inner(given, "tool_response")
    if tool == "TaskUpdate":
        return _inner(given, "tool_input").get("status") == "completed"
    return (
        tool == "TodoWrite" and "oldTodos" in answer and _completed(answer, "newTodos") > _completed(answer, "oldTodos")
    )


def _completed(answer: Raw, key: str) -> int:
    steps = answer.get(key)
    every = steps if isinstance(steps, list) else []
    return sum([isinstance(one, dict) and one.get("status") == "completed" for one in every])


def _note(root: str, record: Raw, rule: Raw) -> bool:
    """Append the event; whether it asks for a checkpoint. Counted under the lock: of many hooks one is the Nth."""
    with files.locked_log(f"{root}/{hook_journal.NAME}") as fd:
        ask = _ask(fd, record, rule) if record.get("ses") else ""
        if ask:
            record.update({"id": ids.new_id("evt"), "ask": ask})
        files.append_locked(fd, files.check_line(light.line(record)))
    return bool(ask)


def _ask(fd: int, record: Raw, rule: Raw) -> str:
    """What the checkpoint is for, or nothing."""
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
    """Start the one background process, which inherits the lock; where it runs already, it sees the request."""
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


def _tell_due(root: str, record: Raw, rule: Raw) -> None:
    """Say that a progress signal is due: to the agent's program, and on standard error for whoever looks there."""
    from lumen_tui.engine.hooks import due

    if text := due.said(root, record, rule):
        print(f"lumen-tui hook: {text}", file=sys.stderr)
        _tell_agent(record["event"], text)


def _tell_agent(event: str, text: str) -> None:
    """Print what the agent should know, in the form in which its program takes it."""
    answer = {"hookEventName": event, "additionalContext": text}
    os.write(1, light.line({"hookSpecificOutput": answer}) + b"\n")


def _give_context(root: str, record: Raw, now: float) -> None:
    """What the agent should know to go on."""
    from lumen_tui.engine.hooks import context

    text = context.block(root, by=record["by"], wu_id=record["wu"], now=now)
    if text:
        _tell_agent(hook_journal.SESSION_START, text)
