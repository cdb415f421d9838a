"""Our entries in a settings file of an agent's program, put beside what is there.

The shape is the documented one of Claude Code: `hooks` holds for each event a list of matchers, each with a list of
commands. A command of ours is known by its words, so no key is needed that the program does not know.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from copy import deepcopy
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage import directories, files
from lumen_tui.store.sessions.hook_journal import CALLS, EVENTS

Settings = dict[str, Any]
_TIMEOUT = 10  # seconds after which the agent's program goes on without an answer
_BACKUP = ".before-lumen"
_LARGEST = 16 * 1024 * 1024  # bytes


class Installed(Struct, frozen=True):
    """What a settings file says of our hooks. `state` is the folder that they name, or several of them."""

    path: str
    exists: bool
    events: tuple[str, ...] = ()
    missing: tuple[str, ...] = EVENTS
    states: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    trouble: str = ""


def command(program: list[str], event: str, root: Path) -> str:
    """Return the shell command that the agent's program runs at an event."""
    return shlex.join([*program, "hook", event, "--state", str(root)])


def install(path: Path, program: list[str], root: Path) -> bool:
    """Install our hooks in place of earlier ones of ours; return False if they are there already."""
    path = _real(path)
    text = _read(path)
    before = _parse(path, text) if text.strip() else {}
    after = _without_ours(before, {}) if _ours(before) else deepcopy(before)
    for event in EVENTS:
        entry: Settings = {
            "hooks": [{"type": "command", "command": command(program, event, root), "timeout": _TIMEOUT}]
        }
        _event_list(path, after, event).append({"matcher": "*", **entry} if event in CALLS else entry)
    if sorted(_ours(before)) == sorted(_ours(after)):
        return False
    if not _ours(before):
        _back_up(path, text)
    _write(path, _dump(after, text))
    return True


def uninstall(path: Path) -> bool:
    """Remove our hooks and nothing else; return False if there are none."""
    path = _real(path)
    text = _read(path)
    before = _parse(path, text) if text.strip() else {}
    if not _ours(before):
        return False
    saved = files.read(_backup(path)) if path.with_name(path.name + _BACKUP).exists() else None
    earlier = _parse(_backup(path), saved.decode()) if saved and saved.strip() else {}
    after = _without_ours(before, earlier)
    if not after and saved is None:
        directories.remove(path)  # it held nothing but ours
    else:
        _write(path, saved.decode() if saved and after == earlier else _dump(after, text))
    return True


def installed(path: Path) -> Installed:
    """Return what is installed; a file that cannot be read is reported, not raised."""
    try:
        real = _real(path)
        text = _read(real)
        entries = _ours(_parse(real, text)) if text.strip() else []
    except (ActionError, files.StoreError) as error:
        return Installed(str(path), True, trouble=str(error))
    words = [shlex.split(line) for _, line in entries]
    events = {event for event, _ in entries}
    return Installed(
        str(path),
        real.exists(),
        events=tuple(event for event in EVENTS if event in events),
        missing=tuple(event for event in EVENTS if event not in events),
        states=tuple(dict.fromkeys(argv[-1] for argv in words)),
        programs=tuple(dict.fromkeys(argv[0] for argv in words)),
    )


def _real(path: Path) -> Path:
    """Return the file behind a link: a link in the operator's own folder is followed, not replaced."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise ActionError(f"{path} leads nowhere: {error}") from error


def _read(path: Path) -> str:
    try:
        data = files.read(path, _LARGEST)
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise ActionError(f"{path} is not UTF-8 (byte {error.start}): fix it first, nothing was changed") from error
    except OSError as error:
        raise files.StoreError(f"{path} cannot be read: {error.strerror}; nothing was changed") from error


def _parse(path: Path, text: str) -> Settings:
    try:
        settings = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ActionError(f"{path} is not JSON ({error.msg} at {where}): fix it first, nothing was changed") from error
    except (ValueError, RecursionError) as error:
        raise ActionError(f"{path}: {error}: fix it first, nothing was changed") from error
    if not isinstance(settings, dict) or not isinstance(settings.get("hooks", {}), dict):
        raise ActionError(f"{path} is not a settings file: it, and `hooks` in it, must be objects; nothing was changed")
    return settings


def _once(pairs: list[tuple[str, object]]) -> Settings:
    """Make an object of pairs; ValueError for one that names a key twice, which would lose one of them."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError(f"an object names a key twice: {', '.join(sorted({key for key, _ in pairs}))[:100]}")
    return result


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _event_list(path: Path, settings: Settings, event: str) -> list[object]:
    entries = settings.setdefault("hooks", {}).setdefault(event, [])
    if not isinstance(entries, list):
        raise ActionError(f"{path}: hooks.{event} is no list: fix it first, nothing was changed")
    return entries


