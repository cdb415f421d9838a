"""write_file, edit_file and apply_patch: the ways to change files, each with the diff that it would make."""

from __future__ import annotations

import difflib
import itertools
import os
import re
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.files import patching, seen, writing
from lumen_tui.tools.files.writing import FileWrite, may_write
from lumen_tui.tools.policy.fence import UNSEEN, hides
from lumen_tui.tools.sandbox.policy import workspace

MOST_DIFF = 200_000  # characters of a change that a person is asked about
_MOST_WORDS = 200  # of a text that was not found, looked for with other blanks between them


class WriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the file; a relative path counts from the task's own files")]
    content: Annotated[str, Meta(max_length=1_000_000, description="the whole new content")]
    overwrite: Annotated[bool, Meta(description="whether a file that is there may be replaced")] = False


class EditArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the file")]
    old_string: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200_000,
            description="the text to replace, exactly as in the file, with enough lines around it to be there once",
        ),
    ]
    new_string: Annotated[
        str, Meta(max_length=200_000, description="the text to put there; empty removes the old text")
    ]
    replace_all: Annotated[bool, Meta(description="replace every occurrence instead of the only one")] = False


class PatchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    patch: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1_000_000,
            description="a unified diff over one or more files, with paths as the other tools take them",
        ),
    ]


def writable_path(context: Context, text: str) -> str:
    """Return the real path that is meant. ToolError where it may not be written."""
    path = _target_of(context, text)
    if refusal := may_write(context, path):
        raise ToolError(refusal)
    if os.path.isdir(path):
        raise ToolError(f"{one_line(text)} is a folder")
    return path


def _target_of(context: Context, text: str) -> str:
    """Return the real path that is meant; a relative one counts from the task's own files."""
    if not text or "\0" in text:
        raise ToolError("the path is empty or holds a NUL character")
    return os.path.realpath(os.path.join(workspace(context), os.path.expanduser(text)))


