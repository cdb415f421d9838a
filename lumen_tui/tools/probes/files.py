"""Probes of files: whether one is there, what is in it, what its hash is."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from lumen_tui.model.facts import Outcome, Probe, Reading
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, ToolError, size_text
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.paths import forbidden, special

TEXT_LIMIT = 4 * 1024 * 1024  # bytes of a file that is searched
HASH_LIMIT = 256 * 1024 * 1024
_PART = 1024 * 1024
_SHOWN = 200  # characters of a value
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def look_file(context: Context, probe: Probe) -> Reading:
    """Whether something stands there. A link that leads nowhere is not there."""
    path = _real(context, probe.target)
    state = "exists" if os.path.exists(path) else "absent"
    return compared(probe, state, f"{probe.target} {'is there' if state == 'exists' else 'is not there'}")


def look_hash(context: Context, probe: Probe) -> Reading:
    """The SHA-256 of the content."""
    digest = hashlib.sha256()
    for part in _parts(context, probe.target, HASH_LIMIT):
        digest.update(part)
    actual = digest.hexdigest()
    expect = probe.expect.lower().removeprefix("sha256:")
    holds = not expect or (len(expect) >= 12 and actual.startswith(expect))
    return reading(holds, f"sha256 of {probe.target} is {actual[:16]}…", actual)


def look_text(context: Context, probe: Probe) -> Reading:
    """Words in a file, or what a pattern finds there; with a group, what the group holds."""
    text = content(context, probe.target)
    return searched(probe, text, probe.target)


def searched(probe: Probe, text: str, place: str) -> Reading:
    """What a pattern finds in a text, compared with what is expected; without one the words themselves."""
    if not probe.pattern:
        holds = probe.expect in text
        return reading(holds, f"“{one_line(probe.expect, 80)}” is {'' if holds else 'not '}in {place}")
    match = re.search(probe.pattern, text, re.MULTILINE)
    if match is None:
        return reading(False, f"nothing in {place} matches {one_line(probe.pattern, 80)}")
    groups = match.groups()
    value = (groups[0] or "") if groups else match.group()
    return compared(probe, value.strip(), f"{place} says “{one_line(value, 80)}”")


def look_json(context: Context, probe: Probe) -> Reading:
    """The value at a path such as `servers[0].port`; the whole document without one."""
    try:
        value: Any = json.loads(content(context, probe.target))
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{one_line(probe.target)} is not JSON: {error}") from error
    for name, index in _STEP.findall(probe.at.lstrip("$.")):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return reading(False, f"there is no {probe.at} in {probe.target}")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    known = (text, json.dumps(value, ensure_ascii=False, sort_keys=True), one_line(text, _SHOWN))
    holds = probe.expect in ("", *known)
    return reading(holds, f"{probe.at or 'the value'} in {probe.target} is {one_line(text, 80)}", text)


def content(context: Context, target: str) -> str:
    """The text of a file of a size that can be searched."""
    return b"".join(_parts(context, target, TEXT_LIMIT)).decode("utf-8", "replace")


def _parts(context: Context, target: str, limit: int) -> list[bytes]:
    """The content. ToolError where it is too much, or changes while it is read."""
    path = _real(context, target)
    try:
        fd = opening.file(path)
    except FileNotFoundError:
        raise Gone(f"{target} is not there") from None
    except OSError as error:
        raise ToolError(f"{one_line(target)} cannot be read: {error.strerror}") from error
    try:
        return _read(fd, target, limit)
    except OSError as error:
        raise ToolError(f"{one_line(target)} cannot be read: {error.strerror}") from error
    finally:
        os.close(fd)


def _read(fd: int, target: str, limit: int) -> list[bytes]:
    before = os.fstat(fd)
    if kind := special(before):
        raise ToolError(f"{one_line(target)} is {kind}; only files are read")
    parts: list[bytes] = []
    size = 0
    while part := os.read(fd, _PART):
        size += len(part)
        if size > limit:
            raise ToolError(f"{one_line(target)} is larger than {size_text(limit)}: not read")
        parts.append(part)
    after = os.fstat(fd)
    if before.st_size and (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ToolError(f"{one_line(target)} was written while it was read")
    return parts


class Gone(Exception):
    """What a probe looks into is not there: that is a finding."""


def _real(context: Context, target: str) -> str:
    """The real path; ToolError where it is out of bounds."""
    path = os.path.expanduser(target)
    if "\0" in path or not os.path.isabs(path):
        raise ToolError(f"{one_line(target)} is not an absolute path")
    real = os.path.realpath(path)
    if refusal := forbidden(context, real):
        raise ToolError(refusal)
    return real


def compared(probe: Probe, actual: str, evidence: str) -> Reading:
    """Whether what was found is what is expected, of long values the beginning; anything will do where nothing is."""
    expected = one_line(probe.expected, _SHOWN)
    return reading(expected in ("", one_line(actual, _SHOWN)), evidence, actual)


def reading(holds: bool, evidence: str, value: str = "") -> Reading:
    """A look that told something."""
    outcome = Outcome.HOLDS if holds else Outcome.DRIFTED
    return Reading(outcome, one_line(evidence, 300), one_line(value, _SHOWN))