def _is_ours(hook: object) -> bool:
    line = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(line, str):
        return False
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    if len(words) < 5 or words[-4] != "hook" or words[-2] != "--state":
        return False
    program = words[:-4]
    return (
        Path(program[-1]).name in ("lumen-tui", "lumen") if len(program) == 1 else program[-2:] == ["-m", "lumen_tui"]
    )


def _ours(settings: Settings) -> list[tuple[str, str]]:
    """Return (event, command) of each of our entries."""
    return [
        (event, str(hook["command"]))
        for event, groups in settings.get("hooks", {}).items()
        for group in (groups if isinstance(groups, list) else ())
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for hook in group["hooks"]
        if _is_ours(hook)
    ]


def _without_ours(settings: Settings, earlier: Settings) -> Settings:
    """Return the settings without our hooks, and without what is empty then, unless it was before us."""
    after = deepcopy(settings)
    hooks = after.get("hooks", {})
    before = earlier.get("hooks", {})
    for event, groups in list(hooks.items()):
        if not isinstance(groups, list):
            continue
        remaining = [group for group in map(_cleared, groups) if group is not None]
        if remaining or groups == remaining or event in before:
            hooks[event] = remaining
        else:
            del hooks[event]
    if not hooks and "hooks" in after and "hooks" not in earlier:
        del after["hooks"]
    return after


def _cleared(group: object) -> object:
    """Return a matcher without our commands; None if it held nothing else."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    remaining = [hook for hook in group["hooks"] if not _is_ours(hook)]
    if len(remaining) == len(group["hooks"]):
        return group
    return {**group, "hooks": remaining} if remaining else None


def _dump(settings: Settings, text: str) -> str:
    """Encode as JSON in the style of the existing file: its indent, its line ends, its last newline."""
    match = re.search(r"^([ \t]+)\S", text, re.M)
    indent: str | int | None = match.group(1) if match else 2
    if text.strip() not in ("", "{}") and "\n" not in text.strip():
        indent = None
    dumped = json.dumps(settings, indent=indent, ensure_ascii=False) + ("\n" if text.endswith("\n") or not text else "")
    return dumped.replace("\n", "\r\n") if "\r\n" in text else dumped


def _backup(path: Path) -> Path:
    return path.with_name(path.name + _BACKUP)


def _back_up(path: Path, text: str) -> None:
    """Keep what was there before us; a copy from an earlier time is not left where nothing was."""
    if path.exists():
        _write(_backup(path), text, like=path)
    else:
        directories.remove(_backup(path)) if _backup(path).exists() else None


def _write(path: Path, text: str, like: Path | None = None) -> None:
    """Replace the file as a whole, with the permissions that it had."""
    try:
        mode = stat.S_IMODE(os.stat(like or path).st_mode) if (like or path).exists() else 0o644
        if not mode & stat.S_IWUSR or (path.exists() and not os.access(path, os.W_OK)):
            raise files.NotWritten(f"{path} is not writable; nothing was changed")
        path.parent.mkdir(parents=True, exist_ok=True)

        def fill(fd: int) -> None:
            files.write_all(fd, text.encode())
            os.fchmod(fd, mode)

        files.take_place(files.write_sibling(path, fill), str(path))
    except OSError as error:
        raise files.NotWritten(f"{path}: {error.strerror or error}; nothing was changed") from error