def _text_of(path: str, data: bytes | None) -> str:
    """Return the text of a file to be edited."""
    if data is None:
        raise ToolError(f"{one_line(path)} does not exist; write_file makes it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"{one_line(path)} is not UTF-8 text (byte {error.start}): it is not edited") from error


def _is_crlf(text: str) -> bool:
    """Return whether every line of the text ends with CR LF."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def _with_endings(text: str, *, crlf: bool) -> str:
    """Return the text with plain newlines, or with CR LF throughout."""
    flat = text.replace("\r\n", "\n")
    return flat.replace("\n", "\r\n") if crlf else flat


def plan_write(context: Context, arguments: WriteArguments) -> list[FileWrite]:
    """Return the change that write_file makes."""
    path = writable_path(context, arguments.path)
    before = writing.read_whole(path)
    seen.must_be_known(context, path, before)
    if before is not None and not arguments.overwrite:
        raise ToolError(f"{arguments.path} is there already: read it, then edit it, or say overwrite=true")
    return [FileWrite(path, before, arguments.content.encode("utf-8", "replace"))]


def plan_edit(context: Context, arguments: EditArguments) -> list[FileWrite]:
    """Return the change that edit_file makes; ToolError where the text is not there exactly once."""
    path = writable_path(context, arguments.path)
    before = writing.read_whole(path)
    seen.must_be_known(context, path, before)
    text = _text_of(path, before)
    crlf = _is_crlf(text)
    old = _with_endings(arguments.old_string, crlf=crlf) if crlf else arguments.old_string
    new = _with_endings(arguments.new_string, crlf=crlf) if crlf else arguments.new_string
    if problem := _why_not(text, old, every=arguments.replace_all):
        raise ToolError(f"{arguments.path}: old_string {problem}")
    if old == new:
        raise ToolError("old_string and new_string are the same: nothing to do")
    return [FileWrite(path, before, text.replace(old, new).encode())]


def _why_not(text: str, old: str, *, every: bool) -> str:
    """Return why `old` cannot be replaced in `text`, with what helps; empty where it can."""
    count = text.count(old)
    if count == 1 or (every and count):
        return ""
    if not count:
        words = r"\s+".join(map(re.escape, old.split()[:_MOST_WORDS]))
        close = re.search(words, text) if words else None
        place = f"; line {text.count(chr(10), 0, close.start()) + 1} has its words with other blanks" if close else ""
        return f"is not in the file: read it again and copy the exact text{place}"
    lines = [
        text.count("\n", 0, match.start()) + 1 for match in itertools.islice(re.finditer(re.escape(old), text), 10)
    ]
    places = ", ".join(map(str, lines)) + (", …" if count > len(lines) else "")
    return f"is there {count} times (lines {places}): give more of the lines around it, or replace_all=true"


def plan_patch(context: Context, arguments: PatchArguments) -> list[FileWrite]:
    """Return the changes of a whole patch; ToolError where any part of it does not fit."""
    try:
        patches = patching.parse(arguments.patch.replace("\r\n", "\n"))
        changes = [_patched(context, patch) for patch in patches]
    except patching.BadPatch as error:
        raise ToolError(f"the patch cannot be applied, nothing was changed: {error}") from error
    if len({change.path for change in changes}) < len(changes):
        raise ToolError("two headers of the patch name the same file: put all its hunks under one")
    return changes


def _patched(context: Context, patch: patching.FilePatch) -> FileWrite:
    path = writable_path(context, patch.path)
    before = writing.read_whole(path)
    seen.must_be_known(context, path, before)
    if not patch.source:
        if before is not None:
            raise ToolError(f"{one_line(patch.path)} is there already; the patch would make it")
        return FileWrite(path, None, patching.apply(patch, "").encode())
    text = _text_of(path, before)
    crlf = _is_crlf(text)
    after = patching.apply(patch, _with_endings(text, crlf=False) if crlf else text)
    if not patch.target:
        if after:
            raise ToolError(f"{one_line(patch.path)}: the patch removes the file but not all of its lines")
        return FileWrite(path, before, None)
    return FileWrite(path, before, (_with_endings(after, crlf=True) if crlf else after).encode())


def diff_of(context: Context, changes: list[FileWrite]) -> str:
    """Return what the changes do, as a unified diff. ToolError where a person could not look at all of it."""
    text = "\n".join(_diff(context, change) for change in changes)
    if len(text) > MOST_DIFF:
        raise ToolError(
            f"a change of {len(text):,} characters is too large to be looked at by a person ({MOST_DIFF:,} at most): "
            "make it in parts"
        )
    return text


def _diff(context: Context, change: FileWrite) -> str:
    name = context.redact(change.path)
    text = "\n".join(
        difflib.unified_diff(
            _lines(change.before),
            _lines(change.after),
            name if change.before is not None else "/dev/null",
            name if change.after is not None else "/dev/null",
            lineterm="",
        )
    )
    if hides(text):
        raise ToolError(UNSEEN)
    same = "the same bytes" if change.before == change.after else "an empty file"
    return context.redact(text) or f"--- {name}\n+++ {name}\n({same})"


def _lines(data: bytes | None) -> list[str]:
    """Return the lines as git counts them: the last newline ends one, and where it is missing that is said."""
    if not data:
        return []
    *lines, last = data.decode("utf-8", "replace").split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _carry_out(context: Context, changes: list[FileWrite]) -> ToolResult:
    with context.guard():
        writing.carry_out(changes)
        for change in changes:
            seen.note(context, change.path, change.after)
    lines = [f"{_verb(change)} {change.path}" for change in changes]
    data = {"paths": [change.path for change in changes]}
    return ToolResult("\n".join(lines), data=data, summary=plural(len(changes), "file"))


def _verb(change: FileWrite) -> str:
    if change.after is None:
        return "removed"
    return "made" if change.before is None else "changed"


def write_file(context: Context, arguments: WriteArguments) -> ToolResult:
    return _carry_out(context, plan_write(context, arguments))


def edit_file(context: Context, arguments: EditArguments) -> ToolResult:
    return _carry_out(context, plan_edit(context, arguments))


def apply_patch(context: Context, arguments: PatchArguments) -> ToolResult:
    return _carry_out(context, plan_patch(context, arguments))


def _state_of(context: Context, path: str) -> tuple[bytes | None, str]:
    """Return what a file holds now, and that in words."""
    data = writing.read_whole(_target_of(context, path))
    if data is None:
        return None, f"{one_line(path)} does not exist"
    return data, f"{one_line(path)} has {plural(len(data), 'byte')}"


def _write_traces(context: Context, arguments: WriteArguments) -> str:
    data, words = _state_of(context, arguments.path)
    same = data == arguments.content.encode("utf-8", "replace")
    return f"{words}{'' if data is None else ', just what was to be written' if same else ', which is something else'}"


def _edit_traces(context: Context, arguments: EditArguments) -> str:
    data, words = _state_of(context, arguments.path)
    if data is None:
        return words
    text = data.decode("utf-8", "replace")
    there = [name for name in ("old_string", "new_string") if (part := getattr(arguments, name)) and part in text]
    return f"{words}; {' and '.join(there) if there else 'neither old_string nor new_string'} stands in it"


def _patch_traces(context: Context, arguments: PatchArguments) -> str:
    try:
        patches = patching.parse(arguments.patch.replace("\r\n", "\n"))
    except patching.BadPatch as error:
        return str(error)
    return "; ".join(_state_of(context, patch.path)[1] for patch in patches[:20])


def _target(context: Context, arguments: WriteArguments | EditArguments) -> str:
    return _target_of(context, arguments.path)


def _patch_target(context: Context, arguments: PatchArguments) -> str:
    """Return the one file of a patch; empty for several, which no rule of one path covers."""
    try:
        patches = patching.parse(arguments.patch.replace("\r\n", "\n"))
    except patching.BadPatch:
        return ""
    if len(patches) != 1:
        return ""
    return _target_of(context, patches[0].path)


WRITE_FILE = Tool(
    "write_file",
    "Write a text file whole. Use it for a new file, or with overwrite=true where nearly all of a file changes; for "
    "less use edit_file, which sends less and loses nothing. Folders on the way are made. You get the path; files "
    "outside of the folders that you may change, files that other programs run or obey, and files that somebody else "
    "changed since you read them, are refused; of the last you see what changed.",
    WriteArguments,
    write_file,
    lambda a: f"write_file {a.path}, {len(a.content):,} characters",
    target=_target,
    preview=lambda c, a: diff_of(c, plan_write(c, a)),
    risk="It makes or replaces a file.",
    traces=_write_traces,
)
EDIT_FILE = Tool(
    "edit_file",
    "Replace one piece of text in a file. Read the file first and copy old_string exactly, with so many lines "
    "around it that it occurs once; with replace_all=true every occurrence is replaced. Line endings, mode and "
    "owner stay as they are. Where the text is missing or occurs more often, nothing is changed and you get the "
    "line numbers; where somebody else changed the file since you read it, you get what changed.",
    EditArguments,
    edit_file,
    lambda a: f"edit_file {a.path}",
    target=_target,
    preview=lambda c, a: diff_of(c, plan_edit(c, a)),
    risk="It changes a file.",
    traces=_edit_traces,
)
APPLY_PATCH = Tool(
    "apply_patch",
    "Apply a unified diff over one or more files: all of it, or nothing where one hunk does not fit. Use it for "
    "changes in several places at once; for one place use edit_file. `--- /dev/null` makes a file, `+++ /dev/null` "
    "removes one. A hunk counts where its header says, else at the one place that has exactly its lines.",
    PatchArguments,
    apply_patch,
    lambda a: f"apply_patch, {a.patch.count(chr(10)):,} lines",
    target=_patch_target,
    preview=lambda c, a: diff_of(c, plan_patch(c, a)),
    risk="It changes files, and can make or remove them.",
    traces=_patch_traces,
)
